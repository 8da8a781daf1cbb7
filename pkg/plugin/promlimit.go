package plugin

import (
	"fmt"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// fewer keeps the first of a PromQL query's lines, as many as are shown one by one, and says how to have all. What the lines
// are is only known to whoever wrote the expression, so that nothing is made of the others.
func (d *Datasource) fewer(q query.Query, series []gpu.Series) ([]gpu.Series, []gpu.Notice) {
	most := d.limit(q)
	if q.Reduce.Mode == query.ReduceAll || len(series) <= most {
		return frames.LimitCells(series)
	}
	shown, notices := frames.LimitCells(series[:most:most])
	if len(notices) > 0 {
		return shown, notices
	}
	return shown, []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		`Showing %d of %d series, the first by their labels. For all set "reduce" to "all" or "maxSeries" to %d; for fewer aggregate, take topk(), or narrow the `+
			"query by cluster, node, GPU or model. Alert rules and expressions see all.", len(shown), len(series), len(series))}}
}
