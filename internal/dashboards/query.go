package dashboards

import (
	"maps"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Query is a query of a panel, without the scope that the board's variables give it.
type Query struct {
	Type   string         // a query type of pkg/query
	Metric string         // of a metric query
	fields map[string]any // the other fields of its JSON
	mig    bool           // of the chosen MIG instances
	whole  bool           // of everything, whatever the variables say
}

// with is the query with a field more.
func (q Query) with(name string, value any) Query {
	q.fields = maps.Clone(q.fields)
	if q.fields == nil {
		q.fields = map[string]any{}
	}
	q.fields[name] = value
	return q
}

// metric asks for a canonical metric, a line for each device.
func metric(name string) Query { return Query{Type: query.TypeMetric, Metric: name} }

// by is one line for each node, cluster and so on.
func (q Query) by(dimension, aggregation string) Query {
	return q.with("aggregateBy", dimension).with("aggregation", aggregation)
}

// legend names the lines.
func (q Query) legend(text string) Query { return q.with("legend", text) }

// now asks for the newest values as a table.
func (q Query) now() Query { return q.with("format", query.FormatTable).with("instant", true) }

// reduced makes few lines of very many.
func (q Query) reduced(mode string) Query { return q.with("reduce", map[string]any{"mode": mode}) }

// top keeps the lines with the highest values.
func (q Query) top(k int) Query {
	return q.with("reduce", map[string]any{"mode": query.ReduceTopK, "k": k, "by": query.RankMax})
}

// bottom keeps the lines with the lowest values.
func (q Query) bottom(k int) Query {
	return q.with("reduce", map[string]any{"mode": query.ReduceBottomK, "k": k, "by": query.RankMin})
}

// worst is the one line whose newest value is the highest ("topk") or the lowest ("bottomk").
func (q Query) worst(mode string) Query {
	return q.with("reduce", map[string]any{"mode": mode, "k": 1, "by": query.RankLast})
}

// instances asks for the MIG instances that are chosen.
func (q Query) instances() Query {
	q.mig = true
	return q
}

// judge asks for one frame of a judgement.
func judge(kind, show string, options map[string]any) Query {
	all := map[string]any{"show": show}
	maps.Copy(all, options)
	return Query{Type: kind}.with("options", all)
}

// rows limits a table.
func (q Query) rows(most int) Query { return q.with("maxRows", most) }

// ask asks for an inventory, processes, events or the coverage.
func ask(kind string) Query { return Query{Type: kind} }

// events asks for events of some kinds, for all when none is named.
func events(kinds ...string) Query {
	q := Query{Type: query.TypeEvents}
	if len(kinds) > 0 {
		q = q.with("kinds", kinds)
	}
	return q
}

// promql asks each cluster's Prometheus.
func promql(expr string) Query { return Query{Type: query.TypePromQL, whole: true}.with("expr", expr) }

// lists are the fields of a scope that variables fill, by the kind of the variable.
func lists() map[string]string {
	return map[string]string{
		"cluster": "clusters", "node": "nodes", "gpu": "gpus", "mig": "migs", "model": "models", "namespace": "namespaces", "pod": "pods", "job": "jobs",
	}
}

// document is the query as dashboards store it, within the scope of some variables.
func (q Query) document(ref string, variables []string, known *catalog.Catalog) target {
	doc := target{"refId": ref, "datasource": map[string]string{"type": datasourceType, "uid": "${datasource}"}, "queryType": q.Type, "schemaVersion": query.SchemaVersion}
	for _, kind := range variables {
		list, is := lists()[kind]
		if is && !q.whole && q.scopedBy(kind, known) {
			doc[list] = []string{"$" + kind}
		}
	}
	if q.Metric != "" {
		doc["metric"] = q.Metric
	}
	maps.Copy(doc, q.fields)
	return doc
}

// scopedBy reports whether a variable narrows the query. Workloads name no GPU, and their models are those that they serve.
func (q Query) scopedBy(kind string, known *catalog.Catalog) bool {
	switch kind {
	case "mig":
		return q.mig
	case "gpu", "model":
		m, found := known.Metric(q.Metric)
		return !found || m.Subject == catalog.SubjectDevice
	}
	return true
}

// target is a query in the panels of the SDK.
type target map[string]any

var _ variants.Dataquery = target{}

// ImplementsDataqueryVariant is the SDK's.
func (target) ImplementsDataqueryVariant() {}

// DataqueryType is the data source.
func (target) DataqueryType() string { return datasourceType }

// Validate is the SDK's; a test checks queries with pkg/query.
func (target) Validate() error { return nil }

// Equals compares by the refId, which is unique within a panel.
func (t target) Equals(other variants.Dataquery) bool {
	o, is := other.(target)
	return is && t["refId"] == o["refId"]
}

// chosen is the data source that the dashboard's variable chooses.
func chosen() *common.DataSourceRef {
	kind, uid := datasourceType, "${datasource}"
	return &common.DataSourceRef{Type: &kind, Uid: &uid}
}

// metricsOf are the metrics that panels ask for, each once.
func metricsOf(all []Query) []string {
	var names []string
	for _, q := range all {
		if q.Metric != "" && !slices.Contains(names, q.Metric) {
			names = append(names, q.Metric)
		}
	}
	return names
}

// targetBuilder is a query where the SDK wants a builder of one.
type targetBuilder struct{ target target }

// Build returns the query.
func (b targetBuilder) Build() (variants.Dataquery, error) { return b.target, nil }
