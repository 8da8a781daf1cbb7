package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	atOnce     = 6 // requests of a browser to one host
	largest    = 64 << 20
	datapoints = 500
)

// viewer is one browser with panels open.
type viewer struct {
	url     string
	http    *http.Client
	tally   *tally
	panels  []panel
	last    time.Duration // of the past that the panels show
	refresh time.Duration
	first   time.Duration // until it begins
}

// answered is what of an answer matters here.
type answered struct {
	Results map[string]struct {
		Error  string `json:"error"`
		Frames []struct {
			Schema struct {
				Meta struct {
					Custom struct {
						Live *channel `json:"live"`
					} `json:"custom"`
				} `json:"meta"`
			} `json:"schema"`
		} `json:"frames"`
	} `json:"results"`
	Message string `json:"message"`
}

// channel is where a frame goes on.
type channel struct {
	Path string          `json:"path"`
	Data json.RawMessage `json:"data"`
}

// look asks for all panels at the beginning and every refresh after it, as long as ctx lets it. A round that takes longer than that
// delays the next, as a dashboard's does.
func (v *viewer) look(ctx context.Context) {
	wait := time.NewTimer(v.first)
	defer wait.Stop()
	var live *listener
	defer func() {
		if live != nil {
			live.close()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		began := time.Now()
		if live == nil {
			var err error
			if live, err = listen(ctx, v.url, v.tally); err != nil {
				v.tally.fail(ctx, "connect to the live server: "+err.Error())
				live = nil
			}
		}
		found := v.round(ctx)
		if live != nil {
			live.follow(ctx, found)
		}
		wait.Reset(max(0, v.refresh-time.Since(began)))
	}
}

// round asks for every panel, and returns where they go on.
func (v *viewer) round(ctx context.Context) map[string]channel {
	found := map[string]channel{}
	var mu sync.Mutex
	var all sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for _, p := range v.panels {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			for _, c := range v.ask(ctx, p) {
				mu.Lock()
				found[c.Path] = c
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return found
}

// ask asks for one panel, and tells how it went.
func (v *viewer) ask(ctx context.Context, p panel) (found []channel) {
	now := time.Now()
	queries := make([]map[string]any, 0, len(p.queries))
	for _, target := range p.queries {
		q := map[string]any{"intervalMs": v.last.Milliseconds() / datapoints, "maxDataPoints": datapoints}
		for key, value := range target {
			q[key] = value
		}
		q["datasource"] = map[string]string{"type": "warpwatch-gpu-datasource", "uid": datasourceUID}
		queries = append(queries, q)
	}
	body, err := json.Marshal(map[string]any{
		"queries": queries, "from": fmt.Sprint(now.Add(-v.last).UnixMilli()), "to": fmt.Sprint(now.UnixMilli()),
	})
	if err != nil {
		v.tally.fail(ctx, err.Error())
		return nil
	}
	status, text, err := v.post(ctx, body)
	var got answered
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	switch {
	case err != nil:
		v.tally.fail(ctx, p.name+": "+err.Error())
		return nil
	case len(got.Results) == 0:
		v.tally.fail(ctx, fmt.Sprintf("%s: HTTP %d: %s", p.name, status, got.Message))
		return nil
	}
	v.tally.took(time.Since(now))
	for _, result := range got.Results {
		if result.Error != "" {
			v.tally.fail(ctx, p.name+": "+result.Error)
		}
		for _, f := range result.Frames {
			if c := f.Schema.Meta.Custom.Live; c != nil && c.Path != "" {
				found = append(found, *c)
			}
		}
	}
	return found
}

func (v *viewer) post(ctx context.Context, body []byte) (status int, text []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, v.url+"/api/ds/query", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := v.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, largest))
	return resp.StatusCode, text, err
}
