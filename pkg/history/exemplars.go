package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

const exemplarsPath = "/api/v1/query_exemplars"

// MaxExemplars is how many exemplars an answer has at most: more hide each other.
const MaxExemplars = 1000

// Exemplars are the exemplars of the series that a PromQL query reads, in the order of time. Of more than MaxExemplars
// those with the largest values of their time are kept, because outliers are what they are looked at for. What fails is a
// notice: the query's own answer does not depend on it.
func (h *History) Exemplars(ctx context.Context, q query.Query, w query.Window) ([]gpu.Exemplar, []gpu.Notice) {
	prepared, err := query.Macros{Window: w, Scope: q.Scope, Catalog: h.catalog}.Prepare(q)
	if err != nil {
		return nil, nil // which the query itself reports
	}
	endpoints, _ := h.inScope(q.Scope)
	good, notices, err := split(fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) ([]gpu.Exemplar, error) {
		return e.exemplars(ctx, prepared.Text, w)
	}))
	if err != nil {
		return nil, []gpu.Notice{{Severity: gpu.Warning, Text: "No exemplars: " + err.Error() + "."}}
	}
	severalClusters := several(endpoints)
	var all []gpu.Exemplar
	for _, o := range good {
		for _, x := range o.value {
			x.Series = o.endpoint.withoutReplicas(x.Series, severalClusters)
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b gpu.Exemplar) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(labelKey(a.Series), labelKey(b.Series)), cmp.Compare(labelKey(a.Labels), labelKey(b.Labels)))
	})
	all = slices.CompactFunc(all, func(a, b gpu.Exemplar) bool { // what replicas both have
		return a.Time == b.Time && maps.Equal(a.Series, b.Series) && maps.Equal(a.Labels, b.Labels)
	})
	if found := len(all); found > MaxExemplars {
		all = largest(all, w)
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("Showing %d of %d exemplars, the largest of their time.", len(all), found)})
	}
	return all, notices
}

// exemplarsBeside asks for a query's exemplars, if it wants them, while it is answered itself. What it returns waits for
// them, and must be called.
func (h *History) exemplarsBeside(ctx context.Context, q query.Query, w query.Window) func() ([]gpu.Exemplar, []gpu.Notice) {
	if !q.Exemplars {
		return func() ([]gpu.Exemplar, []gpu.Notice) { return nil, nil }
	}
	var found []gpu.Exemplar
	var notices []gpu.Notice
	done := make(chan struct{})
	go func() {
		defer close(done)
		found, notices = h.Exemplars(ctx, q, w)
	}()
	return func() ([]gpu.Exemplar, []gpu.Notice) {
		<-done
		return found, notices
	}
}

// withoutReplicas are a series' labels without those that tell replicas apart.
func (e *endpoint) withoutReplicas(labels map[string]string, severalClusters bool) map[string]string {
	for _, name := range e.ReplicaLabels {
		delete(labels, name)
	}
	if severalClusters && labels != nil {
		labels[clusterLabel] = e.Cluster
	}
	return labels
}

// largest keeps the exemplar with the largest value of each of MaxExemplars equal parts of the window.
func largest(all []gpu.Exemplar, w query.Window) []gpu.Exemplar {
	from, length := w.From.UnixMilli(), max(w.Length().Milliseconds(), 1)
	var kept []gpu.Exemplar
	last := int64(-1)
	for _, x := range all {
		part := min(max((x.Time-from)*MaxExemplars/length, 0), MaxExemplars-1)
		switch {
		case part != last:
			kept, last = append(kept, x), part
		case x.Value > kept[len(kept)-1].Value:
			kept[len(kept)-1] = x
		}
	}
	return kept
}

// exemplarsAnswer is the body of query_exemplars.
type exemplarsAnswer struct {
	Status, ErrorType, Error string
	Data                     []struct {
		SeriesLabels map[string]string
		Exemplars    []struct {
			Labels    map[string]string
			Value     looseNumber
			Timestamp looseNumber
		}
	}
}

func (e *endpoint) exemplars(ctx context.Context, expr string, w query.Window) ([]gpu.Exemplar, error) {
	resp, body, err := e.fetch(ctx, exemplarsPath, url.Values{"query": {expr}, "start": {timestamp(w.From)}, "end": {timestamp(w.To)}})
	if err != nil {
		return nil, err
	}
	var a exemplarsAnswer
	switch err := json.Unmarshal(body, &a); {
	case err != nil:
		return nil, e.answerError(resp, body, err)
	case a.Status == "error":
		return nil, e.refusal(resp, a.ErrorType, a.Error)
	}
	var all []gpu.Exemplar
	for _, s := range a.Data {
		for _, x := range s.Exemplars {
			if t := float64(x.Timestamp) * 1000; !math.IsNaN(t) && math.Abs(t) < math.MaxInt64 {
				all = append(all, gpu.Exemplar{Series: maps.Clone(s.SeriesLabels), Labels: x.Labels, Time: int64(math.Round(t)), Value: float64(x.Value)})
			}
		}
	}
	return all, nil
}

// looseNumber is a number that servers write with quotes or without.
type looseNumber float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *looseNumber) UnmarshalJSON(text []byte) error {
	if len(text) >= 2 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("read a number: %w", err)
	}
	*n = looseNumber(v)
	return nil
}
