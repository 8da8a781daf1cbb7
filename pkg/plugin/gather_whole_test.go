package plugin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// every15s are samples from a quarter of an hour before the data was recorded on, for half an hour: value by seconds since then.
func every15s(value func(second int) float64) []promtest.Point {
	var points []promtest.Point
	for s := -900; s <= 900; s += 15 {
		if v := value(s); !math.IsNaN(v) {
			points = append(points, promtest.Point{Time: recordedAt.Add(time.Duration(s) * time.Second).UnixMilli(), Value: v})
		}
	}
	return points
}

// dcgm adds a series of dcgm-exporter of GPU i of a node. Labels are pairs.
func dcgm(s *promtest.Store, name, node string, i int, value func(second int) float64, labels ...string) {
	all := map[string]string{
		"__name__": name, "gpu": fmt.Sprint(i), "UUID": fmt.Sprintf("GPU-%s-%d", node, i), "modelName": "NVIDIA H100 80GB HBM3", "Hostname": node,
		"instance": node + ":9400", "job": "dcgm",
	}
	for j := 0; j < len(labels); j += 2 {
		all[labels[j]] = labels[j+1]
	}
	s.Add(all, every15s(value)...)
}

func steady(v float64) func(int) float64 { return func(int) float64 { return v } }

// gatheredOf gathers for a query of the ten minutes after the data was recorded.
func gatheredOf(t *testing.T, d *Datasource, raw string, want wanted) *gathered {
	t.Helper()
	q, err := query.Parse([]byte(raw), "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := d.gather(t.Context(), request{query: q, now: d.now(), window: query.WindowOptions{
		From: d.now().Add(-10 * time.Minute), To: d.now(), MaxDataPoints: 1000, MinStep: q.MinStep, ScrapeInterval: 15 * time.Second,
	}}, want)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func valuesOf(t *testing.T, g *gathered, name string, f insight.Field) []float64 {
	t.Helper()
	i := slices.IndexFunc(g.devices.Subjects, func(s insight.Subject) bool { return s.Name() == name })
	if i < 0 {
		var names []string
		for _, s := range g.devices.Subjects {
			names = append(names, s.Name())
		}
		t.Fatalf("no %s among %q", name, names)
	}
	return g.devices.Values(f, i)
}

func field(metric string, of ...insight.Of) insight.Field {
	f := insight.Field{Metric: metric}
	if len(of) > 0 {
		f.Of = of[0]
	}
	return f
}

// A step has the mean, the extremes, the rise and the bits of all its samples, and begins where it says.
func TestGatherFromPrometheus(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		// A spike in the first sample of the minute that begins 60 s after the start.
		dcgm(s, "DCGM_FI_DEV_POWER_USAGE", "n1", 0, func(second int) float64 {
			if second == 75 {
				return 700
			}
			return 300
		})
		dcgm(s, "DCGM_FI_DEV_POWER_USAGE", "n1", 1, steady(100))
		dcgm(s, "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "n1", 0, func(second int) float64 {
			switch {
			case second <= 60:
				return 5
			case second <= 240:
				return 8
			}
			return 1 // it was reset
		})
		dcgm(s, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "n1", 0, func(second int) float64 {
			switch second {
			case 75:
				return 0x4
			case 105:
				return 0x40
			}
			return 0
		})
	})
	replay, reasons := "gpu_pcie_replay_errors_total", "gpu_clock_event_reasons"
	g := gatheredOf(t, d, `{"queryType":"health","minStep":"1m"}`, wanted{fields: []insight.Field{
		field(power), field(power, insight.Max), field(power, insight.Min), field(replay, insight.Rise), field(replay, insight.Total),
		field(reasons, insight.AnyBits), field(reasons), field("gpu_sm_active_ratio"), field("no_such_metric"),
	}})
	if n := len(g.devices.Times); n != 10 || g.devices.Times[0] != recordedAt.UnixMilli() || g.devices.Step != time.Minute {
		t.Fatalf("%d steps of %s from %d", n, g.devices.Step, g.devices.Times[0])
	}
	for _, want := range []struct {
		f      insight.Field
		values []float64
	}{
		{field(power), []float64{300, 400, 300, 300, 300, 300, 300, 300, 300, 300}},
		{field(power, insight.Max), []float64{300, 700, 300, 300, 300, 300, 300, 300, 300, 300}},
		{field(power, insight.Min), []float64{300, 300, 300, 300, 300, 300, 300, 300, 300, 300}},
		{field(replay, insight.Rise), []float64{0, 3, 0, 0, 1, 0, 0, 0, 0, 0}},
		{field(replay, insight.Total), []float64{5, 8, 8, 8, 1, 1, 1, 1, 1, 1}},
		{field(reasons, insight.AnyBits), []float64{0, 0x44, 0, 0, 0, 0, 0, 0, 0, 0}},
		{field(reasons), []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		if got := valuesOf(t, g, "n1 · GPU 0 · H100 80GB HBM3", want.f); !sameValues(got, want.values) {
			t.Errorf("%v: got %v, want %v", want.f, got, want.values)
		}
	}
	if got := valuesOf(t, g, "n1 · GPU 1 · H100 80GB HBM3", field(replay, insight.Rise)); got != nil {
		t.Errorf("what was not measured is %v", got)
	}
	if want := []string{"gpu_sm_active_ratio", "no_such_metric"}; !slices.Equal(g.missing, want) {
		t.Errorf("missing %q, want %q", g.missing, want)
	}
	n, ok := d.missingNotice(t.Context(), query.Scope{}, g, g.missing)
	if !ok || !strings.Contains(n.Text, "Not measured here, so that less is certain: gpu_sm_active_ratio, no_such_metric.") ||
		!strings.Contains(n.Text, "DCGM_FI_PROF_SM_ACTIVE, gauge, ") {
		t.Errorf("notice %q", n.Text)
	}
	if !g.history || g.live || len(g.notices) != 0 {
		t.Errorf("history %v, live %v, notices %v", g.history, g.live, g.notices)
	}
}

// Facts of a board are on the rows of its MIG instances, also where the query selects an instance.
func TestGatherOfInstances(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		dcgm(s, "DCGM_FI_DEV_POWER_USAGE", "n1", 0, steady(300))
		for id, busy := range map[string]float64{"1": 0.25, "2": 0.75} {
			mig := []string{"GPU_I_ID", id, "GPU_I_PROFILE", "1g.10gb"}
			dcgm(s, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "n1", 0, steady(busy), mig...)
			dcgm(s, "DCGM_FI_DEV_FB_USED", "n1", 0, steady(1000), mig...)
		}
	})
	fields := []insight.Field{field(power), field("gpu_graphics_engine_active_ratio")}
	g := gatheredOf(t, d, `{"queryType":"health","migs":["GPU-n1-0/2"],"minStep":"5m"}`, wanted{fields: fields})
	if len(g.devices.Subjects) != 1 {
		t.Fatalf("subjects %+v", g.devices.Subjects)
	}
	name := "n1 · GPU 0 · MIG 1g.10gb #2"
	if got := valuesOf(t, g, name, fields[0]); !sameValues(got, []float64{300, 300}) {
		t.Errorf("power %v", got)
	}
	if got := valuesOf(t, g, name, fields[1]); !sameValues(got, []float64{0.75, 0.75}) {
		t.Errorf("activity %v", got)
	}
	g = gatheredOf(t, d, `{"queryType":"health","minStep":"5m"}`, wanted{fields: fields})
	if len(g.devices.Subjects) != 3 {
		t.Errorf("subjects %+v", g.devices.Subjects)
	}
}

// Owners choose devices whose values come from series without owners, and say which work is of which kind.
func TestGatherByOwner(t *testing.T) {
	fill := func(s *promtest.Store) {
		dcgm(s, "DCGM_FI_DEV_GPU_UTIL", "n1", 0, steady(90), "pod", "train-0", "namespace", "ml", "container", "main")
		dcgm(s, "DCGM_FI_DEV_GPU_UTIL", "n1", 1, steady(10))
		for i := range 2 {
			s.Add(map[string]string{"__name__": "gpu_power_watts", "node": "n1", "gpu_uuid": fmt.Sprintf("GPU-n1-%d", i), "gpu": fmt.Sprint(i),
				"instance": "n1:9847", "job": "agent"}, every15s(steady(float64(100*i+100)))...)
		}
		s.Add(map[string]string{"__name__": "train_step_seconds", "pod": "train-0", "namespace": "ml", "job": "j", "rank": "0", "instance": "10.0.0.1:8000"},
			every15s(steady(1.5))...)
	}
	d := exported(t, fill)
	steps := field("train_step_seconds")
	want := wanted{fields: []insight.Field{field(power), field("gpu_utilization_ratio")}, workloads: []insight.Field{steps, field("serve_kv_cache_ratio")}}
	g := gatheredOf(t, d, `{"queryType":"health","namespaces":["ml"],"minStep":"5m"}`, want)
	if len(g.devices.Subjects) != 1 || g.devices.Subjects[0].Owners[0].Pod != "train-0" || g.devices.Subjects[0].Class != insight.Training {
		t.Fatalf("subjects %+v", g.devices.Subjects)
	}
	if got := valuesOf(t, g, g.devices.Subjects[0].Name(), field(power)); !sameValues(got, []float64{100, 100}) {
		t.Errorf("power %v", got)
	}
	if len(g.workloads.Subjects) != 1 || g.workloads.Subjects[0].Rank != "0" || !sameValues(g.workloads.Values(steps, 0), []float64{1.5, 1.5}) {
		t.Errorf("workloads %+v: %v", g.workloads.Subjects, g.workloads.Values(steps, 0))
	}
	if len(g.missing) != 0 {
		t.Errorf("nobody serves, so nothing of serving is missing: %q", g.missing)
	}
}

// Ranks have what a counter stands at, how fast it rises and by how much, and the extremes of what goes up and down.
func TestGatherOfRanks(t *testing.T) {
	labels := func(name string) map[string]string {
		return map[string]string{"__name__": name, "pod": "train-0", "namespace": "ml", "job": "j", "rank": "0", "instance": "10.0.0.1:8000"}
	}
	d := exported(t, func(s *promtest.Store) {
		dcgm(s, "DCGM_FI_DEV_GPU_UTIL", "n1", 0, steady(90), "pod", "train-0", "namespace", "ml", "container", "main")
		s.Add(labels("train_step_total"), every15s(func(second int) float64 { return 1000 + 2*float64(second) })...)
		s.Add(labels("train_memory_allocated_bytes"), every15s(func(second int) float64 { return float64(second % 60) })...)
	})
	done, allocated := "train_step_total", "train_memory_allocated_bytes"
	g := gatheredOf(t, d, `{"queryType":"stragglers","minStep":"5m"}`, wanted{
		fields: []insight.Field{field("gpu_utilization_ratio")},
		workloads: []insight.Field{
			field(done), field(done, insight.Total), field(done, insight.Rise), field(allocated, insight.Max), field(allocated, insight.Min),
		},
	})
	if len(g.workloads.Subjects) != 1 {
		t.Fatalf("workloads %+v", g.workloads.Subjects)
	}
	for _, want := range []struct {
		f      insight.Field
		values []float64
	}{
		{field(done), []float64{2, 2}},
		{field(done, insight.Total), []float64{1600, 2200}},
		{field(done, insight.Rise), []float64{600, 600}},
		{field(allocated, insight.Max), []float64{45, 45}},
		{field(allocated, insight.Min), []float64{0, 0}},
	} {
		if got := g.workloads.Values(want.f, 0); !sameValues(got, want.values) {
			t.Errorf("%v: got %v, want %v", want.f, got, want.values)
		}
	}
}

// Agents alone, and both sides: live steps follow history's, and facts of the agents win.
func TestGatherFromAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1", Metrics: []string{power, "gpu_sm_active_ratio"}})
		f.gatherOnce(t, `{"queryType":"health","source":"live","minStep":"1m"}`) // connects
		time.Sleep(5 * time.Minute)
		got := f.gatherOnce(t, `{"queryType":"health","source":"live","minStep":"1m"}`)
		if len(got.devices.Subjects) != 2 || got.history || !got.live || len(got.nodes) != 1 {
			t.Fatalf("%+v %v %v %v", got.devices.Subjects, got.history, got.live, got.nodes)
		}
		live := insight.Present(nil, got.devices.Values(field(power), 1))
		if n := len(live); n < 4 || n > 6 || live[n-1] != 102 {
			t.Errorf("live %v", live)
		}
		f.past.value = 50
		both := f.gatherOnce(t, `{"queryType":"health","minStep":"1m"}`).devices.Values(field(power), 1)
		if n := len(both); n != 10 || both[0] != 50 || both[n-1] != 102 || len(insight.Present(nil, both)) != 10 {
			t.Errorf("both %v", both)
		}
	})
}

func (f *fleet) gatherOnce(t *testing.T, raw string) *gathered {
	t.Helper()
	return gatheredOf(t, f.Datasource, raw, wanted{fields: []insight.Field{field(power)}, events: true})
}

// some is a Prometheus of which only power is known.
type some struct{ *fakePast }

func (some) Exist(_ context.Context, _ query.Scope, metrics []catalog.Metric) []bool {
	exist := make([]bool, len(metrics))
	for i, m := range metrics {
		exist[i] = m.Name == power
	}
	return exist
}

func TestStepsAreLongerForManyDevices(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		for i := range 100_000 {
			f.past.devices = append(f.past.devices, gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: fmt.Sprintf("n%d", i/8), UUID: fmt.Sprintf("GPU-%d", i)}, Index: i % 8})
		}
		g := &gathering{Datasource: f.Datasource, want: wanted{fields: make([]insight.Field, 40)}, request: request{window: query.WindowOptions{
			From: time.Now().Add(-24 * time.Hour), To: time.Now(), MaxDataPoints: 1000,
		}}}
		g.plan(t.Context())
		if g.window.Step < 2*time.Hour || len(g.notices) != 1 || !strings.Contains(g.notices[0].Text, "100000 devices are judged at once") {
			t.Errorf("%s, %v", g.window.Step, g.notices)
		}
		// Only fields that there is anything of take room.
		for i := range g.want.fields {
			g.want.fields[i].Metric = [...]string{power, "gpu_sm_active_ratio"}[i%2]
		}
		f.history, g.notices = some{f.past}, nil
		g.request.window.From = time.Now().Add(-2 * time.Hour)
		g.plan(t.Context())
		if g.window.Step != 5*time.Minute || !g.unheard["gpu_sm_active_ratio"] || g.unheard[power] {
			t.Errorf("%s, %v", g.window.Step, g.unheard)
		}
	})
}

// Fields that one question answers are the same as those that are asked for one by one, whatever is missing.
func TestFieldsThatAreAskedForTogether(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		for i := range 8 {
			random := rand.New(rand.NewPCG(uint64(i), 5))
			missing := func(v float64) float64 {
				if random.IntN(12) < i {
					return math.NaN()
				}
				return v
			}
			count := 0.0
			dcgm(s, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "n1", i, func(int) float64 { return missing(float64(random.IntN(256))) })
			dcgm(s, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "n1", i, func(int) float64 {
				count += float64(random.IntN(2))
				if random.IntN(40) == 0 {
					count = 0
				}
				return missing(count)
			})
		}
	})
	fields := []insight.Field{
		field("gpu_clock_event_reasons"), field("gpu_clock_event_reasons", insight.AnyBits),
		field("gpu_remapped_rows_uncorrectable_total", insight.Total), field("gpu_remapped_rows_uncorrectable_total", insight.Rise),
	}
	for _, step := range []string{"15s", "1m", "3m"} {
		raw := `{"queryType":"health","source":"history","minStep":"` + step + `"}`
		both := gatheredOf(t, d, raw, wanted{fields: fields})
		for _, one := range fields {
			alone, some := gatheredOf(t, d, raw, wanted{fields: []insight.Field{one}}), false
			for i, subject := range alone.devices.Subjects {
				got, want := both.devices.Values(one, i), alone.devices.Values(one, i)
				if !sameValues(got, want) {
					t.Errorf("%s of %s in steps of %s: got %v, want %v", one.Of, subject.Name(), step, got, want)
				}
				some = some || len(want) > 0
			}
			if !some {
				t.Errorf("nothing of %v", one)
			}
		}
	}
}

// Judgements wait for each other where all at once would take too much memory, and give up with whoever asked.
func TestJudgementsShareRoom(t *testing.T) {
	var r room
	leave, err := r.enter(t.Context(), 10*cellsAtOnce, cellsAtOnce)
	if err != nil {
		t.Fatal(err)
	}
	given, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.enter(given, 0, cellsAtOnce); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v while there was no room", err)
	}
	leave()
	for range 2 { // as much as is taken is given back
		leave, err := r.enter(t.Context(), cellsAtOnce, cellsAtOnce)
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
}
