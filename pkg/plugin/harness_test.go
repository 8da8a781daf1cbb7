package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

const power = "gpu_power_watts"

// fakePast is a Prometheus that holds a sample on every step for each of its devices.
type fakePast struct {
	histograms []gpu.Histogram // of PromQL
	exemplars  []gpu.Exemplar

	devices  []gpu.Device
	value    float64
	err      error
	notices  []gpu.Notice
	series   []gpu.Series // of a PromQL query
	agents   []history.Agent
	rules    *history.Result // of recording rules; nil when there are none
	status   []history.EndpointStatus
	coverage history.Coverage
	recorded []history.Recorded

	inventory history.Inventory
	events    history.Events
	alerts    history.Alerts
}

func (f *fakePast) Alerts(context.Context, query.Scope, query.Window) history.Alerts { return f.alerts }

func (f *fakePast) Coverage(context.Context, query.Scope) history.Coverage { return f.coverage }

func (f *fakePast) Recorded(context.Context) ([]history.Recorded, []gpu.Notice, error) {
	return f.recorded, f.notices, f.err
}

func (f *fakePast) Metric(_ context.Context, q query.Query, _ catalog.Metric, w query.Window) history.Result {
	result := history.Result{Notices: f.notices, Err: f.err, Step: w.Step, Executed: "metric"}
	for _, d := range f.devices {
		if f.err != nil || !q.Scope.Matches(d) {
			continue
		}
		s := gpu.Series{Device: d}
		start := w.Start()
		if q.Instant {
			start = w.End()
		}
		for t := start; !t.After(w.End()); t = t.Add(w.Step) {
			s.Times, s.Values = append(s.Times, t.UnixMilli()), append(s.Values, f.value)
		}
		result.Series = append(result.Series, s)
	}
	return result
}

func (f *fakePast) Rollup(context.Context, query.Query, catalog.Metric, query.Window) (history.Result, bool) {
	if f.rules == nil {
		return history.Result{}, false
	}
	return *f.rules, len(f.rules.Series) > 0
}

func (f *fakePast) PromQLTable(_ context.Context, q query.Query, w query.Window) history.Result {
	return history.Result{
		Series: f.series, Notices: f.notices, Err: f.err, Step: w.Step, Executed: q.Expr, Histograms: f.histograms, Exemplars: f.exemplars,
	}
}

func (f *fakePast) Devices(context.Context) ([]gpu.Device, []gpu.Notice) { return f.devices, f.notices }

func (f *fakePast) Agents(context.Context) ([]history.Agent, []gpu.Notice) { return f.agents, nil }

func (f *fakePast) Check(context.Context) []history.EndpointStatus { return f.status }

// fleet is agents on a network in memory, and a data source that reads them.
type fleet struct {
	*Datasource
	past    *fakePast
	network *agenttest.Network
	agents  []*agenttest.Agent
	targets []live.Target
}

// newFleet must be called in a bubble. Each agent has two GPUs and samples every second; GPU i of any node draws 100+i watts.
func newFleet(t *testing.T, options ...agenttest.Options) *fleet {
	t.Helper()
	f := &fleet{past: &fakePast{value: 50}, network: agenttest.NewNetwork()}
	for _, o := range options {
		o.Network, o.Cluster = f.network, "north"
		a := agenttest.New(t, o)
		f.use(a)
		n := len(a.Schema().GetColumns())
		a.Start(func(int) []gpu.Reading { return readings(n) })
		for _, d := range agenttest.Devices(o.Node, 2) {
			d.Cluster = "north"
			f.past.devices = append(f.past.devices, d)
		}
	}
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	allow, err := live.ParseAllowList([]string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	f.Datasource = &Datasource{
		settings: settings.Settings{ScrapeInterval: 15 * time.Second, Agents: settings.Agents{Discovery: settings.DiscoverStatic}},
		catalog:  known, history: f.past, handovers: newHandovers(), logger: backend.Logger, now: time.Now,
		live: live.NewHub(live.Config{
			Targets: func(context.Context) ([]live.Target, []gpu.Notice, error) { return f.targets, nil, nil },
			Allow:   allow, DialContext: f.network.DialContext,
		}),
	}
	f.resources = f.newResources()
	t.Cleanup(f.Dispose)
	return f
}

// use lets the data source find an agent.
func (f *fleet) use(a *agenttest.Agent) {
	f.agents = append(f.agents, a)
	f.targets = append(f.targets, a.Target())
}

func readings(n int) []gpu.Reading {
	values := make([]gpu.Reading, n)
	for i := range values {
		values[i] = gpu.Read(float64(100 + i))
	}
	return values
}

// bubble runs a test on a clock of its own, at a whole second.
func bubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		test(t)
	})
}

// ask answers queries of the last length of time. Keys of the map are refIds, values JSON.
func (f *fleet) ask(t *testing.T, length time.Duration, headers map[string]string, queries map[string]string) backend.Responses {
	t.Helper()
	return f.askUntil(t, time.Now(), length, headers, queries)
}

func (f *fleet) askUntil(t *testing.T, to time.Time, length time.Duration, headers, queries map[string]string) backend.Responses {
	t.Helper()
	req := &backend.QueryDataRequest{Headers: headers}
	for ref, raw := range queries {
		req.Queries = append(req.Queries, backend.DataQuery{
			RefID: ref, JSON: json.RawMessage(raw), MaxDataPoints: 1000, TimeRange: backend.TimeRange{From: to.Add(-length), To: to},
			QueryType: queryTypeIn(raw),
		})
	}
	response, err := f.QueryData(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if len(response.Responses) != len(queries) {
		t.Errorf("%d answers for %d queries", len(response.Responses), len(queries))
	}
	return response.Responses
}

// queryTypeIn does what Grafana does: it takes the type out of the JSON when that is readable.
func queryTypeIn(raw string) string {
	var q struct {
		QueryType string `json:"queryType"`
	}
	if json.Unmarshal([]byte(raw), &q) != nil {
		return ""
	}
	return q.QueryType
}

func metricQuery(more ...string) string {
	return `{"queryType":"metric","metric":"` + power + `"` + strings.Join(append([]string{""}, more...), ",") + `}`
}

// frames of the only answer, which must not be an error.
func (f *fleet) frames(t *testing.T, length time.Duration, q string) data.Frames {
	t.Helper()
	answer := f.ask(t, length, nil, map[string]string{"A": q})["A"]
	if answer.Error != nil {
		t.Fatal(answer.Error)
	}
	return answer.Frames
}

// channelOf is the live channel that a frame announces, as a browser would send it back.
func channelOf(t *testing.T, frame *data.Frame) (path string, raw json.RawMessage) {
	t.Helper()
	custom, err := json.Marshal(frame.Meta.Custom)
	if err != nil {
		t.Fatal(err)
	}
	var meta struct {
		Live *struct {
			Path string
			Data any
		}
	}
	if err := json.Unmarshal(custom, &meta); err != nil {
		t.Fatal(err)
	}
	if meta.Live == nil {
		t.Fatal("no channel")
	}
	// A round trip through maps changes the order of keys, as it may in a browser.
	raw, err = json.Marshal(meta.Live.Data)
	if err != nil {
		t.Fatal(err)
	}
	return meta.Live.Path, raw
}

func viewer() backend.PluginContext { return backend.PluginContext{User: &backend.User{Login: "ada"}} }

// packets is what a browser receives of a stream, without the column of the stamp.
type packets struct {
	mu  sync.Mutex
	all []packet
}

type packet struct {
	at     time.Time
	Schema *struct {
		Fields []struct {
			Name   string
			Labels map[string]string
			Config struct{ Interval float64 }
		}
		Meta struct {
			Notices []struct{ Text string }
			Custom  struct{ Refill int64 }
		}
	}
	Data *struct{ Values [][]*float64 }
}

// unstamped checks that the last column is the stamp's, and takes it away.
func (p *packet) unstamped() error {
	if p.Schema != nil {
		last := len(p.Schema.Fields) - 1
		if last < 0 || !strings.HasPrefix(p.Schema.Fields[last].Name, frames.StampPrefix) {
			return fmt.Errorf("no stamp in %v", p.Schema.Fields)
		}
		p.Schema.Fields = p.Schema.Fields[:last]
	}
	if p.Data != nil {
		last := len(p.Data.Values) - 1
		if last < 0 || slices.ContainsFunc(p.Data.Values[last], func(v *float64) bool { return v != nil }) {
			return fmt.Errorf("no stamp in %v", p.Data.Values)
		}
		p.Data.Values = p.Data.Values[:last]
	}
	return nil
}

func (p *packets) Send(sent *backend.StreamPacket) error {
	var received packet
	if err := json.Unmarshal(sent.Data, &received); err != nil {
		return err
	}
	if err := received.unstamped(); err != nil {
		return err
	}
	received.at = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, received)
	return nil
}

func (p *packets) snapshot() []packet {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]packet(nil), p.all...)
}

// rows are the times of all rows, and the values of one column.
func (p *packets) rows(column int) (times []int64, values []*float64) {
	for _, received := range p.snapshot() {
		if received.Data == nil || len(received.Data.Values) == 0 {
			continue
		}
		for i, at := range received.Data.Values[0] {
			times = append(times, int64(*at))
			values = append(values, received.Data.Values[1+column][i])
		}
	}
	return times, values
}

// stream runs a channel until stop is called, which returns what RunStream returned.
func (f *fleet) runStream(t *testing.T, path string, raw json.RawMessage) (received *packets, stop func() error) {
	t.Helper()
	received = &packets{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(received))
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { _ = stop() })
	return received, stop
}

func column(frame *data.Frame, field int) (times []int64, values []*float64) {
	for i := range frame.Rows() {
		times = append(times, frame.Fields[0].At(i).(time.Time).UnixMilli())
		values = append(values, frame.Fields[field].At(i).(*float64))
	}
	return times, values
}

func noticeTexts(all data.Frames) string {
	var texts []string
	for _, frame := range all {
		if frame.Meta != nil {
			for _, n := range frame.Meta.Notices {
				texts = append(texts, fmt.Sprintf("%s: %s", n.Severity, n.Text))
			}
		}
	}
	return strings.Join(texts, "\n")
}

// resource calls a resource and returns its status and body.
func (f *fleet) resource(t *testing.T, method, url string) (int, string) {
	t.Helper()
	return callResource(t, f.Datasource, method, url)
}

func callResource(t *testing.T, d *Datasource, method, url string) (status int, body string) {
	t.Helper()
	path, _, _ := strings.Cut(url, "?")
	err := d.CallResource(t.Context(), &backend.CallResourceRequest{Method: method, Path: path, URL: url},
		backend.CallResourceResponseSenderFunc(func(r *backend.CallResourceResponse) error {
			if r.Status != 0 {
				status = r.Status
			}
			body += string(r.Body)
			if got := http.Header(r.Headers).Get("Content-Type"); got != "application/json" {
				t.Errorf("%s: content type %q", url, got)
			}
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}
