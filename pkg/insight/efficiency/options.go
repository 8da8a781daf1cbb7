package efficiency

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// By is a dimension that hours can be split by.
type By string

// The dimensions.
const (
	ByCluster   By = "cluster"
	ByNode      By = "node"
	ByModel     By = "model"
	ByNamespace By = "namespace"
	ByPod       By = "pod"
	ByJob       By = "job"
	ByUser      By = "user"
)

// Dimensions are all of them, in the order of a key.
func Dimensions() []By {
	return []By{ByCluster, ByNode, ByModel, ByNamespace, ByPod, ByJob, ByUser}
}

// Mode is what an owner is charged for.
type Mode string

// The modes of charging.
const (
	ChargeAllocated Mode = "allocated"             // GPU-hours that the owner had, used or not
	ChargeActive    Mode = "sm_active"             // GPU-hours times the activity of the SMs
	ChargeMemory    Mode = "memory"                // GiB-hours of memory in use; money by the share of the GPU's memory
	ChargeEnergy    Mode = "energy"                // kWh, times PUE; money by the price of energy
	ChargeMost      Mode = "max_requested_or_used" // the larger of what was requested and what was used
)

// Modes are all of them.
func Modes() []Mode {
	return []Mode{ChargeAllocated, ChargeActive, ChargeMemory, ChargeEnergy, ChargeMost}
}

// Options are what a query asks for.
type Options struct {
	By      []By `json:"by,omitempty"`      // how groups are split; none: the total alone
	Charge  Mode `json:"charge,omitempty"`  // ChargeAllocated when empty
	Series  bool `json:"series,omitempty"`  // what each group is charged in each step
	JobGPUs int  `json:"jobGPUs,omitempty"` // size of a job of one node that fragmentation is judged for; 8 when 0
}

const (
	defaultJobGPUs = 8
	mostJobGPUs    = 1024
)

// Validate reports what in the options cannot be.
func (o Options) Validate() error {
	var errs []error
	for i, by := range o.By {
		switch {
		case !slices.Contains(Dimensions(), by):
			errs = append(errs, fmt.Errorf("options.by[%d]: %q is none of %v", i, by, Dimensions()))
		case slices.Contains(o.By[:i], by):
			errs = append(errs, fmt.Errorf("options.by[%d]: %q is there twice", i, by))
		}
	}
	if o.Charge != "" && !slices.Contains(Modes(), o.Charge) {
		errs = append(errs, fmt.Errorf("options.charge: %q is none of %v", o.Charge, Modes()))
	}
	if o.JobGPUs < 0 || o.JobGPUs > mostJobGPUs {
		errs = append(errs, fmt.Errorf("options.jobGPUs: %d must be between 1 and %d", o.JobGPUs, mostJobGPUs))
	}
	return errors.Join(errs...)
}

// Limits are where judgements change.
type Limits struct {
	// IdleActivity is the activity of SMs, 0 to 1, below which a GPU that somebody has is idle.
	IdleActivity float64 `json:"idleActivity"`
	// IdleMinutes is how long the mean of the activity must stay there.
	IdleMinutes float64 `json:"idleMinutes"`
	// Missing is what a GPU is whose node reports and that is not reported itself: "broken", or "absent" where exporters leave
	// out idle GPUs.
	Missing string `json:"missing"`
}

// What a GPU may be that is missing from a node that reports.
const (
	MissingIsBroken = "broken"
	MissingIsAbsent = "absent"
)

// DefaultLimits are the limits where the settings name none.
func DefaultLimits() Limits {
	return Limits{IdleActivity: 0.05, IdleMinutes: 30, Missing: MissingIsBroken}
}

// Merge puts limits that are given in part over these.
func (l Limits) Merge(part json.RawMessage) (Limits, error) {
	merged, err := insight.Overlay(l, part)
	return merged, insight.Plain(err)
}

// Validate reports what in the limits cannot be.
func (l Limits) Validate() error {
	var errs []error
	if !(l.IdleActivity > 0 && l.IdleActivity < 1) {
		errs = append(errs, fmt.Errorf("idleActivity: %v must be above 0 and below 1", l.IdleActivity))
	}
	const day = 24 * 60
	if !(l.IdleMinutes >= 1 && l.IdleMinutes <= day) {
		errs = append(errs, fmt.Errorf("idleMinutes: %v must be between 1 and %d", l.IdleMinutes, day))
	}
	if l.Missing != MissingIsBroken && l.Missing != MissingIsAbsent {
		errs = append(errs, fmt.Errorf("missing: %q must be %q or %q", l.Missing, MissingIsBroken, MissingIsAbsent))
	}
	return errors.Join(errs...)
}

func (l Limits) window() time.Duration { return time.Duration(l.IdleMinutes * float64(time.Minute)) }

// sound replaces limits that cannot be by the default ones, so that a judgement never meets them.
func (l Limits) sound() Limits {
	if l.Validate() != nil {
		return DefaultLimits()
	}
	return l
}

// Price is what an hour of a GPU costs.
type Price struct {
	Model      string  `json:"model"`              // words that the model's name must have: "H100 PCIe"; empty for every model
	Cluster    string  `json:"cluster,omitempty"`  // empty for every cluster
	PerGPUHour float64 `json:"perGPUHour"`         // a MIG instance costs its weight of it
	Currency   string  `json:"currency,omitempty"` // the tariff's when empty
}

// Tariff is what things cost. Its zero value knows no price.
type Tariff struct {
	Prices   []Price `json:"prices,omitempty"`
	Currency string  `json:"currency,omitempty"` // "EUR"
	// PUE is the power that a data centre takes for each watt of its GPUs' nodes; 0 where it is not known, energy is then that
	// of the GPUs alone.
	PUE float64 `json:"pue,omitempty"`
	// CarbonKgPerKWh is what a kWh emits, in kg of CO₂ equivalent; 0 where it is not known.
	CarbonKgPerKWh float64 `json:"carbonKgPerKWh,omitempty"`
	// EnergyPerKWh is what a kWh costs, in Currency; 0 where it is not known.
	EnergyPerKWh float64 `json:"energyPerKWh,omitempty"`
}

const (
	mostPrices = 1000
	mostPUE    = 10
)

// Validate reports what in the tariff cannot be.
func (t Tariff) Validate() error {
	var errs []error
	if len(t.Prices) > mostPrices {
		errs = append(errs, fmt.Errorf("prices: %d are more than %d", len(t.Prices), mostPrices))
	}
	type place struct{ model, cluster string }
	seen := make(map[place]bool)
	for i, p := range t.Prices {
		if !amount(p.PerGPUHour) {
			errs = append(errs, fmt.Errorf("prices[%d].perGPUHour: %v must be 0 or more", i, p.PerGPUHour))
		}
		if p.Currency == "" && t.Currency == "" {
			errs = append(errs, fmt.Errorf("prices[%d].currency: name one here or as currency of the whole table", i))
		}
		at := place{strings.Join(words(p.Model), " "), p.Cluster}
		if seen[at] {
			errs = append(errs, fmt.Errorf("prices[%d]: model %q has another price in cluster %q", i, p.Model, p.Cluster))
		}
		seen[at] = true
	}
	if t.PUE != 0 && !(t.PUE >= 1 && t.PUE <= mostPUE) {
		errs = append(errs, fmt.Errorf("pue: %v must be between 1 and %d, or left out", t.PUE, mostPUE))
	}
	if !amount(t.CarbonKgPerKWh) {
		errs = append(errs, fmt.Errorf("carbonKgPerKWh: %v must be 0 or more", t.CarbonKgPerKWh))
	}
	if !amount(t.EnergyPerKWh) {
		errs = append(errs, fmt.Errorf("energyPerKWh: %v must be 0 or more", t.EnergyPerKWh))
	}
	if t.EnergyPerKWh > 0 && t.Currency == "" {
		errs = append(errs, errors.New("currency: energyPerKWh needs one"))
	}
	return errors.Join(errs...)
}

// amount reports whether a number can be an amount.
func amount(v float64) bool { return v >= 0 && v <= math.MaxFloat32 }

// sound drops what cannot be.
func (t Tariff) sound() Tariff {
	if t.Validate() == nil {
		return t
	}
	t.Prices = slices.DeleteFunc(slices.Clone(t.Prices), func(p Price) bool { return !amount(p.PerGPUHour) })
	t.Prices = t.Prices[:min(len(t.Prices), mostPrices)]
	if !(t.PUE >= 1 && t.PUE <= mostPUE) {
		t.PUE = 0
	}
	if !amount(t.CarbonKgPerKWh) {
		t.CarbonKgPerKWh = 0
	}
	if !amount(t.EnergyPerKWh) {
		t.EnergyPerKWh = 0
	}
	return t
}
