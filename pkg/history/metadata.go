package history

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// meaning is what exporters declare a series to be: the HELP, TYPE and UNIT lines of their text.
type meaning struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// text is all of it that may name a unit.
func (m meaning) text() string { return strings.TrimSpace(m.Help + " " + m.Unit) }

// metadata is what a server knows of the meaning of series, by their names. Exporters of several versions may differ.
type metadata map[string][]meaning

// helpPerName is how many different texts of one name are read.
const helpPerName = 5

// metadata asks a server what its exporters declare; it is empty where the server does not say.
func (h *History) metadata(ctx context.Context, e *endpoint) (metadata, error) {
	return e.metadata.get(ctx, h.options.Tenant(ctx), evidenceTTL, func(ctx context.Context) (metadata, error) {
		var all map[string][]meaning
		err := e.list(ctx, "/api/v1/metadata", url.Values{"limit_per_metric": {strconv.Itoa(helpPerName)}}, &all)
		if err != nil && !unsupported(err) {
			return nil, err
		}
		known := metadata{}
		for name, meanings := range all {
			// Not all servers keep to the limit, and what the catalogue does not know is of no use.
			if base := strings.TrimSuffix(name, "_total"); h.knows(name) || h.knows(name+"_bucket") || h.knows(base) || h.knows(name+"_total") {
				known[name] = meanings[:min(len(meanings), helpPerName)]
			}
		}
		return known, nil
	})
}

func (h *History) knows(series string) bool { return len(h.catalog.Lookup(series)) > 0 }

// of are the meanings of a series. Prometheus lists a histogram without the ending of its series, and OpenMetrics a counter
// without _total.
func (m metadata) of(series string) []meaning {
	for _, name := range []string{series, strings.TrimSuffix(series, "_bucket"), strings.TrimSuffix(series, "_total")} {
		if known := m[name]; len(known) > 0 {
			return known
		}
	}
	return nil
}

// targetMetadata is what each target declares one series to be, nil where the server does not say.
func (h *History) targetMetadata(ctx context.Context, e *endpoint, series string) ([]declared, error) {
	key := h.options.Tenant(ctx) + "\xff" + series
	return e.declared.get(ctx, key, evidenceTTL, func(ctx context.Context) ([]declared, error) {
		var all []declared
		err := e.list(ctx, "/api/v1/targets/metadata", url.Values{"metric": {series}}, &all)
		if err != nil && !unsupported(err) {
			return nil, err
		}
		return all, nil
	})
}

// declared is what one target declares.
type declared struct {
	Target struct {
		Instance string `json:"instance"`
		Job      string `json:"job"`
	} `json:"target"`
	meaning
}

// list asks for something that is no query, and decodes the data of the answer.
func (e *endpoint) list(ctx context.Context, path string, form url.Values, into any) error {
	resp, body, err := e.fetch(ctx, path, form)
	if err != nil {
		return err
	}
	var answer struct {
		Status    string          `json:"status"`
		ErrorType string          `json:"errorType"`
		Error     string          `json:"error"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return e.answerError(resp, body, jsonProblem(body, err))
	}
	switch answer.Status {
	case "success":
	case "error":
		return e.refusal(resp, answer.ErrorType, answer.Error)
	default:
		return e.answerError(resp, body, nil)
	}
	if err := json.Unmarshal(answer.Data, into); err != nil {
		return e.answerError(resp, body, jsonProblem(answer.Data, err))
	}
	return nil
}
