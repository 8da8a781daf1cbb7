package plugin

import (
	"context"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// workload answers a query for a metric of servers of models or of training jobs. Only history knows them: agents do not
// stream what processes say of themselves.
func (d *Datasource) workload(ctx context.Context, r request, m catalog.Metric) (data.Frames, error) {
	var got history.Result
	if r.query.Source == query.SourceLive {
		got.Notices = []gpu.Notice{{Severity: gpu.Warning, Text: "Agents do not measure " + m.Name + ": set the source to auto or history."}}
	} else {
		asked := r.query
		asked.Instant = isInstant(asked)
		got = d.history.Metric(ctx, asked, m, query.NewWindow(r.window))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if got.Err != nil {
		return nil, got.Err
	}
	keep := keepOf(m, r.query.AggregationOf(m))
	if m.Kind == catalog.Histogram && r.query.AggregationOf(m) != "avg" {
		keep = timeline.KeepMax // a peak of a high quantile is what is looked for
	}
	notices := got.Notices
	if len(notices) == 0 && len(got.Series) == 0 {
		notices = []gpu.Notice{{Severity: gpu.Info, Text: "No server or job has " + m.Name + " in this range."}}
	}
	return d.render(answer{
		request: r, keep: keep, rest: got.Series, workloads: true, historyStep: got.Step,
		options: frames.Options{
			Metric: m.Name, Description: m.Help, Unit: m.ShownUnit(), Rate: m.Kind == catalog.Counter, Executed: got.Executed, Notices: notices,
		},
	}), nil
}
