package history

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

const (
	// busyRatio is the utilization from which an engine that never ran is impossible.
	busyRatio = 0.5
	// frozenAfter is how long nothing may change on a GPU that is really looked at.
	frozenAfter = 10 * time.Minute
	// maxSuspects is how many devices are asked for by name; of more, all in the scope are.
	maxSuspects = 200
)

// doubt compares lines with what else is known of their devices, takes out what cannot be true, and tells. It asks the
// servers again, and only where a line is suspicious.
func (h *History) doubt(ctx context.Context, endpoints []*endpoint, q query.Query, r *reduction, w query.Window) []gpu.Notice {
	return append(h.stopped(ctx, endpoints, q, r, w), h.frozen(ctx, endpoints, q, r, w)...)
}

// stopped takes out the zeros of profiling that has died: the GPU's utilization says that it works.
func (h *History) stopped(ctx context.Context, endpoints []*endpoint, q query.Query, r *reduction, w query.Window) []gpu.Notice {
	witness, ok := h.catalog.Metric(r.metric.Witness)
	if !ok {
		return nil
	}
	suspects := r.suspects(func(key deviceKey, values []float64) bool { return key.instance() == "" && slices.Contains(values, 0) })
	// The filter leaves out what idle GPUs would answer.
	seen, notices := h.compare(ctx, endpoints, q, witness, suspects, w, " > 0")
	if seen == nil {
		return notices
	}
	var names []string
	dropped := 0
	for _, key := range suspects {
		if !seen.has(key) {
			continue
		}
		values, busy := r.valuesOf(key), seen.valuesOf(key)
		before := dropped
		for i, v := range values {
			if v == 0 && busy[i] >= busyRatio {
				values[i] = math.NaN()
				dropped++
			}
		}
		if dropped > before {
			names = append(names, r.device(key).Name())
		}
	}
	if dropped == 0 {
		return notices
	}
	slices.Sort(names)
	return append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
		"%s is 0 in %s while %s is high on %s: profiling has stopped there, the GPU is not idle, and these samples are not shown. "+
			"Restart the exporter or its host engine; until then %s tells.",
		r.metric.Name, plural(dropped, "sample", "samples"), witness.Name, listed(names), witness.Name)})
}

// frozen tells of exporters that repeat old values: nothing has changed for a while, not even the power.
func (h *History) frozen(ctx context.Context, endpoints []*endpoint, q query.Query, r *reduction, w query.Window) []gpu.Notice {
	pulse, ok := h.catalog.Metric(r.metric.Pulse)
	if !ok || q.Instant || w.To.Sub(w.From) <= frozenAfter {
		return nil
	}
	suspects := r.suspects(func(_ deviceKey, values []float64) bool {
		start, still := r.grid.still(values)
		// What is at one of its ends may well stay there.
		return still && (r.metric.Unit != gpu.Ratio || values[start] > 0 && values[start] < 1)
	})
	if len(suspects) == 0 {
		return nil
	}
	seen, notices := r, []gpu.Notice(nil)
	if pulse.Name != r.metric.Name || r.over.extreme() {
		q.Aggregation, q.OverTime = "avg", "" // the greatest of many samples may well stay the same
		if seen, notices = h.compare(ctx, endpoints, q, pulse, suspects, w, ""); seen == nil {
			return notices
		}
	}
	var names []string
	var since int64
	for _, key := range suspects {
		if !seen.has(key.parent()) {
			continue
		}
		values := seen.valuesOf(key.parent())
		start, still := seen.grid.still(values)
		// Some exporters write whole watts, and those may well stay the same.
		if !still || values[start] == math.Trunc(values[start]) {
			continue
		}
		names = append(names, r.device(key).Name())
		since = max(since, seen.grid.times[start])
	}
	if len(names) == 0 {
		return notices
	}
	slices.Sort(names)
	return append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
		"The values of %s have not changed since %s, not even the power: the exporter seems to repeat old ones. "+
			"Restart it or its host engine.", listed(names), clock(since))})
}

// still finds where the values begin to be the same up to the end of the grid, and reports whether that is too long.
func (g grid) still(values []float64) (start int, still bool) {
	end := len(values) - 1
	for end > 0 && math.IsNaN(values[end]) {
		end--
	}
	if end < 0 || math.IsNaN(values[end]) || g.times[len(g.times)-1]-g.times[end] > endedAfter.Milliseconds() {
		return 0, false
	}
	start = end
	for start > 0 && values[start-1] == values[end] {
		start--
	}
	return start, g.times[end]-g.times[start] > frozenAfter.Milliseconds()
}

// suspects are the devices whose lines look suspicious, in the order of lines.
func (r *reduction) suspects(suspicious func(deviceKey, []float64) bool) []deviceKey {
	var keys []deviceKey
	for _, key := range r.order {
		if suspicious(key, r.valuesOf(key)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// compare asks for another metric of the suspects, on the same grid. It is nil when there are none or it failed, which
// is a notice.
func (h *History) compare(ctx context.Context, endpoints []*endpoint, q query.Query, m catalog.Metric, suspects []deviceKey, w query.Window, filter string) (
	*reduction, []gpu.Notice,
) {
	if len(suspects) == 0 {
		return nil, nil
	}
	q.Metric = m.Name
	scope := query.Scope{Clusters: q.Scope.Clusters}
	if len(suspects) <= maxSuspects {
		for _, key := range suspects {
			if !slices.Contains(scope.GPUs, key.uuid()) {
				scope.GPUs = append(scope.GPUs, key.uuid())
			}
		}
	}
	scope, err := scope.Compile()
	if err != nil {
		return nil, []gpu.Notice{{Severity: gpu.Info, Text: "The values were not compared with " + m.Name + ": " + err.Error() + "."}}
	}
	q.Scope = scope
	all, _, _, err := h.collectAll(ctx, endpoints, q, m, w, filter)
	if err != nil {
		return nil, []gpu.Notice{{Severity: gpu.Info, Text: "The values were not compared with " + m.Name + ": " + err.Error() + "."}}
	}
	return reduced(all, q, m, w), nil
}
