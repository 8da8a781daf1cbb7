package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// MaxValues bounds each list of a scope, so that no query makes a matcher that servers refuse.
const MaxValues = 10_000

// MaxMinStep bounds the minimum step: a longer one would leave any range a single point.
const MaxMinStep = 365 * 24 * time.Hour

// Bounds on the length of texts, in bytes. Whatever is longer is a mistake, and costs everyone who handles it: servers
// parse expressions in quadratic time, and messages quote what is wrong.
const (
	maxText    = 1 << 10
	maxPattern = 64 << 10 // of an expression, or a value of a scope, which may be a long regular expression
	maxQuoted  = 160      // of a text in a message
)

// allValues is what Grafana puts in place of a variable whose choice is "All" when nothing resolves it.
const allValues = "$__all"

var (
	types        = append([]string{TypeMetric, TypePromQL, TypeCoverage, TypeInventory, TypeProcesses, TypeEvents}, insightTypes()...)
	aggregations = []string{"avg", "max", "min", "sum", "p50", "p95", "p99"}
	groupings    = []string{ByIdentity, ByNode, ByCluster, ByModel, ByNamespace, ByPod, ByJob}
	sources      = []string{SourceAuto, SourceHistory, SourceLive}
	formats      = []string{FormatTimeSeries, FormatTable, FormatMatrix}
)

// Parse reads a query as Grafana sends it. queryType is the one Grafana sends beside the JSON; when it is empty the
// JSON's own counts, and without either the query is a metric query. Every error is the user's to mend, and says which
// field and what is accepted. Fields that Grafana adds are ignored, a misspelt one of ours is not.
func Parse(raw json.RawMessage, queryType string) (Query, error) {
	fields, err := object(raw)
	if err != nil {
		return Query{}, err
	}
	r := reader{fields: fields}
	r.migrate()
	q := Query{
		RefID: r.text("refId"),
		Type:  firstOf(queryType, r.text("queryType"), TypeMetric),
		Scope: Scope{
			Clusters: r.list("clusters"), Nodes: r.list("nodes"), GPUs: r.list("gpus"), MIGs: r.list("migs"), Models: r.list("models"),
			Namespaces: r.list("namespaces"), Pods: r.list("pods"), Jobs: r.list("jobs"),
		},
		Metric:      strings.TrimSpace(r.text("metric")),
		Aggregation: r.choice("aggregation", "", aggregations),
		AggregateBy: r.choice("aggregateBy", ByIdentity, groupings),
		Source:      r.choice("source", SourceAuto, sources),
		Live:        r.flag("live", true),
		Reduce:      r.reduce("reduce"),
		MaxSeries:   r.whole("maxSeries", 0, 1, MaxSeriesLimit),
		Expr:        r.bounded("expr", maxPattern),
		Format:      r.choice("format", FormatTimeSeries, formats),
		Instant:     r.flag("instant", false),
		Legend:      r.text("legend"),
		MinStep:     r.duration("minStep"),
		InjectScope: r.flag("injectScope", false),
		Filters:     r.filters("adhocFilters"),
		Exemplars:   r.flag("exemplars", false),
		MaxRows:     r.whole("maxRows", 0, 1, MaxRowsLimit),
		Kinds:       r.list("kinds"),
		MinDuration: r.duration("minDuration"),
		Options:     r.options("options"),
	}
	if r.err == nil {
		r.err = misspelt(fields)
	}
	if r.err != nil {
		return Query{}, r.err
	}
	return q.validated()
}

// validated checks the query as a whole, forgets what its type does not use and compiles its scope.
func (q Query) validated() (Query, error) {
	switch q.Type {
	case TypeMetric:
		if q.Metric == "" {
			return Query{}, errors.New(`field "metric": name the metric to show, like "gpu_utilization_ratio"`)
		}
		q.Expr = ""
		if err := q.validateReduce(); err != nil {
			return Query{}, err
		}
	case TypePromQL:
		if strings.TrimSpace(q.Expr) == "" {
			return Query{}, errors.New(`field "expr": write a PromQL expression`)
		}
		q.Metric, q.Aggregation, q.AggregateBy, q.Source, q.Live = "", "", ByIdentity, SourceHistory, false
		q.Exemplars = q.Exemplars && !q.Instant
		if q.Reduce.Mode != ReduceAll {
			q.Reduce = Reduce{}
		}
	case TypeCoverage:
		// An answer is always the same table, of now.
		q = Query{RefID: q.RefID, Type: q.Type, Scope: q.Scope, Filters: q.Filters, AggregateBy: ByIdentity, Source: SourceHistory, Format: FormatTimeSeries}
	case TypeInventory, TypeProcesses, TypeEvents:
		var err error
		if q, err = q.validatedTable(); err != nil {
			return Query{}, err
		}
	case TypeBottleneck, TypeHealth, TypeEfficiency, TypeForecast, TypeAnomaly, TypeMemory, TypeStragglers, TypeTopology:
		q = q.validatedInsight()
	default:
		return Query{}, fmt.Errorf(`field "queryType": %q is not known; use %s`, shorten(q.Type), oneOf(types))
	}
	if q.Type == TypeMetric || q.Type == TypePromQL {
		q.MaxRows, q.Kinds, q.MinDuration, q.Options = 0, nil, 0, nil
	}
	var err error
	if q.Type != TypePromQL {
		q.InjectScope, q.Exemplars = false, false
		if q.Scope, q.Filters, err = q.Scope.restrict(q.Filters); err != nil {
			return Query{}, err
		}
	}
	q.Scope, err = q.Scope.Compile()
	return q, err
}

// MetricIn finds the query's metric in the catalogue and checks that its aggregation makes sense there. Every error is
// the user's to mend.
func (q Query) MetricIn(c *catalog.Catalog) (catalog.Metric, error) {
	m, ok := c.Metric(q.Metric)
	if !ok {
		if near := c.Suggest(q.Metric); near != "" {
			return catalog.Metric{}, fmt.Errorf(`field "metric": %q is not known; did you mean %q?`, shorten(q.Metric), near)
		}
		return catalog.Metric{}, fmt.Errorf(`field "metric": %q is not known; choose one from the query editor's list`, shorten(q.Metric))
	}
	if q.RulesOnly(m) {
		if q.AggregateBy != ByNode && q.AggregateBy != ByCluster && q.AggregateBy != ByModel && q.AggregationOf(m) == "min" {
			return catalog.Metric{}, fmt.Errorf(`field "aggregation": the least of %s in a %s is not recorded; use avg, max, sum or p95`, m.Name, q.AggregateBy)
		}
		if q.AggregationOf(m) == recordedQuantile || m.Aggregates(q.AggregationOf(m)) {
			return m, nil
		}
	}
	if m.Subject == catalog.SubjectDevice && slices.Contains([]string{ByNamespace, ByPod, ByJob}, q.AggregateBy) {
		if m.Recorded() && q.AggregateBy != ByPod {
			return catalog.Metric{}, fmt.Errorf(`field "aggregateBy": %s by %s is known over a range only, from recording rules; choose the format %s, or use %s`,
				m.Name, q.AggregateBy, FormatTimeSeries, oneOf([]string{ByIdentity, ByNode, ByCluster, ByModel}))
		}
		return catalog.Metric{}, fmt.Errorf(`field "aggregateBy": %s is a metric of devices, not of what runs on them; use %s, and choose what runs in "namespaces", "pods" or "jobs"`,
			m.Name, oneOf([]string{ByIdentity, ByNode, ByCluster, ByModel}))
	}
	chosen := q.Aggregation != "" && (q.AggregateBy != ByIdentity || m.Kind == catalog.Histogram || isQuantile(q.Aggregation))
	if chosen && q.Aggregation == recordedQuantile && m.Subject == catalog.SubjectDevice && m.Recorded() {
		return catalog.Metric{}, fmt.Errorf(`field "aggregation": %s of %s is known over the devices of a node, cluster, model, namespace or job, and over a range only, from recording rules; `+
			`choose one of them in "aggregateBy" and the format %s, or use %s`, q.Aggregation, m.Name, FormatTimeSeries, oneOf(m.Aggregations))
	}
	if chosen && !m.Aggregates(q.Aggregation) {
		return catalog.Metric{}, fmt.Errorf(`field "aggregation": %s of %s says nothing; use %s`,
			q.Aggregation, m.Name, oneOf(m.Aggregations))
	}
	return m, nil
}

// recordedQuantile is the quantile over devices that recording rules have.
const recordedQuantile = "p95"

// RulesOnly reports whether only recording rules can answer the query: they know how the devices of a namespace or job were
// distributed in the past, and quantiles over them.
func (q Query) RulesOnly(m catalog.Metric) bool {
	if m.Subject != catalog.SubjectDevice || !m.Recorded() || q.Instant {
		return false
	}
	switch q.AggregateBy {
	case ByNamespace, ByJob:
		return true
	case ByNode, ByCluster, ByModel:
		return q.Aggregation == recordedQuantile
	}
	return false
}

// isQuantile reports whether an aggregation is for histograms.
func isQuantile(aggregation string) bool { return strings.HasPrefix(aggregation, "p") }

// AggregationOf is the query's aggregation, or the metric's default.
func (q Query) AggregationOf(m catalog.Metric) string {
	return firstOf(q.Aggregation, m.Aggregations[0])
}

func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	var fields map[string]json.RawMessage
	if err := decoder.Decode(&fields); err != nil {
		var typeError *json.UnmarshalTypeError
		if errors.As(err, &typeError) {
			return nil, fmt.Errorf("the query is a %s; it must be a JSON object", typeError.Value)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("the query's JSON ends too early")
		}
		return nil, fmt.Errorf("the query is not valid JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the query's JSON has something after its end")
	}
	return fields, nil
}

// reader takes fields out of a query's JSON and keeps the first error.
type reader struct {
	fields map[string]json.RawMessage
	err    error
}

// migrate brings an older query up to SchemaVersion. There is one version so far; a query without one has it.
func (r *reader) migrate() {
	var version int
	if !r.get("schemaVersion", &version, "a whole number") {
		return
	}
	if version > SchemaVersion {
		r.fail("schemaVersion", "%d was written by a newer Warpwatch; this one reads up to %d, so update the plugin", version, SchemaVersion)
	} else if version < 1 {
		r.fail("schemaVersion", "%d does not exist; leave it out or use %d", version, SchemaVersion)
	}
}

// get decodes a field and reports whether it was there.
func (r *reader) get(name string, into any, what string) bool {
	raw, ok := r.fields[name]
	if !ok || string(raw) == "null" || r.err != nil {
		return false
	}
	if err := json.Unmarshal(raw, into); err != nil {
		r.fail(name, "must be %s", what)
		return false
	}
	return true
}

func (r *reader) fail(name, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("field %q: "+format, append([]any{name}, args...)...)
	}
}

func (r *reader) text(name string) string { return r.bounded(name, maxText) }

func (r *reader) bounded(name string, limit int) (value string) {
	r.get(name, &value, "text")
	r.checkText(name, value, limit)
	return value
}

// checkText refuses texts that no name, label or expression can be. JSON's decoder has put U+FFFD for what is not Unicode,
// and no server takes that.
func (r *reader) checkText(name, value string, limit int) {
	if len(value) > limit {
		r.fail(name, "%q is %d bytes long; at most %d are accepted", shorten(value), len(value), limit)
	}
	if strings.ContainsRune(value, utf8.RuneError) {
		r.fail(name, "%q holds characters that are not Unicode; remove them", shorten(value))
	}
}

// shorten is the beginning of a text, for messages.
func shorten(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}

func (r *reader) flag(name string, usual bool) bool {
	value := usual
	r.get(name, &value, "true or false")
	return value
}

func (r *reader) choice(name, usual string, accepted []string) string {
	value := firstOf(r.text(name), usual)
	if value != usual && !slices.Contains(accepted, value) {
		r.fail(name, "%q is not known; use %s", shorten(value), oneOf(accepted))
	}
	return value
}

// list reads a list of texts. Empty ones are left out, and Grafana's "all" empties the list.
func (r *reader) list(name string) []string {
	var given, values []string
	if !r.get(name, &given, `a list of texts, like ["a", "b"]`) {
		return nil
	}
	if len(given) > MaxValues {
		r.fail(name, "has %d values; at most %d are accepted, so use a regular expression like %q", len(given), MaxValues, "/gpu-.*/")
	}
	for _, value := range given {
		if value == allValues {
			return nil
		}
		r.checkText(name, value, maxPattern)
		if value != "" {
			values = append(values, value)
		}
	}
	return values
}

// duration reads "15s", "1m30s", "2h" and the like; "" is 0.
func (r *reader) duration(name string) time.Duration {
	text := strings.TrimSpace(r.text(name))
	if text == "" {
		return 0
	}
	d, err := ParseDuration(text)
	if err != nil {
		r.fail(name, "%q is not a duration; write it like %q or %q", shorten(text), "15s", "1m")
	}
	if d > MaxMinStep {
		r.fail(name, "%q leaves no range more than one point; use at most %q", shorten(text), model.Duration(MaxMinStep).String())
	}
	return d
}

// ParseDuration reads a duration as Prometheus and Grafana write it, from "500ms" to "1y".
func ParseDuration(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	return time.Duration(d), err
}

// known are our fields; Grafana adds its own (datasource, hide, intervalMs, maxDataPoints and more in every release).
var knownFields = []string{
	"refId", "queryType", "schemaVersion", "clusters", "nodes", "gpus", "migs", "models", "namespaces", "pods", "jobs", "metric",
	"aggregation", "aggregateBy", "source", "live", "format", "instant", "legend", "minStep", "expr",
	"reduce", "maxSeries", "injectScope", "adhocFilters", "exemplars", "maxRows", "kinds", "minDuration", "options",
}

// foreignFields are fields of Prometheus' own data source that come along when a panel's data source is changed.
var foreignFields = []string{"exemplar"}

// misspelt finds a field that is one of ours but for its case or a plural.
func misspelt(fields map[string]json.RawMessage) error {
	for _, name := range sortedKeys(fields) {
		if slices.Contains(knownFields, name) || slices.Contains(foreignFields, name) {
			continue
		}
		for _, ours := range knownFields {
			if strings.EqualFold(strings.TrimSuffix(name, "s"), strings.TrimSuffix(ours, "s")) {
				return fmt.Errorf("field %q is not known; did you mean %q?", shorten(name), ours)
			}
		}
	}
	return nil
}

func sortedKeys(fields map[string]json.RawMessage) []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// oneOf lists choices as people do: a, b or c.
func oneOf(choices []string) string {
	last := len(choices) - 1
	if last <= 0 {
		return strings.Join(choices, "")
	}
	return strings.Join(choices[:last], ", ") + " or " + choices[last]
}
