package topology

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/mig"
)

// Limits are what links and GPUs that are split are held against.
type Limits struct {
	// Minutes of the newest values are what "now" is the mean of.
	Minutes float64 `json:"minutes"`
	// Busy is the activity from which a PCIe link must run at its full generation.
	Busy float64 `json:"busy"`
	// Saturated is the share of what a link can carry from which it is full.
	Saturated float64 `json:"saturated"`
	// Fragmented is the share of free slices that the largest instance which fits cannot have, from which it is worth a word.
	Fragmented float64 `json:"fragmented"`
}

// DefaultLimits are the limits when none are set.
func DefaultLimits() Limits { return Limits{Minutes: 5, Busy: 0.1, Saturated: 0.8, Fragmented: 0.5} }

// Validate says which limits make no sense, by their keys.
func (l Limits) Validate() error {
	var errs []error
	check := func(key string, v, low, high float64) {
		if math.IsNaN(v) || v < low || v > high {
			errs = append(errs, fmt.Errorf("%s: %g must be from %g to %g", key, v, low, high))
		}
	}
	check("minutes", l.Minutes, 1, 24*60)
	check("busy", l.Busy, 0, 1)
	check("saturated", l.Saturated, 0, 1)
	check("fragmented", l.Fragmented, 0, 1)
	return errors.Join(errs...)
}

// Merge puts limits that are given in part over these, which it does not change.
func (l Limits) Merge(part json.RawMessage) (Limits, error) {
	merged, err := insight.Overlay(l, part)
	return merged, insight.Plain(err)
}

// Options are what a query may say.
type Options struct {
	// Limits in part; what is not there is that of the settings.
	Limits json.RawMessage `json:"limits,omitempty"`
	// Profile is one that room is looked for: "3g.40gb". The GPUs that surely have room for it are marked.
	Profile string `json:"profile,omitempty"`
	// Parts are what is drawn beside GPUs: "pcie", "nvlink", "mig", "network"; all of them when there are none.
	Parts []Part `json:"parts,omitempty"`
}

// Part is a kind of thing that may be drawn.
type Part string

// The parts.
const (
	PCIe    Part = "pcie" // and NVLink-C2C, which takes its place
	NVLink  Part = "nvlink"
	MIG     Part = "mig"
	Network Part = "network"
)

func parts() []Part { return []Part{PCIe, NVLink, MIG, Network} }

// draws reports whether a part is drawn.
func (o Options) draws(p Part) bool { return len(o.Parts) == 0 || slices.Contains(o.Parts, p) }

// Validate says what makes no sense, by its key.
func (o Options) Validate() error {
	var errs []error
	if o.Profile != "" {
		if _, err := mig.Parse(o.Profile); err != nil {
			errs = append(errs, fmt.Errorf("profile: %w", err))
		}
	}
	for _, p := range o.Parts {
		if !slices.Contains(parts(), p) {
			errs = append(errs, fmt.Errorf("parts: %q is none of pcie, nvlink, mig and network", string(p)))
		}
	}
	return errors.Join(errs...)
}

// Resolve checks the options and puts the limits of a query over those of the settings.
func (o Options) Resolve(base Limits) (Limits, error) {
	if err := o.Validate(); err != nil {
		return base, err
	}
	merged, err := base.Merge(o.Limits)
	if err != nil {
		return base, fmt.Errorf("limits: %w", err)
	}
	return merged, nil
}
