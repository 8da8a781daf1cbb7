package plugin

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// A query that cannot be read says what to change, and only itself fails.
func TestQueriesFailAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.past.series = []gpu.Series{{Labels: map[string]string{"node": `ru"n`}, Times: []int64{1000}, Values: []float64{1}}}
		bad := map[string]struct{ json, message string }{
			"type":   {`{"queryType":"inventroy"}`, `"inventroy" is not known`},
			"json":   {`{"queryType":"metric","metric":`, "JSON ends too early"},
			"list":   {`[]`, "must be a JSON object"},
			"metric": {`{"queryType":"metric","metric":"gpu_powr_watts"}`, `did you mean "gpu_power_watts"`},
			"regex":  {metricQuery(`"nodes":["/(/"]`), `field "nodes"`},
			"empty":  {`{"queryType":"promql","expr":" "}`, `field "expr"`},
			"sum":    {`{"queryType":"metric","metric":"gpu_temperature_celsius","aggregateBy":"node","aggregation":"sum"}`, `field "aggregation"`},
		}
		queries := map[string]string{"good": metricQuery(), "quotes": `{"queryType":"promql","expr":"x{job=\"run \\\"final\\\"\"}"}`}
		for name, q := range bad {
			queries[name] = q.json
		}
		got := f.ask(t, 5*time.Minute, nil, queries)
		for name, q := range bad {
			answer := got[name]
			if answer.Error == nil || !strings.Contains(answer.Error.Error(), q.message) {
				t.Errorf("%s: %v, want %q", name, answer.Error, q.message)
			}
			if answer.Status != backend.StatusBadRequest || answer.ErrorSource != backend.ErrorSourceDownstream {
				t.Errorf("%s: status %d, source %s", name, answer.Status, answer.ErrorSource)
			}
		}
		if got["good"].Error != nil || len(got["good"].Frames) == 0 || got["quotes"].Error != nil || len(got["quotes"].Frames) != 1 {
			t.Errorf("the good ones: %v, %v", got["good"].Error, got["quotes"].Error)
		}
	})
}

// Settings that cannot be used are no reason to refuse the data source: every answer says what to change.
func TestUnusableSettings(t *testing.T) {
	for name, stored := range map[string]backend.DataSourceInstanceSettings{
		"not JSON":   {JSONData: json.RawMessage(`{"clusters":[`)},
		"no scheme":  {JSONData: json.RawMessage(`{"clusters":[{"name":"north","endpoints":[{"id":"a","url":"prom:9090"}]}]}`)},
		"no address": {},
	} {
		t.Run(name, func(t *testing.T) {
			instance, err := NewDatasource(t.Context(), stored)
			if err != nil {
				t.Fatal(err)
			}
			f := &fleet{Datasource: instance.(*Datasource)}
			defer f.Dispose()
			for ref, answer := range f.ask(t, time.Hour, nil, map[string]string{"A": metricQuery(), "B": `{"queryType":"promql","expr":"up"}`}) {
				if answer.Error == nil || answer.Status != backend.StatusBadRequest || answer.ErrorSource != backend.ErrorSourceDownstream ||
					!strings.HasPrefix(answer.Error.Error(), "the data source's settings cannot be used: ") {
					t.Errorf("%s: %v (%d, %s)", ref, answer.Error, answer.Status, answer.ErrorSource)
				}
			}
			health, err := f.CheckHealth(t.Context(), &backend.CheckHealthRequest{})
			if err != nil || health.Status != backend.HealthStatusError || !strings.HasPrefix(health.Message, "The settings cannot be used: ") {
				t.Errorf("health %v, %v", health, err)
			}
			if status, body := f.resource(t, http.MethodGet, "variables?kind=node"); status != http.StatusBadRequest || !strings.Contains(body, "settings") {
				t.Errorf("variables: %d %s", status, body)
			}
			if status, _ := f.resource(t, http.MethodGet, "metrics"); status != http.StatusOK {
				t.Errorf("metrics: %d", status)
			}
			response, err := f.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: viewer(), Path: "q/0"})
			if err != nil || response.Status != backend.SubscribeStreamStatusNotFound {
				t.Errorf("subscription: %v, %v", response, err)
			}
		})
	}
}

// What a server did wrong keeps its meaning (grafana/grafana#48385).
func TestServerErrorsKeepTheirStatus(t *testing.T) {
	for _, test := range []struct {
		err  history.Error
		want backend.Status
	}{
		{history.Error{Kind: history.KindThrottled, Status: 429}, http.StatusTooManyRequests},
		{history.Error{Kind: history.KindUnavailable, Status: 503}, http.StatusServiceUnavailable},
		{history.Error{Kind: history.KindUnavailable}, http.StatusBadGateway},
		{history.Error{Kind: history.KindBadQuery, Status: 422}, http.StatusBadRequest},
		{history.Error{Kind: history.KindTimeout}, http.StatusGatewayTimeout},
		{history.Error{Kind: history.KindUnauthorized, Status: 401}, http.StatusUnauthorized},
		{history.Error{Kind: history.KindUnauthorized, Status: 403}, http.StatusForbidden},
		{history.Error{Kind: history.KindNotPrometheus, Status: 200}, http.StatusBadGateway},
		{history.Error{Kind: history.KindIncomplete, Status: 200}, http.StatusBadGateway},
		{history.Error{Kind: history.KindUnreachable}, http.StatusBadGateway},
		{history.Error{Kind: history.KindCanceled}, 499},
	} {
		bubble(t, func(t *testing.T) {
			f := newFleet(t)
			f.past.err = &test.err
			answer := f.ask(t, time.Hour, nil, map[string]string{"A": `{"queryType":"promql","expr":"up"}`})["A"]
			if answer.Status != test.want || answer.ErrorSource != backend.ErrorSourceDownstream {
				t.Errorf("%s %d: status %d, source %s", test.err.Kind, test.err.Status, answer.Status, answer.ErrorSource)
			}
		})
	}
}

// A panel that was closed ends its queries.
func TestQueryEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.agents[0].Answer(agenttest.Silent)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		response, err := f.QueryData(ctx, &backend.QueryDataRequest{Queries: []backend.DataQuery{{
			RefID: "A", QueryType: "metric", JSON: json.RawMessage(metricQuery()), TimeRange: backend.TimeRange{From: began.Add(-time.Hour), To: began},
		}}})
		if err != nil || response.Responses["A"].Status != backend.StatusTimeout || time.Since(began) > 1100*time.Millisecond {
			t.Errorf("%v, %v after %s", response, err, time.Since(began))
		}
	})
}

func TestPromQLShapes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.past.series = []gpu.Series{
			{Labels: map[string]string{"__name__": "up", "job": "dcgm"}, Times: []int64{1000, 2000}, Values: []float64{1, 0}},
			{Labels: map[string]string{"__name__": "up", "job": "node"}, Times: []int64{1000}, Values: []float64{1}},
		}
		for q, want := range map[string]data.FrameType{
			`{"queryType":"promql","expr":"up"}`:                                    data.FrameTypeTimeSeriesMulti,
			`{"queryType":"promql","expr":"up","instant":true}`:                     data.FrameTypeNumericLong,
			`{"queryType":"promql","expr":"up","format":"table"}`:                   data.FrameTypeTimeSeriesLong,
			`{"queryType":"promql","expr":"up","format":"table","instant":true}`:    data.FrameTypeNumericLong,
			`{"queryType":"promql","expr":"up","legend":"{{job}}","instant":false}`: data.FrameTypeTimeSeriesMulti,
		} {
			got := f.frames(t, time.Hour, q)
			if got[0].Meta.Type != want || got[0].Meta.ExecutedQueryString != "up" {
				t.Errorf("%s: %s, executed %q", q, got[0].Meta.Type, got[0].Meta.ExecutedQueryString)
			}
			if strings.Contains(q, "legend") && got[1].Fields[1].Config.DisplayNameFromDS != "node" {
				t.Errorf("legend %q", got[1].Fields[1].Config.DisplayNameFromDS)
			}
		}
		f.past.series = nil
		if got := f.frames(t, time.Hour, `{"queryType":"promql","expr":"up"}`); len(got) != 1 || got[0].Meta.Type != data.FrameTypeTimeSeriesMulti {
			t.Errorf("an empty answer has %d frames", len(got))
		}
	})
}

// The settings decide how much users are told.
func TestNoticeLevel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.past.notices = []gpu.Notice{{Severity: gpu.Info, Text: "i"}, {Severity: gpu.Warning, Text: "w"}, {Severity: gpu.Warning, Text: "w"}, {Severity: gpu.Error, Text: "e"}}
		for level, want := range map[gpu.Severity]string{gpu.Info: "info: i\nwarning: w\nerror: e", gpu.Warning: "warning: w\nerror: e", gpu.Error: "error: e"} {
			f.settings.NoticeLevel = level
			if got := noticeTexts(f.frames(t, time.Hour, `{"queryType":"promql","expr":"up"}`)); got != want {
				t.Errorf("level %d: %q", level, got)
			}
		}
	})
}
