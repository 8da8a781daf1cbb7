package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// answer is Grafana's answer to one query.
type answer struct {
	Error  string  `json:"error"`
	Status int     `json:"status"`
	Frames []frame `json:"frames"`
}

type frame struct {
	Schema struct {
		Name   string  `json:"name"`
		Fields []field `json:"fields"`
		Meta   struct {
			Notices []struct {
				Severity string `json:"severity"`
				Text     string `json:"text"`
			} `json:"notices"`
		} `json:"meta"`
	} `json:"schema"`
	Data struct {
		Values [][]any `json:"values"`
	} `json:"data"`
}

type field struct {
	Name   string            `json:"name"`
	Type   string            `json:"type"`
	Labels map[string]string `json:"labels"`
	Config struct {
		Unit string `json:"unit"`
	} `json:"config"`
}

// Client asks one Grafana, or a host that answers as Grafana does.
type Client struct {
	URL        string
	Datasource string // uid
	HTTP       *http.Client
}

// query asks a panel's queries over the last while, as the browser does.
func (c Client) query(ctx context.Context, targets []map[string]any, last time.Duration) (map[string]answer, error) {
	now := time.Now()
	queries := make([]map[string]any, 0, len(targets))
	for _, t := range targets {
		q := map[string]any{"intervalMs": int(last.Milliseconds() / 500), "maxDataPoints": 500}
		for key, value := range t {
			q[key] = value
		}
		q["datasource"] = map[string]string{"type": "warpwatch-gpu-datasource", "uid": c.Datasource}
		queries = append(queries, q)
	}
	body, err := json.Marshal(map[string]any{
		"queries": queries, "from": fmt.Sprint(now.Add(-last).UnixMilli()), "to": fmt.Sprint(now.UnixMilli()),
	})
	if err != nil {
		return nil, err
	}
	var answered struct {
		Results map[string]answer `json:"results"`
		Message string            `json:"message"`
	}
	err = c.do(ctx, http.MethodPost, "/api/ds/query", body, &answered)
	return answered.Results, err
}

// variables asks what a template variable would list.
func (c Client) variables(ctx context.Context, kind string) (int, error) {
	var answered struct {
		Values []struct{ Value, Text string } `json:"values"`
	}
	err := c.do(ctx, http.MethodGet, "/api/datasources/uid/"+c.Datasource+"/resources/variables?kind="+kind, nil, &answered)
	return len(answered.Values), err
}

func (c Client) do(ctx context.Context, method, path string, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 256<<20))
	if err != nil {
		return fmt.Errorf("read answer of %s: %w", path, err)
	}
	// Grafana answers 207 or 4xx when some of the queries failed; each result then has its own error.
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read answer of %s: %s: %s", path, resp.Status, strings.TrimSpace(string(text[:min(len(text), 300)])))
	}
	return nil
}
