// Package query is what a panel asks for: the query model, its defaults and validation, the scope it selects devices by,
// the time window and step, and the macros of PromQL. It does no I/O.
package query

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/prometheus/common/model"
)

// SchemaVersion is the version of the query JSON that this build writes.
const SchemaVersion = 1

// The query types.
const (
	TypeMetric    = "metric"    // a canonical metric over a scope
	TypePromQL    = "promql"    // PromQL with macros
	TypeCoverage  = "coverage"  // which canonical metrics there are of a scope, from where, and how to get the others
	TypeInventory = "inventory" // a row for each GPU and MIG instance: what it is, whose it is, how it is now
	TypeProcesses = "processes" // which processes use the GPUs now; agents alone know
	TypeEvents    = "events"    // what happened to the GPUs: XID errors, throttling, memory errors, changes of MIG
)

// The values of Source: where samples are taken from.
const (
	SourceAuto    = "auto"    // history, continued by the agents
	SourceHistory = "history" // Prometheus only
	SourceLive    = "live"    // agents only
)

// The values of AggregateBy: what one series of the answer stands for.
const (
	ByIdentity = "identity" // a GPU or a MIG instance
	ByNode     = "node"
	ByCluster  = "cluster"
	ByModel    = "model" // of GPUs, or of what a server serves

	// Of metrics of workloads only, whose identity is a server of models or a process of a training job.
	ByNamespace = "namespace"
	ByPod       = "pod"
	ByJob       = "job"
)

// The values of Format.
const (
	FormatTimeSeries = "time_series"
	FormatTable      = "table"
	FormatMatrix     = "matrix" // a table of every device with its newest value, for panels of a whole fleet
)

// Query is a parsed query: migrated to SchemaVersion, defaulted and validated.
type Query struct {
	RefID string
	Type  string // TypeMetric, TypePromQL and so on

	Scope Scope

	Metric      string // canonical name, of a TypeMetric query
	Aggregation string // avg, max, min or sum, or of a histogram p50, p95, p99 or avg; "" for the metric's default
	AggregateBy string // ByIdentity and so on
	Source      string // SourceAuto and so on
	Live        bool   // continue the panel by a stream
	Reduce      Reduce // what an answer of very many lines is made into
	MaxSeries   int    // how many lines are very many; 0 for the data source's limit

	Expr        string   // of a TypePromQL query, macros not yet expanded
	InjectScope bool     // add the scope to the selectors of an Expr that has no $__gpu_filter
	Exemplars   bool     // look for exemplars too, of a TypePromQL query over a range
	Filters     []Filter // of the dashboard; without those that the scope's lists can hold, but for a TypePromQL query

	MaxRows     int           // of a table of a TypeInventory, TypeProcesses or TypeEvents query, or of one that judges; 0 for DefaultRows
	Kinds       []string      // of a TypeEvents query: the kinds of events, as package gpu names them; empty for all
	MinDuration time.Duration // of a TypeEvents query: what lasted shorter is left out

	// OverTime is how the samples between two points become one value, "avg", "max", "min" or "last"; "" for what the metric
	// and the aggregation suggest. It is not part of the JSON: judgements choose it.
	OverTime string

	Options json.RawMessage // of a query that judges, and of a TypeEvents query: an object in canonical form, see DecodeOptions; nil for none

	Format  string // FormatTimeSeries and so on
	Instant bool   // one value a series, at the end of the range
	Legend  string
	MinStep time.Duration // 0 when not given
}

// document is the JSON of a query. The order of its fields is that of Canonical; a field with its default is left out.
type document struct {
	Type          string   `json:"queryType"`
	SchemaVersion int      `json:"schemaVersion"`
	Clusters      []string `json:"clusters,omitempty"`
	Nodes         []string `json:"nodes,omitempty"`
	GPUs          []string `json:"gpus,omitempty"`
	MIGs          []string `json:"migs,omitempty"`
	Models        []string `json:"models,omitempty"`
	Namespaces    []string `json:"namespaces,omitempty"`
	Pods          []string `json:"pods,omitempty"`
	Jobs          []string `json:"jobs,omitempty"`
	Metric        string   `json:"metric,omitempty"`
	Aggregation   string   `json:"aggregation,omitempty"`
	AggregateBy   string   `json:"aggregateBy,omitempty"`
	Source        string   `json:"source,omitempty"`
	Live          *bool    `json:"live,omitempty"`

	Reduce    *reduceDocument `json:"reduce,omitempty"`
	MaxSeries int             `json:"maxSeries,omitempty"`

	Format  string `json:"format,omitempty"`
	Instant bool   `json:"instant,omitempty"`
	Legend  string `json:"legend,omitempty"`
	MinStep string `json:"minStep,omitempty"`
	Expr    string `json:"expr,omitempty"`

	InjectScope bool     `json:"injectScope,omitempty"`
	Exemplars   bool     `json:"exemplars,omitempty"`
	Filters     []Filter `json:"adhocFilters,omitempty"`

	MaxRows     int      `json:"maxRows,omitempty"`
	Kinds       []string `json:"kinds,omitempty"`
	MinDuration string   `json:"minDuration,omitempty"`

	Options json.RawMessage `json:"options,omitempty"`
}

// Canonical is the query as JSON in one form only: fields in a fixed order, lists sorted without duplicates, defaults
// and the refId left out, what the query type does not use left out. Queries that ask for the same have the same
// canonical form, and Parse reads it back.
func (q Query) Canonical() []byte {
	doc := document{
		Type: q.Type, SchemaVersion: SchemaVersion, Clusters: normal(q.Scope.Clusters), Nodes: normal(q.Scope.Nodes),
		GPUs: normal(q.Scope.GPUs), MIGs: normal(q.Scope.MIGs), Models: normal(q.Scope.Models),
		Namespaces: normal(q.Scope.Namespaces), Pods: normal(q.Scope.Pods), Jobs: normal(q.Scope.Jobs),
		Format: unless(q.Format, FormatTimeSeries), Instant: q.Instant, Legend: q.Legend,
		InjectScope: q.InjectScope, Exemplars: q.Exemplars, Filters: q.Filters,
	}
	if q.MinStep > 0 {
		doc.MinStep = model.Duration(q.MinStep).String()
	}
	switch q.Type {
	case TypePromQL:
		doc.Expr = q.Expr
		doc.Reduce, doc.MaxSeries = q.Reduce.document(), q.MaxSeries
	case TypeCoverage:
	case TypeInventory, TypeProcesses, TypeEvents:
		q.tables(&doc)
	case TypeBottleneck, TypeHealth, TypeEfficiency, TypeForecast, TypeAnomaly, TypeMemory, TypeStragglers, TypeTopology:
		q.judged(&doc)
	default:
		doc.Metric, doc.Aggregation = q.Metric, q.Aggregation
		doc.AggregateBy, doc.Source = unless(q.AggregateBy, ByIdentity), unless(q.Source, SourceAuto)
		if !q.Live {
			doc.Live = new(bool)
		}
		doc.Reduce, doc.MaxSeries = q.Reduce.document(), q.MaxSeries
	}
	text, err := json.Marshal(doc)
	if err != nil {
		// Strings, a bool and an int always marshal.
		panic("marshal a query: " + err.Error())
	}
	return text
}

// Hash is a short name for Canonical: 32 hexadecimal digits.
func (q Query) Hash() string { return HashOf(q.Canonical()) }

// HashOf is the hash that Hash and the channels of Grafana Live use: the first 16 bytes of SHA-256 as 32 hexadecimal digits.
func HashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

func normal(values []string) []string {
	sorted := slices.Sorted(slices.Values(values))
	return slices.Compact(sorted)
}

func unless(value, usual string) string {
	if value == usual {
		return ""
	}
	return value
}
