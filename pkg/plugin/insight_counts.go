package plugin

import (
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/health"
)

// severityRow is one row for panels of one number: a column for each severity with how many GPUs, MIG instances and nodes have
// it, without what is silenced. There is no row when nobody could be judged, so that nothing is not taken for none.
func severityRow(result health.Result, o frames.Options) *data.Frame {
	counts := map[string]float64{}
	count := func(s insight.Severity, silenced string) {
		if silenced == "" {
			counts[s.String()]++
		}
	}
	for _, v := range result.Verdicts {
		count(v.Severity, v.Silenced)
	}
	for _, n := range result.Nodes {
		count(n.Severity, n.Silenced)
	}
	rows := []map[string]float64{counts}
	if len(result.Verdicts)+len(result.Nodes) == 0 {
		rows = nil
	}
	t := frames.SheetOf(rows)
	for _, name := range severities() {
		t.Number(name, gpu.Count, "GPUs, MIG instances and nodes, without what is silenced.", func(row map[string]float64) gpu.Reading { return gpu.Read(row[name]) })
	}
	return t.Table("health_counts", o)
}
