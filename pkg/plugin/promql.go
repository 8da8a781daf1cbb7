package plugin

import (
	"context"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// promQL answers a query in PromQL, from the servers of the chosen clusters.
func (d *Datasource) promQL(ctx context.Context, r request) (data.Frames, error) {
	result := d.history.PromQL(ctx, r.query, query.NewWindow(r.window))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if result.Err != nil {
		return nil, result.Err
	}
	frames.Sort(result.Series)
	naming := frames.NamingFor(result.Series, r.query.Legend)
	shown, limited := result.Series, []gpu.Notice(nil)
	if !r.static {
		shown, limited = frames.Limit(result.Series)
	}
	o := frames.Options{
		Metric: r.query.Expr, Naming: naming, Step: result.Step, Complete: r.static, Executed: result.Executed,
		Notices: d.shown(append(append(result.Notices, limited...), frames.Silent(shown, naming)...)),
	}
	switch {
	case r.query.Instant:
		o.Metric = ""
		return data.Frames{frames.Latest(shown, o)}, nil
	case r.query.Format == query.FormatTable:
		o.Metric = ""
		return data.Frames{frames.Long(shown, o)}, nil
	}
	return frames.Multi(shown, o), nil
}
