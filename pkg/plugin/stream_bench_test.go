package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

const (
	benchPeriod = 100 * time.Millisecond
	benchGPUs   = 8   // of a node
	longStall   = 100 // samples, more than the hub holds for one subscriber
)

// benchFleet is agents on loopback whose samples the benchmark takes, all at once as real agents do, and a data source.
type benchFleet struct {
	*Datasource
	agents []*agenttest.Agent
	watts  float64
	taken  sync.Map // when the sample of a row was taken, by the row's time
}

func newBenchFleet(b *testing.B, gpus int) *benchFleet {
	b.Helper()
	f := &benchFleet{}
	var targets []live.Target
	for node := 0; gpus > 0; node++ {
		name := fmt.Sprintf("n%03d", node)
		devices := agenttest.Devices(name, min(gpus, benchGPUs))
		gpus -= len(devices)
		a := agenttest.New(b, agenttest.Options{Cluster: "north", Node: name, Devices: devices, Period: benchPeriod, Ring: 100})
		f.agents, targets = append(f.agents, a), append(targets, a.Target())
	}
	known, err := catalog.Load()
	if err != nil {
		b.Fatal(err)
	}
	allow, err := live.ParseAllowList([]string{"127.0.0.1"})
	if err != nil {
		b.Fatal(err)
	}
	f.Datasource = &Datasource{
		settings: settings.Settings{ScrapeInterval: 15 * time.Second}, catalog: known, history: &fakePast{}, handovers: newHandovers(),
		logger: backend.Logger, now: time.Now,
		live: live.NewHub(live.Config{
			Targets: func(context.Context) ([]live.Target, []gpu.Notice, error) { return targets, nil, nil }, Allow: allow,
		}),
	}
	b.Cleanup(f.Dispose)
	return f
}

// tick takes a sample of every GPU, at a time that no other has.
func (f *benchFleet) tick(at time.Time) {
	f.watts++
	f.taken.Store(at.UnixMilli(), time.Now())
	for _, a := range f.agents {
		values := make([]gpu.Reading, len(a.Schema().GetDevices()))
		for i := range values {
			values[i] = gpu.Read(f.watts + float64(i))
		}
		a.TickAt(at, values...)
	}
}

// nextTick waits for the next multiple of the period, when real agents take their samples.
func nextTick() time.Time {
	next := time.Now().Truncate(benchPeriod).Add(benchPeriod)
	time.Sleep(time.Until(next))
	return next
}

// tickNow takes a sample when the next is due, and says of when it is.
func (f *benchFleet) tickNow() time.Time {
	at := nextTick()
	f.tick(at)
	return at
}

// channels are of panels that show a minute, one for each legend.
func (f *benchFleet) channels(b *testing.B, n int, more ...string) (paths []string, raws []json.RawMessage) {
	b.Helper()
	f.answer(b, "warm", more...)
	for range 20 {
		f.tick(nextTick())
	}
	for i := range n {
		path, raw := f.answer(b, strconv.Itoa(i), more...)
		if raw == nil {
			b.Fatal("the panel does not go on live")
		}
		paths, raws = append(paths, path), append(raws, raw)
	}
	return paths, raws
}

func (f *benchFleet) answer(b *testing.B, legend string, more ...string) (path string, raw json.RawMessage) {
	b.Helper()
	got, err := f.Datasource.answer(b.Context(), backend.DataQuery{
		RefID: "A", JSON: json.RawMessage(metricQuery(append(more, `"legend":"`+legend+`"`)...)), MaxDataPoints: 1000,
		TimeRange: backend.TimeRange{From: time.Now().Add(-time.Minute), To: time.Now()},
	}, false)
	if err != nil {
		return "", nil // before there are samples
	}
	custom, _ := got[0].Meta.Custom.(map[string]any)
	meta, _ := custom["live"].(liveMeta)
	return meta.Path, meta.Data
}

// reader takes packets, and notes how long after its sample each row came. While it is held it takes none.
type reader struct {
	fleet  *benchFleet
	mu     sync.Mutex
	late   []time.Duration
	newest time.Time     // row
	packs  int           // packets with rows, so far
	came   chan struct{} // has an entry when a row came
	hold   sync.RWMutex
}

func newReader(f *benchFleet) *reader { return &reader{fleet: f, came: make(chan struct{}, 1)} }

func (r *reader) Send(p *backend.StreamPacket) error {
	now := time.Now()
	r.hold.RLock()
	defer r.hold.RUnlock()
	// Of many rows the first column are the times.
	_, list, ok := bytes.Cut(p.Data, []byte(`"values":[[`))
	list, _, _ = bytes.Cut(list, []byte("]"))
	if !ok || len(list) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packs++
	for text := range bytes.SplitSeq(list, []byte(",")) {
		ms, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			return fmt.Errorf("read the times of a packet: %w", err)
		}
		r.newest = time.UnixMilli(ms)
		if taken, ok := r.fleet.taken.Load(ms); ok {
			r.late = append(r.late, now.Sub(taken.(time.Time)))
		}
	}
	select {
	case r.came <- struct{}{}:
	default:
	}
	return nil
}

// take is what was noted since the last call.
func (r *reader) take() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	late := r.late
	r.late = nil
	return late
}

func (r *reader) at() (newest time.Time, packs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest, r.packs
}

// wait waits until the reader has a row.
func (r *reader) wait(b *testing.B, row time.Time) (packs int) {
	b.Helper()
	timeout := time.After(10 * time.Second)
	for {
		newest, packs := r.at()
		if !newest.Before(row) {
			return packs
		}
		select {
		case <-r.came:
		case <-timeout:
			b.Fatalf("the reader has %s, the newest is %s", newest, row)
		}
	}
}

// follow runs a stream until the benchmark is over.
func (f *benchFleet) follow(b *testing.B, path string, raw json.RawMessage, r *reader) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- f.RunStream(ctx, &backend.RunStreamRequest{PluginContext: viewer(), Path: path, Data: raw}, backend.NewStreamSender(r))
	}()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("a stream ended with %v", err)
		}
	})
}

func percentileOf(durations []time.Duration, p int) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(durations))
	return sorted[(len(sorted)*p+99)/100-1]
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// BenchmarkStreamDelay is how long a sample is on its way from the agent to Grafana: sent over loopback, decoded, made into
// the row of a panel and handed to the sender of RunStream, at 10 Hz. The agents of all nodes take their samples at the same
// time, and a row is complete with the last of them. Panels of more than 128 lines, like that of 640 GPUs, get their rows four
// times a second, several at once; with a line for each node they get them as they come.
//
// An operation is one sampling period. p99-share is the 99th percentile of the delay as a share of it.
func BenchmarkStreamDelay(b *testing.B) {
	delay := func(name string, gpus int, more ...string) {
		b.Run(name, func(b *testing.B) {
			f := newBenchFleet(b, gpus)
			paths, raws := f.channels(b, 1, more...)
			r := newReader(f)
			f.follow(b, paths[0], raws[0], r)
			for range 10 {
				f.tick(nextTick())
			}
			r.take()
			for b.Loop() {
				f.tick(nextTick())
			}
			time.Sleep(5 * benchPeriod)
			late := r.take()
			b.ReportMetric(0, "ns/op")
			if len(late) < b.N-10 {
				b.Fatalf("%d rows of %d samples", len(late), b.N)
			}
			p99 := percentileOf(late, 99)
			b.ReportMetric(float64(p99)/float64(benchPeriod), "p99-share")
			b.ReportMetric(inMilliseconds(p99), "p99-ms")
			b.ReportMetric(inMilliseconds(percentileOf(late, 90)), "p90-ms")
			b.ReportMetric(inMilliseconds(percentileOf(late, 50)), "p50-ms")
		})
	}
	for _, gpus := range []int{6, 64, 640} {
		delay(fmt.Sprintf("gpus-%d", gpus), gpus)
	}
	for _, gpus := range []int{64, 640} {
		delay(fmt.Sprintf("gpus-%d-by-node", gpus), gpus, `"aggregateBy":"node"`)
	}
}

// BenchmarkBackpressure is what 19 readers of live panels feel of a 20th that takes no packet: their 99th percentile of the
// delay while it is stalled, as a multiple of the one while it reads, in turns so that both have the same machine. It must still
// be connected afterwards, and have the newest row with few packets: the one that was on its way, and one with what there is by
// then. connected is 1 for that, and packets-to-newest how many it took after the longest time without any.
//
// An operation is one sampling period, and a turn is of 10.
func BenchmarkBackpressure(b *testing.B) {
	for _, readers := range []int{2, 20, 200} {
		b.Run(fmt.Sprintf("readers-%d", readers), func(b *testing.B) {
			f := newBenchFleet(b, benchGPUs)
			paths, raws := f.channels(b, readers)
			all := make([]*reader, readers)
			for i := range all {
				all[i] = newReader(f)
				f.follow(b, paths[i], raws[i], all[i])
			}
			for range 10 {
				f.tick(nextTick())
			}
			stalled, others := all[0], all[1:]
			var with, without []time.Duration
			const turn = 10
			n, held := 0, false
			end := func() {
				for _, r := range others {
					if held {
						with = append(with, r.take()...)
					} else {
						without = append(without, r.take()...)
					}
				}
				if held {
					stalled.hold.Unlock()
				}
			}
			for b.Loop() {
				if n%turn == 0 {
					if n > 0 {
						end()
					}
					if held = n/turn%2 == 1; held {
						stalled.hold.Lock()
					}
				}
				f.tickNow()
				n++
			}
			end()
			stalled.wait(b, f.tickNow())
			stalled.hold.Lock()
			_, before := stalled.at()
			var last time.Time
			for range longStall {
				last = f.tickNow()
			}
			time.Sleep(2 * benchPeriod)
			stalled.hold.Unlock()
			packs := stalled.wait(b, last)
			b.ReportMetric(1, "connected")
			b.ReportMetric(float64(packs-before), "packets-to-newest")
			b.ReportMetric(0, "ns/op")
			if len(with) == 0 || len(without) == 0 {
				return
			}
			slow, free := percentileOf(with, 99), percentileOf(without, 99)
			b.ReportMetric(float64(slow)/float64(free), "p99-ratio")
			b.ReportMetric(inMilliseconds(slow), "p99-stalled-ms")
			b.ReportMetric(inMilliseconds(free), "p99-free-ms")
		})
	}
}
