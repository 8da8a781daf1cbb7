package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// recordedOnly answers what only recording rules know: lines of namespaces and jobs, and quantiles over devices.
func (d *Datasource) recordedOnly(ctx context.Context, r request, m catalog.Metric) (data.Frames, error) {
	q := r.query
	what := fmt.Sprintf("%s of %s by %s", q.AggregationOf(m), m.Name, q.AggregateBy)
	switch {
	case isInstant(q):
		return nil, badInput(errors.New(what + " is known over a range only: choose the format time series"))
	case q.Source == query.SourceLive:
		return nil, badInput(errors.New(what + " is not measured by agents: set the source to auto or history"))
	}
	got, ok := d.history.Rollup(ctx, q, m, query.NewWindow(r.window))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !ok {
		text := what + " is read from the recording rules in dashboards/rules, and Prometheus has nothing of them for this selection. " + remedy(q)
		if why := strings.TrimPrefix(got.Executed, "# "); why != got.Executed {
			text += ". " + why
		}
		return nil, badInput(errors.New(text))
	}
	for _, hole := range got.Holes {
		got.Notices = append(got.Notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"The recording rules have nothing, or only a part, from %s to %s, and only they know %s.", hole.From.UTC().Format("2006-01-02 15:04:05 UTC"),
			hole.To.UTC().Format("2006-01-02 15:04:05 UTC"), what)})
	}
	keep := keepOf(m, q.AggregationOf(m))
	return d.render(answer{
		request: r, keep: keep, plan: timeline.Plan{Keep: keepLive(keep), Step: max(got.Step, time.Second)}, rest: got.Series, historyStep: got.Step,
		options: frames.Options{Metric: m.Name, Description: m.Help, Unit: m.ShownUnit(), Executed: got.Executed, Notices: got.Notices},
	}), nil
}

// remedy is what to change where the rules have nothing.
func remedy(q query.Query) string {
	if q.AggregateBy == query.ByNamespace || q.AggregateBy == query.ByJob {
		return "Load rollup.rules.yaml and jobs.rules.yaml, select by neither node, model nor GPU, or aggregate by identity and choose what runs in namespaces, pods or jobs"
	}
	return "Load rollup.rules.yaml, select neither single GPUs nor what runs on them, or use avg, max or min"
}
