package stragglers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Limits are what peers are held against. Ratios are of a member's value and the median of all, so that above 1 is slower.
type Limits struct {
	StepRatio       float64 `json:"stepRatio"`       // of step times, or of times outside of collectives
	CollectiveRatio float64 `json:"collectiveRatio"` // of times in collectives, of which the slowest rank has the least
	ClockRatio      float64 `json:"clockRatio"`      // of the median clock and the GPU's
	PowerRatio      float64 `json:"powerRatio"`      // of the median power and the GPU's
	PowerAbove      float64 `json:"powerAbove"`      // of the GPU's power and the median: it works while the others wait
	ActivityRatio   float64 `json:"activityRatio"`   // of the median SM activity and the GPU's
	RobustZ         float64 `json:"robustZ"`         // 0.6745 (x - median) / MAD
	// Score is the one of NVIDIA's resiliency extension, the median by the rank's own; below it a rank is far behind.
	Score float64 `json:"score"`

	SustainedMinutes float64 `json:"sustainedMinutes"`
	// MostSuspects is the share of a job from which nobody is named.
	MostSuspects float64 `json:"mostSuspects"`
	// WholeNode is the share of a node's members from which the node is named instead.
	WholeNode float64 `json:"wholeNode"`
	Busy      float64 `json:"busy"`      // activity from which a GPU works
	NoActive  float64 `json:"noActive"`  // mean activity below which a GPU takes no part in its job
	SlowedBy  float64 `json:"slowedBy"`  // times its own best that a whole job takes
	Data      float64 `json:"data"`      // share of the step that waits for data
	Exchange  float64 `json:"exchange"`  // share of the step in collectives
	Writing   float64 `json:"writing"`   // share of time that checkpoints take
	Goodput   float64 `json:"goodput"`   // share of time that was worth something
	LateSteps float64 `json:"lateSteps"` // steps of the grid without a word from which a job that goes on is down
}

// DefaultLimits are the limits when none are set.
func DefaultLimits() Limits {
	return Limits{
		StepRatio: 1.1, CollectiveRatio: 1.5, ClockRatio: 1.05, PowerRatio: 1.2, PowerAbove: 1.3, ActivityRatio: 1.25, RobustZ: 3.5, Score: 0.75,
		SustainedMinutes: 10, MostSuspects: 0.35, WholeNode: 0.75, Busy: 0.2, NoActive: 0.02, SlowedBy: 4.0 / 3,
		Data: 0.15, Exchange: 0.25, Writing: 0.05, Goodput: 0.9, LateSteps: 2,
	}
}

// Validate says which limits make no sense, by their keys.
func (l Limits) Validate() error {
	var errs []error
	check := func(low, high float64, values map[string]float64) {
		for key, v := range values {
			if math.IsNaN(v) || v < low || v > high {
				errs = append(errs, fmt.Errorf("%s: %g must be from %g to %g", key, v, low, high))
			}
		}
	}
	check(1.001, 1000, map[string]float64{
		"stepRatio": l.StepRatio, "collectiveRatio": l.CollectiveRatio, "clockRatio": l.ClockRatio, "powerRatio": l.PowerRatio,
		"powerAbove": l.PowerAbove, "activityRatio": l.ActivityRatio, "slowedBy": l.SlowedBy,
	})
	check(0, 1000, map[string]float64{"robustZ": l.RobustZ, "lateSteps": l.LateSteps})
	check(0, 1, map[string]float64{
		"score": l.Score, "wholeNode": l.WholeNode, "busy": l.Busy, "noActive": l.NoActive,
		"data": l.Data, "exchange": l.Exchange, "writing": l.Writing, "goodput": l.Goodput,
	})
	check(0, 0.5, map[string]float64{"mostSuspects": l.MostSuspects})
	check(0, 7*24*60, map[string]float64{"sustainedMinutes": l.SustainedMinutes})
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// Pipeline is the plan of a job that is split by layers.
type Pipeline struct {
	Stages       int `json:"stages"`       // p
	Microbatches int `json:"microbatches"` // m, of one step
	Interleave   int `json:"interleave"`   // v: model chunks on each stage; 0 counts as 1
}

// bubble is the share of a step that stages idle by plan.
func (p Pipeline) bubble() float64 {
	return float64(p.Stages-1) / float64(p.Microbatches+p.Stages-1) / float64(max(p.Interleave, 1))
}

// Merge puts limits that are given in part over these, which it does not change.
func (l Limits) Merge(part json.RawMessage) (Limits, error) { return insight.Overlay(l, part) }

// Options are what a query may say.
type Options struct {
	// Limits in part; what is not there is that of the settings.
	Limits json.RawMessage `json:"limits,omitempty"`
	// Pipeline is the plan of all jobs that are asked for; nil where it is not known.
	Pipeline *Pipeline `json:"pipeline,omitempty"`
}

// Validate says what makes no sense, by its key.
func (o Options) Validate() error {
	var errs []error
	const most = 1_000_000
	if p := o.Pipeline; p != nil {
		if p.Stages < 1 || p.Stages > most {
			errs = append(errs, fmt.Errorf("pipeline.stages: %d must be from 1 to %d", p.Stages, most))
		}
		if p.Microbatches < 1 || p.Microbatches > most {
			errs = append(errs, fmt.Errorf("pipeline.microbatches: %d must be from 1 to %d", p.Microbatches, most))
		}
		if p.Interleave < 0 || p.Interleave > most {
			errs = append(errs, fmt.Errorf("pipeline.interleave: %d must be from 0 to %d", p.Interleave, most))
		}
	}
	return errors.Join(errs...)
}

// Resolve checks the options and puts the limits of a query over those of the settings.
func (o Options) Resolve(base Limits) (Limits, error) {
	if err := o.Validate(); err != nil {
		return base, err
	}
	limits, err := base.Merge(o.Limits)
	if err != nil {
		return base, fmt.Errorf("limits: %w", err)
	}
	return limits, nil
}
