package history

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"github.com/prometheus/common/model"
)

// ourNames matches the series the catalogue may know; the exact choice is made here.
const ourNames = `{__name__=~"(?i:dcgm_.+|nvidia_smi_.+|gpu_.+|warpwatch_agent_info)"}`

// vocabulary is what a server has of what the catalogue knows.
type vocabulary struct {
	series map[string]bool // names of series; nil when the server does not say
	labels []string        // of these series; the catalogue's plain ones when the server does not say
}

// has reports whether the series may exist on the server.
func (v vocabulary) has(series string) bool { return v.series == nil || v.series[series] }

// words asks a server, at most once a minute, which names of series and labels it has. A server that cannot say is
// treated as one that may have all; one that cannot be reached is an error.
func (h *History) words(ctx context.Context, e *endpoint) (vocabulary, error) {
	return e.vocabulary.get(ctx, h.options.Tenant(ctx), vocabularyTTL, func(ctx context.Context) (vocabulary, error) {
		v := vocabulary{}
		names, err := e.names(ctx, "/api/v1/label/__name__/values")
		switch {
		case err == nil:
			v.series = make(map[string]bool, len(names))
			for _, name := range names {
				v.series[name] = true
			}
		case !unsupported(err):
			return v, err
		}
		if v.series != nil && len(v.series) == 0 {
			return v, nil
		}
		labels, err := e.names(ctx, "/api/v1/labels")
		if err != nil && !unsupported(err) {
			return v, err
		}
		for _, name := range h.catalog.IdentityLabels() {
			// Names that need quotes are asked for only where they exist: older servers do not know the quotes.
			if slices.Contains(labels, name) || err != nil && model.LegacyValidation.IsValidLabelName(name) {
				v.labels = append(v.labels, name)
			}
		}
		return v, nil
	})
}

// unsupported reports whether a server does not offer an endpoint, or not to us, though it may well answer queries.
func unsupported(err error) bool {
	var failed *Error
	return errors.As(err, &failed) && (failed.Kind == KindNotPrometheus && failed.Status == 404 || failed.Kind == KindBadQuery || failed.Status == 403)
}

// names asks for a list of names.
func (e *endpoint) names(ctx context.Context, path string) ([]string, error) {
	resp, body, err := e.fetch(ctx, path, url.Values{"match[]": {ourNames}})
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
		return nil, e.refusal(resp.StatusCode, list.ErrorType, list.Error)
	}
	return nil, e.answerError(resp, body, nil)
}

// jsonProblem is errTruncated for a text that ended too early.
func jsonProblem(body []byte, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Offset >= int64(len(body)) {
		return errTruncated
	}
	return err
}
