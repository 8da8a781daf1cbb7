package plugin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/httpclient"

	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// served is the answer of a handler, without a network.
func served(handler http.Handler, req *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, req)
	return recorder.Result(), nil
}

// slow is a data source of one server that takes a while for a range, and whose clock is the bubble's.
func slow(t *testing.T, s *sleeping, timeout time.Duration) *Datasource {
	t.Helper()
	f := newFleet(t)
	configured := settings.Endpoint{ID: "a", URL: "http://prometheus:9090", Timeout: timeout, Concurrency: 20}
	client, err := endpointClient(httpclient.Options{}, configured, nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Transport = s // its own time limit stays
	past, err := history.New([]history.Endpoint{endpoint("north", configured, client)}, f.catalog, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(past.Close)
	f.history = past
	return f.Datasource
}

// B21: an endpoint may take as long as it is set to, and one that nobody waits for any more is told so.
func TestCaseTimeouts(t *testing.T) {
	ask := func(ctx context.Context, t *testing.T, d *Datasource, q string) backend.DataResponse {
		t.Helper()
		response, err := d.QueryData(ctx, &backend.QueryDataRequest{Queries: []backend.DataQuery{{
			RefID: "A", JSON: json.RawMessage(q), QueryType: queryTypeIn(q), MaxDataPoints: 100, TimeRange: backend.TimeRange{From: time.Now().Add(-time.Hour), To: time.Now()},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return response.Responses["A"]
	}
	for _, q := range []string{metricQuery(`"source":"history"`), `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE"}`} {
		bubble(t, func(t *testing.T) {
			s := &sleeping{takes: 45 * time.Second}
			began := time.Now()
			answer := ask(t.Context(), t, slow(t, s, time.Minute), q)
			if answer.Error != nil || len(answer.Frames[0].Fields) != 2 || time.Since(began) != s.takes {
				t.Errorf("%v after %s", answer.Error, time.Since(began))
			}
			if s.timeout.Load() != "60s" {
				t.Errorf("the server was given %v", s.timeout.Load())
			}
		})
		bubble(t, func(t *testing.T) {
			s := &sleeping{takes: 75 * time.Second}
			began := time.Now()
			answer := ask(t.Context(), t, slow(t, s, time.Minute), q)
			if answer.Status != 504 && answer.Status != 408 || !strings.Contains(answer.Error.Error(), "no answer within 1m0s") || time.Since(began) != time.Minute {
				t.Errorf("%d %v after %s", answer.Status, answer.Error, time.Since(began))
			}
		})
		bubble(t, func(t *testing.T) {
			s := &sleeping{takes: 45 * time.Second}
			d := slow(t, s, time.Minute)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			answer := ask(ctx, t, d, q)
			time.Sleep(time.Second)
			if lasted := time.Duration(s.cancelled.Load()); answer.Error == nil || lasted == 0 || lasted > 2*time.Second || time.Since(began) > 3*time.Second {
				t.Errorf("%v, the request lasted %s", answer.Error, lasted)
			}
		})
	}
}

// B20: the browser's clock is wrong. The range is the one that was asked for, nothing is drawn outside without a word, and
// the difference is told.
func TestCaseBrowsersClock(t *testing.T) {
	for off, want := range map[time.Duration]string{
		-5 * time.Minute: "The range ended 5m0s before the server's time", 5 * time.Minute: "The range ends 5m0s after the server's time",
		-45 * time.Second: "", 20 * time.Second: "", 40 * time.Second: "check the clock of the browser's machine", 24 * time.Hour: "check the clock of the browser's machine",
	} {
		for _, format := range []string{"time_series", "table"} {
			bubble(t, func(t *testing.T) {
				f := newFleet(t, agenttest.Options{Node: "n1"})
				time.Sleep(20 * time.Minute)
				f.frames(t, time.Minute, metricQuery())
				to := time.Now().Add(off)
				answer := f.askUntil(t, to, 15*time.Minute, nil, map[string]string{"A": metricQuery(`"format":"` + format + `"`)})["A"]
				if answer.Error != nil {
					t.Fatal(answer.Error)
				}
				text := noticeTexts(answer.Frames)
				if format == "table" {
					if off > 30*time.Second && !strings.Contains(text, want) || off == -45*time.Second && text != "" {
						t.Errorf("%s, table: notices %q", off, text)
					}
					return
				}
				if !strings.Contains(text, want) || want == "" && text != "" {
					t.Errorf("%s: notices %q, want %q", off, text, want)
				}
				for _, frame := range answer.Frames {
					times, _ := column(frame, 1)
					for _, at := range times {
						if at < to.Add(-15*time.Minute-15*time.Second).UnixMilli() || at > to.UnixMilli() && off < -time.Minute {
							t.Errorf("%s: a sample of %s outside the range", off, time.UnixMilli(at).Sub(to))
						}
					}
					if frame == answer.Frames[0] && len(times) == 0 && off < 15*time.Minute {
						t.Errorf("%s: nothing", off)
					}
				}
			})
		}
	}
}
