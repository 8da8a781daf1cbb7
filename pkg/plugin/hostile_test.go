package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// forged is a channel that somebody wrote: its path is the right one for what it says.
func forged(t testing.TB, change func(*channel)) (path string, raw []byte) {
	t.Helper()
	c := sampleChannel(t)
	change(&c)
	raw, path, err := c.plain()
	if err != nil {
		t.Fatal(err)
	}
	return path, raw
}

// Everybody who may see the data source can write a channel. What no answer would offer is refused, and costs nothing.
func TestForgedChannelsAreRefused(t *testing.T) {
	asked := func(q string) func(*channel) {
		return func(c *channel) { c.Query = json.RawMessage(q) }
	}
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(2 * time.Second)
		for name, change := range map[string]func(*channel){
			"a step of nothing":           func(c *channel) { c.StepMs = 0 },
			"a step before now":           func(c *channel) { c.StepMs = -1000 },
			"a step that overflows":       func(c *channel) { c.StepMs = 36893488147419103 },
			"a period that overflows":     func(c *channel) { c.PeriodMs = 1 << 62 },
			"a period before now":         func(c *channel) { c.PeriodMs = -1 },
			"a counter that overflows":    func(c *channel) { c.MeasuredMs = 1 << 62 },
			"an interval that overflows":  func(c *channel) { c.IntervalMs = 1 << 62 },
			"a range that overflows":      func(c *channel) { c.RangeMs = 1 << 62 },
			"a range before now":          func(c *channel) { c.RangeMs = -1 },
			"more columns than are shown": func(c *channel) { c.Groups = make([]channelGroup, 1001) },
			"no columns":                  func(c *channel) { c.Nodes = nil },
			"an unknown spread":           func(c *channel) { c.Spread = "all" },
			"a heatmap of too many bins": func(c *channel) {
				c.Spread, c.Nodes, c.Edges = query.ReduceHeatmap, nil, make([]float64, 100_000)
			},
			"PromQL":                 asked(`{"queryType":"promql","schemaVersion":1,"expr":"up"}`),
			"coverage":               asked(`{"queryType":"coverage","schemaVersion":1}`),
			"a judgement":            asked(`{"queryType":"bottleneck","schemaVersion":1}`),
			"another judgement":      asked(`{"queryType":"efficiency","schemaVersion":1}`),
			"incidents":              asked(`{"queryType":"health","schemaVersion":1,"options":{"show":"incidents"}}`),
			"options that are none":  asked(`{"queryType":"health","schemaVersion":1,"options":{"colour":"red"}}`),
			"history alone":          asked(`{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","source":"history"}`),
			"what shall not go on":   asked(`{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","live":false}`),
			"tables that shall not":  asked(`{"queryType":"processes","schemaVersion":1,"live":false}`),
			"no metric there is":     asked(`{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_horses"}`),
			"owners of devices":      asked(`{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","aggregateBy":"namespace"}`),
			"a quantile of devices":  asked(`{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","aggregateBy":"node","aggregation":"p95"}`),
			"a broken pattern":       asked(`{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","nodes":["/(/"]}`),
			"a query that is a list": asked(`[]`),
		} {
			path, raw := forged(t, change)
			f.refuses(t, name, path, raw)
		}
		path, raw := forged(t, func(*channel) {})
		for name, sent := range map[string]string{
			"a great deal":         strings.Replace(string(raw), `"query"`, strings.Repeat(" ", maxSentBytes)+`"query"`, 1),
			"depth":                `{"query":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
			"depth where it fits":  `{"query":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + `}`,
			"a text":               `"q"`,
			"no end":               `{"query":{`,
			"no text":              "\xff\xfe\x00",
			"packed nodes of none": `{"query":{},"packed":"????"}`,
		} {
			f.refuses(t, name, path, []byte(sent))
		}
	})
}

// refuses checks that nobody is let in, and that a stream that was begun anyhow sends nothing and is not begun again and again.
func (f *fleet) refuses(t *testing.T, name, path string, raw []byte) {
	t.Helper()
	response, err := f.SubscribeStream(t.Context(), &backend.SubscribeStreamRequest{PluginContext: viewer(), Path: path, Data: raw})
	if err != nil || response.Status == backend.SubscribeStreamStatusOK || response.InitialData != nil {
		t.Errorf("%s: let in with %v", name, err)
	}
	sent := &packets{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	if err := f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(sent)); err != nil ||
		time.Since(began) < time.Minute || len(sent.all) > 0 {
		t.Errorf("%s: %d packets, ended after %s with %v", name, len(sent.all), time.Since(began), err)
	}
}

// A packed channel that unpacks to very much is refused before anything is made of it.
func TestPackedChannelsAreBounded(t *testing.T) {
	c := sampleChannel(t)
	for i := range 20_000 {
		c.Nodes = append(c.Nodes, channelNode{Node: "n", Devices: []channelDevice{{Index: i}}})
	}
	raw, path, err := c.encode()
	if err != nil || len(raw) > maxSentBytes {
		t.Fatal(len(raw), err)
	}
	if _, _, err = parseChannel(path, raw); err == nil {
		t.Error("20,000 columns are accepted")
	}
	c.Nodes = []channelNode{{Node: strings.Repeat("n", 3*maxUnpacked)}}
	if c, err = c.pack(); err != nil {
		t.Fatal(err)
	}
	if raw, err = plainJSON(c); err != nil || len(raw) > maxChannelBytes {
		t.Fatal(len(raw), err)
	}
	if _, _, err = parseChannel(path, raw); err == nil || !strings.Contains(err.Error(), errPacked.Error()) {
		t.Errorf("%v", err)
	}
}

// Channels that say odd things but may be streamed are, without an end.
func TestOddChannelsRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(2 * time.Second)
		for name, change := range map[string]func(*channel){
			"a short step":          func(c *channel) { c.StepMs = 1 },
			"a long step":           func(c *channel) { c.StepMs = maxGrid.Milliseconds() },
			"no period":             func(c *channel) { c.PeriodMs, c.IntervalMs, c.RangeMs = 0, 0, 0 },
			"a long period":         func(c *channel) { c.PeriodMs, c.MeasuredMs = maxGrid.Milliseconds(), maxGrid.Milliseconds() },
			"columns without names": func(c *channel) { c.Nodes = []channelNode{{Devices: make([]channelDevice, 3)}} },
			"a column twice":        func(c *channel) { c.Nodes = append(c.Nodes, c.Nodes...) },
			"groups of none":        func(c *channel) { c.Groups = []channelGroup{nil, {}} },
			"groups of lines":       func(c *channel) { c.Nodes, c.Groups = nil, []channelGroup{{"node": "n1"}} },
			"lines of groups": func(c *channel) {
				c.Query = json.RawMessage(`{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","aggregation":"max","aggregateBy":"node"}`)
			},
			"an instant": func(c *channel) {
				c.Query = json.RawMessage(`{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","instant":true}`)
			},
			"a matrix of columns": func(c *channel) {
				c.Query = json.RawMessage(`{"queryType":"metric","schemaVersion":1,"metric":"gpu_power_watts","format":"matrix"}`)
			},
			"an inventory of no time": func(c *channel) {
				c.Query, c.RangeMs = json.RawMessage(`{"queryType":"inventory","schemaVersion":1}`), 0
			},
			"bands": func(c *channel) { c.Nodes, c.Spread = nil, query.ReduceBands },
		} {
			c := sampleChannel(t)
			change(&c)
			q, err := query.Parse(c.Query, "")
			if err != nil {
				t.Fatal(name, err)
			}
			c.Query = q.Canonical()
			raw, path, err := c.plain()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err = f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(silentSender{}))
			if err != nil || ctx.Err() == nil {
				t.Errorf("%s: ended with %v", name, err)
			}
			cancel()
		}
	})
}

// silentSender takes everything that is JSON.
type silentSender struct{}

func (silentSender) Send(p *backend.StreamPacket) error {
	if !json.Valid(p.Data) {
		return fmt.Errorf("no JSON: %s", p.Data)
	}
	return nil
}

// Who has no part in a live channel gets none: ranges that are over, alert rules, expressions.
func TestWhatIsNotLiveHasNoChannel(t *testing.T) {
	queries := map[string]string{
		"metric": metricQuery(), "by node": metricQuery(`"aggregateBy":"node"`), "matrix": metricQuery(matrixQuery),
		"bands": metricQuery(`"reduce":{"mode":"bands"}`), "heatmap": metricQuery(`"reduce":{"mode":"heatmap"}`),
		"highest": metricQuery(`"reduce":{"mode":"topk","k":1}`), "inventory": `{"queryType":"inventory"}`,
		"processes": `{"queryType":"processes"}`, "events": `{"queryType":"events"}`,
	}
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		time.Sleep(30 * time.Minute)
		channels := func(length, ago time.Duration, headers map[string]string) (with []string) {
			for name, answer := range f.askUntil(t, time.Now().Add(-ago), length, headers, queries) {
				for _, frame := range answer.Frames {
					custom, err := json.Marshal(frame.Meta)
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(string(custom), `"live":`) || frame.Meta != nil && frame.Meta.Channel != "" {
						with = append(with, name)
					}
				}
			}
			return with
		}
		if got := channels(5*time.Minute, 0, nil); len(got) != len(queries) {
			t.Errorf("of a panel that ends now only %v go on", got)
		}
		for name, got := range map[string][]string{
			"a range of an hour ago": channels(5*time.Minute, time.Hour, nil), "one of two minutes ago": channels(5*time.Minute, 2*time.Minute, nil),
			"an alert rule":              channels(5*time.Minute, 0, map[string]string{"FromAlert": "true"}),
			"an expression":              channels(5*time.Minute, 0, map[string]string{"http_X-Grafana-From-Expr": "true"}),
			"a rule, as HTTP writes it":  channels(5*time.Minute, 0, map[string]string{"http_Fromalert": "true"}),
			"an expression in the clear": channels(5*time.Minute, 0, map[string]string{"X-Grafana-From-Expr": "true"}),
		} {
			if len(got) > 0 {
				t.Errorf("%s: %v have a channel", name, got)
			}
		}
	})
}
