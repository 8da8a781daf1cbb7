package anomaly

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Limits are what makes a value odd.
type Limits struct {
	Z               float64 `json:"z"`               // robust standard deviations from the median
	MinChange       float64 `json:"minChange"`       // part of the median, or of 1 for a ratio, that it must differ by
	DurationMinutes float64 `json:"durationMinutes"` // how long at least
	MinPeers        int     `json:"minPeers"`        // GPUs that are needed to compare, the judged one included
	// WarnPerWeek and CriticalPerWeek are how often learned thresholds may have been crossed in what they were learned from.
	WarnPerWeek     float64 `json:"warnPerWeek"`
	CriticalPerWeek float64 `json:"criticalPerWeek"`
}

// DefaultLimits are the limits without settings.
func DefaultLimits() Limits {
	return Limits{Z: 3.5, MinChange: 0.05, DurationMinutes: 10, MinPeers: 4, WarnPerWeek: 1, CriticalPerWeek: 0.1}
}

// Merge puts limits that are given in part over these, which it does not change.
func (l Limits) Merge(part json.RawMessage) (Limits, error) {
	merged, err := insight.Overlay(l, part)
	return merged, insight.Plain(err)
}

// Validate says which limits make no sense, by their keys.
func (l Limits) Validate() error {
	var all []error
	within := func(key string, v, low, high float64) {
		if !(v >= low && v <= high) {
			all = append(all, fmt.Errorf("%s: %g must be between %g and %g", key, v, low, high))
		}
	}
	within("z", l.Z, 1, 20)
	within("minChange", l.MinChange, 0, 1)
	within("durationMinutes", l.DurationMinutes, 0, 24*60)
	within("minPeers", float64(l.MinPeers), 3, 1000)
	within("warnPerWeek", l.WarnPerWeek, 0, 1000)
	within("criticalPerWeek", l.CriticalPerWeek, 0, 1000)
	return errors.Join(all...)
}

// Against is what values are compared with.
type Against string

// What values may be compared with.
const (
	History Against = "history" // the device's own
	Job     Against = "job"     // other GPUs of its job
	Model   Against = "model"   // other GPUs of its model in its cluster, with the same class of work
)

// Options are what a query may ask for.
type Options struct {
	Metric  string     `json:"metric"`            // canonical name, of a device
	Value   insight.Of `json:"value,omitempty"`   // "", "max", "min", "rise"
	Against Against    `json:"against,omitempty"` // "history" is the default
	Hours   float64    `json:"hours,omitempty"`   // the newest part that is looked at; 0 is 24
}

// Validate says what is wrong with options, and where.
func (o Options) Validate() error {
	var all []error
	if o.Metric == "" {
		all = append(all, errors.New(`metric: name a metric, as "gpu_power_watts"`))
	}
	switch o.Value {
	case insight.Mean, insight.Max, insight.Min, insight.Rise:
	default:
		all = append(all, fmt.Errorf(`value: %q is none of "", "max", "min", "rise"`, o.Value))
	}
	switch o.against() {
	case History, Job, Model:
	default:
		all = append(all, fmt.Errorf(`against: %q is none of "history", "job", "model"`, o.Against))
	}
	if !(o.Hours >= 0 && o.Hours <= 7*24) {
		all = append(all, fmt.Errorf("hours: %g must be between 0 and %d", o.Hours, 7*24))
	}
	return errors.Join(all...)
}

func (o Options) against() Against {
	if o.Against == "" {
		return History
	}
	return o.Against
}

func (o Options) hours() float64 {
	if !(o.Hours > 0) {
		return 24
	}
	return min(o.Hours, 7*24)
}

// Field is what the options ask for.
func (o Options) Field() insight.Field { return insight.Field{Metric: o.Metric, Of: o.Value} }

// Fields are what is needed of devices, in the order of use: the metric, and for peers what tells whether a GPU works.
func Fields(o Options) []insight.Field {
	out := []insight.Field{o.Field()}
	if o.against() != History {
		for _, f := range activity() {
			if f != out[0] {
				out = append(out, f)
			}
		}
	}
	return out
}

// WorkloadFields are what is needed of workloads: step times for peers by job, which tell what pods are one job.
func WorkloadFields(o Options) []insight.Field {
	if o.against() == Job {
		return []insight.Field{{Metric: "train_step_seconds"}}
	}
	return nil
}

func activity() []insight.Field {
	return []insight.Field{{Metric: "gpu_sm_active_ratio"}, {Metric: "gpu_graphics_engine_active_ratio"}, {Metric: "gpu_utilization_ratio"}}
}

// change is how much a value must differ from a centre to be worth a word.
func (l Limits) change(unit gpu.Unit, centre float64) float64 {
	if unit == gpu.Ratio {
		return l.MinChange
	}
	return l.MinChange * math.Abs(centre)
}

const consistent = 0.6745 // MAD of a normal distribution with standard deviation 1

// mostZ bounds scores: where nothing ever moved, any change is beyond measure.
const mostZ = 99

// score is the robust z of a value.
func score(x, centre, mad float64) float64 {
	off := x - centre
	if off == 0 {
		return 0
	}
	if mad <= 0 {
		return math.Copysign(mostZ, off)
	}
	return max(-mostZ, min(mostZ, consistent*off/mad))
}
