package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// mostNames is how many names a server is asked for. There are far fewer of ours, unless somebody writes numbers into names.
const mostNames = 20_000

// vocabulary is what a server has of what the catalogue knows.
type vocabulary struct {
	series map[string]bool // names of series; nil when the server does not say
	// renamed are names that pipelines changed, by the metric that they are sources of.
	renamed map[string][]string
	labels  []string // of these series; the catalogue's plain ones when the server does not say
	// workload are those of them that name workloads.
	workload []string
}

// has reports whether the series may exist on the server. Names and labels with dots are asked for only where they exist:
// older servers do not know the quotes.
func (v vocabulary) has(series string) bool {
	return v.series[series] || v.series == nil && model.LegacyValidation.IsValidMetricName(series)
}

// namesInstances reports whether a series may be of a MIG instance: it has a label that says so.
func (v vocabulary) namesInstances(c *catalog.Catalog) bool {
	return slices.ContainsFunc(c.InstanceLabels(), func(label string) bool { return slices.Contains(v.labels, label) })
}

// words asks a server, at most once a minute, which names of series and labels it has. A server that cannot say is
// treated as one that may have all; one that cannot be reached is an error.
func (h *History) words(ctx context.Context, e *endpoint) (vocabulary, error) {
	return e.vocabulary.get(ctx, h.options.Tenant(ctx), vocabularyTTL, func(ctx context.Context) (vocabulary, error) {
		v := vocabulary{}
		// What the catalogue may know, and recording rules; the exact choice is made here.
		ours := "{" + query.RegexMatcher("__name__", h.catalog.NamePattern()+"|"+rollupPattern) + "}"
		names, err := e.names(ctx, "/api/v1/label/__name__/values", ours)
		switch {
		case err == nil && len(names) >= mostNames:
			// Cut off, so that a name that is not in it may exist.
		case err == nil:
			v.series = make(map[string]bool, len(names))
			for _, name := range names {
				v.series[name] = true
			}
			v.renamed = h.renamed(names)
		case !unsupported(err):
			return v, err
		}
		if v.series != nil && len(v.series) == 0 {
			return v, nil
		}
		labels, err := e.names(ctx, "/api/v1/labels", ours)
		if err != nil && !unsupported(err) {
			return v, err
		}
		// Names that need quotes are asked for only where they exist: older servers do not know the quotes.
		exists := func(name string) bool {
			return slices.Contains(labels, name) || err != nil && model.LegacyValidation.IsValidLabelName(name)
		}
		for _, name := range h.catalog.IdentityLabels() {
			if exists(name) {
				v.labels = append(v.labels, name)
			}
		}
		for _, name := range h.catalog.WorkloadLabels() {
			if exists(name) {
				v.workload = append(v.workload, name)
			}
		}
		return v, nil
	})
}

// renamed finds the sources whose names are not quite those in the catalogue.
func (h *History) renamed(names []string) map[string][]string {
	found := map[string][]string{}
	for _, name := range names {
		lower := strings.ToLower(name)
		for _, s := range h.catalog.Lookup(name) {
			if s.Prefix+s.Suffix != "" || name != s.Series && name != lower {
				found[s.Metric] = append(found[s.Metric], name)
			}
		}
	}
	return found
}

// unsupported reports whether a server does not offer an endpoint, or not to us, though it may well answer queries.
func unsupported(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && (failed.Kind == KindNotPrometheus && failed.Status == 404 || failed.Kind == KindBadQuery || failed.Status == 403)
}

// names asks for a list of names of the series that match, or of their labels.
func (e *endpoint) names(ctx context.Context, path, match string) ([]string, error) {
	resp, body, err := e.fetch(ctx, path, url.Values{"match[]": {match}, "limit": {strconv.Itoa(mostNames)}})
	if err != nil {
		return nil, err
	}
	var list struct {
		Status    string   `json:"status"`
		ErrorType string   `json:"errorType"`
		Error     string   `json:"error"`
		Data      []string `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, e.answerError(resp, body, jsonProblem(body, err))
	}
	switch list.Status {
	case "success":
		return list.Data, nil
	case "error":
		return nil, e.refusal(resp, list.ErrorType, list.Error)
	}
	return nil, e.answerError(resp, body, nil)
}

// jsonProblem is errTruncated for a text that ended too early.
func jsonProblem(body []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset >= int64(len(body)) {
		return errTruncated
	}
	var shape *json.UnmarshalTypeError
	if errors.As(err, &shape) { // whose text is about Go's types
		return fmt.Errorf("%s at byte %d is not what is expected there", shape.Value, shape.Offset)
	}
	return err
}
