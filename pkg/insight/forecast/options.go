package forecast

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Options are what a query may ask for.
type Options struct {
	// Of is what is looked ahead at: "metric" (the default), "capacity", "memory", "temperature" or "errors".
	Of Of `json:"of,omitempty"`
	// Metric is the canonical metric of "metric", and Value what of it: "", "max", "min", "rise".
	Metric string     `json:"metric,omitempty"`
	Value  insight.Of `json:"value,omitempty"`
	// HorizonHours is how far to look; 0 takes what suits Of. It is cut to four times the history that there is.
	HorizonHours float64 `json:"horizonHours,omitempty"`
	// Limit is the value whose crossing is looked for, in the metric's unit; null takes the one that belongs to Of.
	Limit *float64 `json:"limit,omitempty"`
	// Below says that values fall to the limit, as a temperature margin does; they rise to it otherwise.
	Below bool `json:"below,omitempty"`
	// Coverage is the share of values that the interval is to hold, 0.5 to 0.99; 0 is 0.9.
	Coverage float64 `json:"coverage,omitempty"`
}

// Of is a kind of limit that a forecast is for.
type Of string

// The kinds.
const (
	Metric      Of = "metric"
	Capacity    Of = "capacity"
	Memory      Of = "memory"
	Temperature Of = "temperature"
	Errors      Of = "errors"
)

// maxHorizon is how far anybody may ask to look.
const maxHorizon = 400 * day

// Validate says what is wrong with options, and where.
func (o Options) Validate() error {
	var all []error
	switch o.kind() {
	case Metric:
		if o.Metric == "" {
			all = append(all, errors.New(`metric: name a metric, as "gpu_power_watts", or set of to "capacity", "memory", "temperature" or "errors"`))
		}
	case Capacity, Memory, Temperature, Errors:
	default:
		all = append(all, fmt.Errorf(`of: %q is none of "metric", "capacity", "memory", "temperature", "errors"`, o.Of))
	}
	switch o.Value {
	case insight.Mean, insight.Max, insight.Min, insight.Rise:
	default:
		all = append(all, fmt.Errorf(`value: %q is none of "", "max", "min", "rise"`, o.Value))
	}
	if !(o.HorizonHours >= 0 && o.HorizonHours <= maxHorizon.Hours()) {
		all = append(all, fmt.Errorf("horizonHours: %g must be between 0 and %g", o.HorizonHours, maxHorizon.Hours()))
	}
	if o.Coverage != 0 && !(o.Coverage >= 0.5 && o.Coverage <= 0.99) {
		all = append(all, fmt.Errorf("coverage: %g must be between 0.5 and 0.99", o.Coverage))
	}
	if o.Limit != nil && !(math.Abs(*o.Limit) <= implausible) {
		all = append(all, fmt.Errorf("limit: %g is no number that could be reached", *o.Limit))
	}
	return errors.Join(all...)
}

func (o Options) kind() Of {
	if o.Of == "" {
		return Metric
	}
	return o.Of
}

// horizon is how far to look: as asked, or as suits the kind.
func (o Options) horizon() time.Duration {
	if o.HorizonHours > 0 {
		return time.Duration(min(o.HorizonHours, maxHorizon.Hours()) * float64(time.Hour))
	}
	switch o.kind() {
	case Capacity, Errors:
		return 30 * day
	case Memory:
		return 30 * time.Minute
	case Temperature:
		return 6 * time.Hour
	default:
		return day
	}
}

func (o Options) coverage() float64 {
	if !(o.Coverage >= 0.5 && o.Coverage <= 0.99) {
		return 0.9
	}
	return o.Coverage
}
