package query

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// The values of Reduce.Mode: what an answer of very many lines is made into.
const (
	ReduceAuto    = "auto"    // every line up to the limit, bands beyond it
	ReduceBands   = "bands"   // quantiles over the lines at each time
	ReduceTopK    = "topk"    // the lines with the highest values
	ReduceBottomK = "bottomk" // the lines with the lowest values
	ReduceHeatmap = "heatmap" // how many lines are in each bin of values at each time
	ReduceAll     = "all"     // every line, however many
)

// The values of Reduce.By: what of a line's values over the range decides its rank.
const (
	RankAvg  = "avg"
	RankMax  = "max"
	RankMin  = "min"
	RankLast = "last"
)

var (
	reductions = []string{ReduceAuto, ReduceBands, ReduceTopK, ReduceBottomK, ReduceHeatmap, ReduceAll}
	rankings   = []string{RankAvg, RankMax, RankMin, RankLast}
)

// DefaultK is how many lines ReduceTopK and ReduceBottomK keep, MaxK the most.
const (
	DefaultK = 10
	MaxK     = 1000
)

// MaxSeriesLimit bounds a query's own limit of lines.
const MaxSeriesLimit = 1_000_000

// Reduce is how many lines are made few. The zero value is ReduceAuto.
type Reduce struct {
	Mode string // ReduceBands and so on, "" for ReduceAuto
	K    int    // of ReduceTopK and ReduceBottomK, else 0
	By   string // of ReduceTopK and ReduceBottomK, RankAvg and so on, else ""
}

// reduceDocument is the JSON of a Reduce; fields with their default are left out.
type reduceDocument struct {
	Mode string `json:"mode"`
	K    int    `json:"k,omitempty"`
	By   string `json:"by,omitempty"`
}

// ranked reports whether the lines of the answer are chosen by their rank.
func (r Reduce) ranked() bool { return r.Mode == ReduceTopK || r.Mode == ReduceBottomK }

// document is nil for the default.
func (r Reduce) document() *reduceDocument {
	if r.Mode == "" {
		return nil
	}
	doc := &reduceDocument{Mode: r.Mode}
	if r.ranked() {
		doc.By = unless(r.By, RankAvg)
		if r.K != DefaultK {
			doc.K = r.K
		}
	}
	return doc
}

// reduce reads the field of that name: {"mode": "topk", "k": 5, "by": "max"}.
func (r *reader) reduce(name string) Reduce {
	var reduce Reduce
	var raw json.RawMessage
	if !r.get(name, &raw, "an object") {
		return reduce
	}
	fields, err := object(raw)
	if err != nil {
		r.fail(name, `must be an object, like {"mode": %q, "k": 5, "by": %q}`, ReduceTopK, RankMax)
		return reduce
	}
	inner := reader{fields: fields}
	reduce.Mode = unless(inner.choice("mode", ReduceAuto, reductions), ReduceAuto)
	k := inner.whole("k", 0, 1, MaxK)
	by := inner.choice("by", RankAvg, rankings)
	for _, key := range sortedKeys(fields) {
		if !slices.Contains([]string{"mode", "k", "by"}, key) {
			inner.fail(key, "is not known; use mode, k or by")
		}
	}
	if inner.err != nil {
		if r.err == nil {
			r.err = fmt.Errorf("field %q: %w", name, inner.err)
		}
		return reduce
	}
	if reduce.ranked() {
		reduce.K, reduce.By = k, by
		if k == 0 {
			reduce.K = DefaultK
		}
	}
	return reduce
}

// whole reads a whole number within bounds; usual when it is not given.
func (r *reader) whole(name string, usual, least, most int) int {
	value := usual
	if r.get(name, &value, fmt.Sprintf("a whole number from %d to %d", least, most)) && (value < least || value > most) {
		r.fail(name, "%d is out of bounds; use a whole number from %d to %d", value, least, most)
	}
	return value
}

// validateReduce finds a reduction that the rest of the query leaves nothing for.
func (q Query) validateReduce() error {
	if q.Format == FormatMatrix && (q.Type != TypeMetric || q.AggregateBy != ByIdentity || q.Reduce.Mode != "") {
		return errors.New(`field "format": a matrix has every device of a metric on its own; leave out "aggregateBy" and "reduce"`)
	}
	if q.Reduce.Mode == ReduceHeatmap && (q.Instant || q.Format == FormatTable) {
		return errors.New(`field "reduce": a heatmap needs a range; use bands, topk or bottomk for a table or one value a series`)
	}
	return nil
}
