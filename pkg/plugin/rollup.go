package plugin

import (
	"context"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// rolledUp is the answer from recording rules, where history has such for the query: lines that are groups already, with each GPU's
// own series where the rules have nothing and the agents' samples at the end; no stream goes on with them. Otherwise why is a
// line for the query inspector, or empty.
func (d *Datasource) rolledUp(ctx context.Context, r request, m catalog.Metric, aggregation timeline.Aggregation, reach reach) (a answer, ok bool, why string) {
	if aggregation.By == timeline.ByIdentity || isInstant(r.query) || r.query.Source == query.SourceLive {
		return answer{}, false, ""
	}
	got, ok := d.history.Rollup(ctx, r.query, m, query.NewWindow(r.window))
	if !ok {
		if got.Executed != "" {
			why = got.Executed + "\n"
		}
		return answer{}, false, why
	}
	keep := keepOf(m, r.query.AggregationOf(m))
	plan := timeline.Plan{Keep: keepLive(keep), Step: max(got.Step, time.Second), Aggregation: aggregation}
	got.Series = d.freshened(ctx, r, m, plan, got, reach)
	got = d.filled(ctx, r, m, aggregation, got)
	return answer{
		request: r, keep: keep, plan: plan,
		rest: got.Series, historyStep: got.Step,
		options: frames.Options{
			Metric: m.Name, Description: m.Help, Unit: m.ShownUnit(), Executed: got.Executed, Notices: got.Notices,
		},
	}, true, ""
}
