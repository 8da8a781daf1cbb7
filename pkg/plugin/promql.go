package plugin

import (
	"context"
	"fmt"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// promQL answers a query in PromQL, from the servers of the chosen clusters.
func (d *Datasource) promQL(ctx context.Context, r request) (data.Frames, error) {
	result := d.history.PromQLTable(ctx, r.query, query.NewWindow(r.window))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if result.Err != nil {
		return nil, result.Err
	}
	frames.Sort(result.Series)
	naming := frames.NamingFor(result.Series, r.query.Legend)
	shown, limited := result.Series, []gpu.Notice(nil)
	if !r.static && !r.query.Instant { // a table has a limit of its own
		shown, limited = d.fewer(r.query, result.Series)
	}
	count, silent := len(shown), frames.Silent(shown, naming)
	var rows frames.Rows
	if result.Instant != nil {
		rows = frames.SortInstant(result.Instant)
		count, silent = rows.Len(), rows.Silent(naming)
	}
	o := frames.Options{
		Metric: r.query.Expr, Naming: naming, Step: result.Step, Complete: r.static, Executed: result.Executed,
		Notices: d.shown(append(append(result.Notices, limited...), silent...)),
	}
	var extra data.Frames
	switch n := len(result.Histograms); {
	case n == 0:
	case r.static || r.query.Format == query.FormatTable:
		o.Notices = append(o.Notices, d.shown([]gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
			"%d series are native histograms, which have no one value; take histogram_quantile() or histogram_avg() of them.", n)}})...)
	default:
		extra = frames.Heatmaps(result.Histograms, o)
		o.Notices = nil // the heatmaps have them
	}
	onlyHeatmaps := count == 0 && len(extra) > 0
	if len(result.Exemplars) > 0 && !r.static {
		extra = append(extra, frames.Exemplars(result.Exemplars, o))
	}
	if onlyHeatmaps {
		return extra, nil
	}
	switch {
	case result.Instant != nil:
		o.Metric = ""
		return append(data.Frames{rows.Latest(o)}, extra...), nil
	case r.query.Instant:
		o.Metric = ""
		return append(data.Frames{frames.Latest(shown, o)}, extra...), nil
	case r.query.Format == query.FormatTable:
		o.Metric = ""
		return append(data.Frames{frames.Long(shown, o)}, extra...), nil
	}
	return append(frames.Multi(shown, o), extra...), nil
}
