package plugin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// maxCoverageRows bounds a table of coverage: what is missing everywhere has a row for each cluster.
const maxCoverageRows = 20_000

// coverage answers which metrics there are of a scope now, in one table.
func (d *Datasource) coverage(ctx context.Context, r request) (data.Frames, error) {
	found, err := d.covered(ctx, r.query.Scope)
	if err != nil {
		return nil, err
	}
	columns := []struct {
		name string
		text func(history.CoverageRow) string
	}{
		{"cluster", func(row history.CoverageRow) string { return row.Cluster }},
		{"endpoint", func(row history.CoverageRow) string { return row.Endpoint }},
		{"metric", func(row history.CoverageRow) string { return row.Metric.Name }},
		{"family", func(row history.CoverageRow) string { return row.Metric.Family }},
		{"unit", func(row history.CoverageRow) string { return string(row.Metric.ShownUnit()) }},
		{"status", func(row history.CoverageRow) string { return string(row.Status) }},
		{"dialect", func(row history.CoverageRow) string { return string(row.Dialect) }},
		{"series", func(row history.CoverageRow) string { return row.Series }},
		{"series unit", func(row history.CoverageRow) string { return row.Unit }},
		{"why", func(row history.CoverageRow) string { return row.Why }},
		{"passed over", func(row history.CoverageRow) string { return row.Passed }},
		{"enable", func(row history.CoverageRow) string { return row.Enable }},
		{"help", func(row history.CoverageRow) string { return row.Help }},
	}
	var fields data.Fields
	for _, c := range columns {
		texts := make([]string, len(found.Rows))
		for i, row := range found.Rows {
			texts[i] = c.text(row)
		}
		fields = append(fields, data.NewField(c.name, nil, texts))
	}
	for _, c := range []struct {
		name   string
		number func(history.CoverageRow) int
	}{
		{"covered", func(row history.CoverageRow) int { return row.Covered }},
		{"total", func(row history.CoverageRow) int { return row.Total }},
		{"exporters", func(row history.CoverageRow) int { return row.Targets }},
	} {
		numbers := make([]int64, len(found.Rows))
		for i, row := range found.Rows {
			numbers[i] = int64(c.number(row))
		}
		fields = slices.Insert(fields, 6+len(fields)-len(columns), data.NewField(c.name, nil, numbers))
	}
	o := frames.Options{Executed: found.Executed, Notices: d.shown(found.Notices)}
	return data.Frames{frames.Table("coverage", fields, o)}, nil
}

// covered is what history knows, no more rows than anybody reads.
func (d *Datasource) covered(ctx context.Context, scope query.Scope) (history.Coverage, error) {
	found := d.history.Coverage(ctx, scope)
	if err := ctx.Err(); err != nil {
		return found, err
	}
	if found.Err != nil {
		return found, found.Err
	}
	if n := len(found.Rows); n > maxCoverageRows {
		found.Rows = found.Rows[:maxCoverageRows]
		found.Notices = append(found.Notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Showing %d of %d rows: choose a cluster.", maxCoverageRows, n)})
	}
	return found, nil
}

type coverageRow struct {
	Cluster    string `json:"cluster"`
	Endpoint   string `json:"endpoint"`
	Metric     string `json:"metric"`
	Family     string `json:"family"`
	Unit       string `json:"unit"`
	Subject    string `json:"subject"` // "device" or "workload"
	Status     string `json:"status"`
	Covered    int    `json:"covered"`
	Total      int    `json:"total"`
	Exporters  int    `json:"exporters"`
	Dialect    string `json:"dialect"`
	Series     string `json:"series"`
	SeriesUnit string `json:"seriesUnit"`
	Why        string `json:"why"`
	PassedOver string `json:"passedOver"`
	Enable     string `json:"enable"`
	Type       string `json:"type"`
	Help       string `json:"help"`
}

type coverageAnswer struct {
	Rows    []coverageRow `json:"rows"`
	Notices []noticeInfo  `json:"notices"`
}

// serveCoverage is the coverage of a scope, for the pages that configure and explore.
func (d *Datasource) serveCoverage(r *http.Request) (any, error) {
	if d.broken != nil {
		return nil, d.unusable()
	}
	var scope query.Scope
	lists := map[string]*[]string{
		"cluster": &scope.Clusters, "node": &scope.Nodes, "gpu": &scope.GPUs, "model": &scope.Models,
		"namespace": &scope.Namespaces, "pod": &scope.Pods, "job": &scope.Jobs,
	}
	for name, values := range r.URL.Query() {
		into := lists[name]
		if into == nil {
			return nil, badInput(fmt.Errorf("parameter %q is not known: %s are", name, strings.Join(parentKinds(), ", ")))
		}
		*into = chosen(values)
	}
	scope, err := scope.Compile()
	if err != nil {
		return nil, badInput(err)
	}
	found, err := d.covered(r.Context(), scope)
	if err != nil {
		return nil, err
	}
	answer := coverageAnswer{Rows: []coverageRow{}, Notices: d.noticeInfos(found.Notices)}
	for _, row := range found.Rows {
		subject := string(row.Metric.Subject)
		if subject == "" {
			subject = "device"
		}
		answer.Rows = append(answer.Rows, coverageRow{
			Cluster: row.Cluster, Endpoint: row.Endpoint, Metric: row.Metric.Name, Family: row.Metric.Family, Unit: string(row.Metric.ShownUnit()),
			Subject: subject, Status: string(row.Status), Covered: row.Covered, Total: row.Total, Exporters: row.Targets, Dialect: string(row.Dialect),
			Series: row.Series, SeriesUnit: row.Unit, Why: row.Why, PassedOver: row.Passed, Enable: row.Enable, Type: row.Type, Help: row.Help,
		})
	}
	return answer, nil
}
