package history

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// maxAlerts bounds the alerts of one answer.
const maxAlerts = 20_000

// Alert is a time in which an alert of Prometheus fired.
type Alert struct {
	Cluster string
	Labels  map[string]string // alertname and the alert's own
	// From is the first point of the window's grid at which it fired, Until the last and a step.
	From, Until time.Time
	Earlier     bool // it fired at the beginning of what was looked at, and maybe before
	Ongoing     bool // it fired at the end
}

// Alerts are the alerts of a range.
type Alerts struct {
	List     []Alert // in the order of time
	Notices  []gpu.Notice
	Executed string
	Err      error // set when no endpoint answered
}

// Alerts are the alerts that fired in the clusters of a scope within the window, by the series ALERTS that Prometheus keeps of its
// own rules: all of them, of GPUs or not. One that several replicas evaluate is one. What fires shorter than a step is found, too.
func (h *History) Alerts(ctx context.Context, scope query.Scope, w query.Window) Alerts {
	endpoints, notices := h.inScope(scope)
	out := Alerts{Notices: notices}
	if len(endpoints) == 0 {
		return out
	}
	// Between two evaluations, which are often further apart than steps, an alert fires on: Prometheus marks its end.
	const firing = `ALERTS{alertstate="firing"}`
	expr := fmt.Sprintf("max_over_time(%[1]s[%[2]s]) or %[1]s", firing, promDuration(w.Step))
	good, failed, err := split(fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) (*answer, error) {
		return e.evaluateOurs(ctx, expr, false, w)
	}))
	if out.Err = err; err != nil {
		return out
	}
	out.Notices = append(out.Notices, failed...)
	g := gridOf(false, w)
	holds, labels := map[string][]bool{}, map[string]map[string]string{}
	clusters := map[string]string{}
	left := 0
	var asked []question
	for _, o := range good {
		out.Notices = append(out.Notices, remarks(o.endpoint, o.value)...)
		asked = append(asked, question{o.endpoint.ID, describe(expr, false, w)})
		for _, s := range o.value.Series {
			plain := o.endpoint.plainLabels(s.Labels, false)
			delete(plain, "__name__")
			delete(plain, "alertstate")
			key := o.endpoint.Cluster + "\xff" + labelKey(plain)
			if holds[key] == nil {
				if len(holds) == maxAlerts {
					left++
					continue
				}
				holds[key], labels[key], clusters[key] = make([]bool, len(g.times)), plain, o.endpoint.Cluster
			}
			for i, t := range s.Times {
				if at := g.at(t); at >= 0 && s.Values[i] == 1 {
					holds[key][at] = true
				}
			}
		}
	}
	if left > 0 {
		out.Notices = append(out.Notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Prometheus has more than %d alerts in this range, others are left out: shorten it.", maxAlerts)})
	}
	out.Executed = executed(asked)
	for _, key := range slices.Sorted(maps.Keys(holds)) {
		for _, one := range spells(holds[key]) {
			a := Alert{
				Cluster: clusters[key], Labels: labels[key], From: at(g, one.from), Until: at(g, one.to).Add(g.stepDuration()),
				Earlier: one.from == 0, Ongoing: one.to == len(g.times)-1,
			}
			if a.Until.After(w.To) {
				a.Until = w.To
			}
			out.List = append(out.List, a)
		}
	}
	slices.SortStableFunc(out.List, func(a, b Alert) int {
		return cmp.Or(a.From.Compare(b.From), strings.Compare(a.Labels["alertname"], b.Labels["alertname"]))
	})
	return out
}

// promDuration is a length of time as PromQL writes it.
func promDuration(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", max(1, d.Milliseconds()))
}
