package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Bounds of what a notice of missing metrics names, and of how many devices their exporters are looked up for.
const (
	namedMissing  = 8
	namedLines    = 5
	mostExporters = 2_000
)

// missingNotice is one notice of all metrics that nobody has, with what to do to get them from the exporters there are.
func (d *Datasource) missingNotice(ctx context.Context, scope query.Scope, g *gathered) (gpu.Notice, bool) {
	if len(g.missing) == 0 || len(g.devices.Subjects) == 0 {
		return gpu.Notice{}, false
	}
	names := strings.Join(g.missing[:min(namedMissing, len(g.missing))], ", ")
	if more := len(g.missing) - namedMissing; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	text := "Not measured here, so that less is certain: " + names + "."
	if how := d.enabling(g.missing, d.offers(ctx, scope, g)); how != "" {
		text += " " + how
	}
	return gpu.Notice{Severity: gpu.Info, Text: text}, true
}

// offers are the exporters that are there and could give a missing metric, by its name; empty where that is not known, or
// would take longer to find out than the answer.
func (d *Datasource) offers(ctx context.Context, scope query.Scope, g *gathered) map[string]catalog.Dialect {
	offers := map[string]catalog.Dialect{}
	if !g.history || len(g.devices.Subjects) > mostExporters {
		return offers
	}
	found := d.history.Coverage(ctx, scope)
	for _, row := range found.Rows {
		if row.Status == history.Missing && slices.Contains(g.missing, row.Metric.Name) && offers[row.Metric.Name] == "" {
			offers[row.Metric.Name] = row.Dialect
		}
	}
	return offers
}

// enabling is what to do to get missing metrics from the exporters there are, else from the best that has them. Where an
// exporter takes lines of configuration the lines for all metrics are put together; else it is the advice for the first.
func (d *Datasource) enabling(missing []string, offers map[string]catalog.Dialect) string {
	first, firstOfLines := "", ""
	var lines []string
	for _, metric := range missing {
		options := d.catalog.Explain(metric)
		if len(options) == 0 {
			continue
		}
		chosen := options[0]
		if at := slices.IndexFunc(options, func(o catalog.Option) bool { return o.Dialect == offers[metric] }); at >= 0 {
			chosen = options[at]
		}
		advice := metric + ": " + chosen.Enable
		if first == "" {
			first = advice
		}
		if len(chosen.Lines) > 0 && firstOfLines == "" {
			firstOfLines = advice
		}
		lines = append(lines, chosen.Lines...)
	}
	if len(lines) == 0 {
		return first
	}
	more := ""
	if n := len(lines) - namedLines; n > 0 {
		lines, more = lines[:namedLines], fmt.Sprintf("\n… and %d more: see the query type coverage.", n)
	}
	return firstOfLines + "\n" + strings.Join(lines, "\n") + more
}
