package plugin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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

// missingNotice is one notice of all metrics that a judgement would have liked and that subjects lack, with what to do to get
// them from the exporters there are.
func (d *Datasource) missingNotice(ctx context.Context, scope query.Scope, g *gathered, missing []string) (gpu.Notice, bool) {
	if len(missing) == 0 || len(g.devices.Subjects) == 0 {
		return gpu.Notice{}, false
	}
	names := strings.Join(missing[:min(namedMissing, len(missing))], ", ")
	if more := len(missing) - namedMissing; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	text := "Not measured here, so that less is certain: " + names + "."
	if how := d.enabling(missing, d.offers(ctx, scope, g, missing)); how != "" {
		text += " " + how
	}
	return gpu.Notice{Severity: gpu.Info, Text: text}, true
}

// tallied counts what subjects lack.
type tallied map[string]int

func (t tallied) add(missing []string) {
	for _, metric := range missing {
		t[metric]++
	}
}

// names are what is lacking, what most lack first.
func (t tallied) names() []string {
	return slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(t[b]-t[a], strings.Compare(a, b)) })
}

// offers are the exporters that are there and could give a missing metric, by its name; empty where that is not known, or
// would take longer to find out than the answer.
func (d *Datasource) offers(ctx context.Context, scope query.Scope, g *gathered, missing []string) map[string]catalog.Dialect {
	offers := map[string]catalog.Dialect{}
	if !g.history || len(g.devices.Subjects) > mostExporters {
		return offers
	}
	found := d.history.Coverage(ctx, scope)
	for _, row := range found.Rows {
		if row.Status == history.Missing && slices.Contains(missing, row.Metric.Name) && offers[row.Metric.Name] == "" {
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
