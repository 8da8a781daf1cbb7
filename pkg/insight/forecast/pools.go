package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Pool is what can be used up: the GPUs of one model.
type Pool struct {
	Name   string
	Series         // GPUs in use at each step
	Total  float64 // GPUs there are
	// Notes are what is worth knowing of how Series was made.
	Notes []string
	// Guessed says that use was told from activity and not from who was given what.
	Guessed bool
}

// working is the activity from which on a GPU counts as in use.
const working = 0.05

// Pools are the devices' GPUs by model. A GPU is in use at a step when it or any instance of it worked. GPUs that were not
// measured at a step count in the proportion of those that were; a step at which less than half were is absent. A caller
// that knows who was given which GPU makes pools of its own for [Days].
func Pools(devices *insight.Devices) []Pool {
	n := len(devices.Times)
	byModel := make(map[string]map[gpu.Identity][]float64)
	for i, s := range devices.Subjects {
		_, values := devices.First(i, activity()...)
		if values == nil {
			continue
		}
		name := gpu.ShortModel(s.Model)
		if byModel[name] == nil {
			byModel[name] = make(map[gpu.Identity][]float64)
		}
		id := s.Identity.Parent()
		highest, ok := byModel[name][id]
		if !ok {
			byModel[name][id] = slices.Clone(values)
			continue
		}
		for k, v := range values {
			if !(v <= highest[k]) && !math.IsNaN(v) {
				highest[k] = v
			}
		}
	}
	var out []Pool
	for name, gpus := range byModel {
		p := Pool{Name: name, Total: float64(len(gpus)), Guessed: true}
		p.Step = devices.Step
		if n > 0 {
			p.Start = devices.Times[0]
		}
		p.Values = make([]float64, n)
		for k := range n {
			busy, measured := 0.0, 0.0
			for _, values := range gpus {
				if !math.IsNaN(values[k]) {
					measured++
					if values[k] >= working {
						busy++
					}
				}
			}
			p.Values[k] = math.NaN()
			if measured > 0 && 2*measured >= p.Total {
				p.Values[k] = busy / measured * p.Total
			}
		}
		p.Notes = append(p.Notes, "In use are GPUs that work; what is given away and idle is not counted.")
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Days forecasts when pools are full.
func Days(pools []Pool, o Options, l Limits) Answer {
	j := judging{options: o, limits: l}
	for _, p := range pools {
		j.pool(p)
	}
	return j.answer
}

func (j *judging) pool(p Pool) {
	t := j.options.target(gpu.Count)
	t.Below = false
	if j.options.Limit == nil {
		t.Limit = p.Total
		if p.Total <= 0 {
			t.Limit = math.NaN()
		}
	}
	r := Project(p.Series, t)
	f := j.add(Forecast{Subject: -1, Workload: -1, Name: p.Name, Field: activity()[0], Unit: gpu.Count, Result: r})
	f.Notes = append(f.Notes, p.Notes...)
	if p.Guessed {
		f.Confidence = lowered(f.Confidence)
	}
	if p.Total > 0 {
		f.bound(0, max(p.Total, t.Limit))
	}
	in, ok := r.In(r.Crossing.Likely)
	if r.Crossing.Outlook == Never || !ok {
		return
	}
	days := in.Hours() / 24
	if days > j.limits.CapacityInfoDays {
		return
	}
	severity, text := insight.Info, fmt.Sprintf("All %.0f %s are in use now.", p.Total, p.Name)
	if r.Crossing.Outlook != Reached {
		text = fmt.Sprintf("All %.0f %s are expected to be in use in %s.", p.Total, p.Name, insight.Span(in))
		if days <= j.limits.CapacityWarnDays {
			severity = insight.Warning
		}
	}
	f.Reason = &insight.Reason{
		ID: "capacity-full", Severity: severity, Text: text,
		Evidence: []insight.Evidence{{
			Metric: activity()[0].Metric, Value: days, Unit: gpu.Count, Limit: j.limits.CapacityInfoDays,
			Text: fmt.Sprintf("%.3g days to full, of %.0f GPUs", days, p.Total),
		}},
		Action: insight.Action{Text: "Take back what is given away and idle, order GPUs, or agree on who waits.", Who: gpu.XIDOperator},
	}
}
