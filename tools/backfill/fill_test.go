package main

import (
	"context"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

const exporterText = `# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",instance="inner"} 87
`

func testPlan(t *testing.T) Plan {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(actAsSimulator, "1")
	file := filepath.Join(t.TempDir(), "dcgm.prom")
	if err := os.WriteFile(file, []byte(exporterText), 0o644); err != nil {
		t.Fatal(err)
	}
	return Plan{
		DataDir: t.TempDir(), History: duration(26 * time.Hour), Step: duration(5 * time.Minute),
		Recent: duration(time.Hour), RecentStep: duration(15 * time.Second),
		Agents: []Agent{{
			Target:  map[string]string{"job": "warpwatch-agent", "instance": "n1:9847"},
			Address: "127.0.0.1:9847", Scheme: "http", Command: []string{self, "--node-name=n1"},
		}},
		Expositions: []Exposition{{Target: map[string]string{"job": "dcgm-exporter", "instance": "n2:9400"}, File: file}},
	}
}

// point is a stored sample.
type point struct {
	t int64
	v float64
}

// stored reads the whole database, by the text of the label set.
func stored(t *testing.T, dir string) map[string][]point {
	t.Helper()
	db, err := tsdb.Open(dir, quiet(), nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	querier, err := db.Querier(math.MinInt64, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer querier.Close()
	all := map[string][]point{}
	set := querier.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, ".+"))
	var it chunkenc.Iterator
	for set.Next() {
		key := set.At().Labels().String()
		it = set.At().Iterator(it)
		for it.Next() == chunkenc.ValFloat {
			at, v := it.At()
			all[key] = append(all[key], point{at, v})
		}
		if it.Err() != nil {
			t.Fatal(it.Err())
		}
	}
	if set.Err() != nil {
		t.Fatal(set.Err())
	}
	return all
}

func TestFillWritesWhatScrapingWouldHaveStored(t *testing.T) {
	plan := testPlan(t)
	now := time.Date(2026, 11, 30, 13, 7, 11, 0, time.UTC)
	if err := fill(t.Context(), plan, now, io.Discard); err != nil {
		t.Fatal(err)
	}
	all := stored(t, plan.DataDir)
	want := []string{
		`{UUID="GPU-a", __name__="DCGM_FI_DEV_GPU_UTIL", exported_instance="inner", gpu="0", instance="n2:9400", job="dcgm-exporter"}`,
		`{__name__="gpu_info", driver_version="580.1", gpu="0", gpu_uuid="GPU-0", instance="n1:9847", job="warpwatch-agent", mig_enabled="false", model="NVIDIA H200", node="n1", pci_bus_id=""}`,
		`{__name__="gpu_metric_0", gpu="0", gpu_uuid="GPU-0", instance="n1:9847", job="warpwatch-agent", model="NVIDIA H200", node="n1"}`,
		`{__name__="gpu_metric_0", gpu="1", gpu_uuid="GPU-1", instance="n1:9847", job="warpwatch-agent", mig_id="3", mig_profile="1g.18gb", model="NVIDIA H200", node="n1"}`,
		`{__name__="gpu_metric_1", gpu="0", gpu_uuid="GPU-0", instance="n1:9847", job="warpwatch-agent", model="NVIDIA H200", node="n1"}`,
		`{__name__="gpu_metric_1", gpu="1", gpu_uuid="GPU-1", instance="n1:9847", job="warpwatch-agent", mig_id="3", mig_profile="1g.18gb", model="NVIDIA H200", node="n1"}`,
		`{__name__="gpu_mig_info", gpu="1", gpu_uuid="GPU-1", instance="n1:9847", job="warpwatch-agent", mig_id="3", mig_profile="1g.18gb", model="NVIDIA H200", node="n1"}`,
		`{__name__="up", instance="n1:9847", job="warpwatch-agent"}`,
		`{__name__="up", instance="n2:9400", job="dcgm-exporter"}`,
		`{__name__="warpwatch_agent_info", address="127.0.0.1:9847", instance="n1:9847", job="warpwatch-agent", node="n1", scheme="http", source="simulate", version="1.0.0"}`,
	}
	want[1] = strings.Replace(want[1], `, pci_bus_id=""`, "", 1) // an empty label is no label
	got := slices.Sorted(maps.Keys(all))
	if !slices.Equal(got, want) {
		t.Errorf("stored\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}

	points := all[want[2]]
	border := now.Add(-time.Hour).Truncate(5 * time.Minute).Add(5 * time.Minute).UnixMilli()
	for i := 1; i < len(points); i++ {
		gap := points[i].t - points[i-1].t
		if points[i].t <= border && gap != (5*time.Minute).Milliseconds() || points[i].t > border && gap != (15*time.Second).Milliseconds() {
			t.Fatalf("gap of %d ms before %s", gap, time.UnixMilli(points[i].t).UTC())
		}
	}
	if first := now.Add(-26 * time.Hour); points[0].t-first.UnixMilli() > (5 * time.Minute).Milliseconds() {
		t.Errorf("starts at %s, want %s", time.UnixMilli(points[0].t).UTC(), first)
	}
	if last := points[len(points)-1].t; now.UnixMilli()-last > 15_000 {
		t.Errorf("ends at %s, want %s", time.UnixMilli(last).UTC(), now)
	}
}

func TestFillEndsASeriesWhoseReadingIsGone(t *testing.T) {
	plan := testPlan(t)
	if err := fill(t.Context(), plan, time.Date(2026, 11, 30, 13, 7, 11, 0, time.UTC), io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, p := range stored(t, plan.DataDir)[`{__name__="gpu_metric_0", gpu="1", gpu_uuid="GPU-1", instance="n1:9847", job="warpwatch-agent", mig_id="3", mig_profile="1g.18gb", model="NVIDIA H200", node="n1"}`] {
		at := time.UnixMilli(p.t).UTC()
		odd, first := at.Hour()%2 == 1, at.Minute() == 0 && at.Second() == 0
		if odd && !(first && value.IsStaleNaN(p.v)) || !odd && math.IsNaN(p.v) {
			t.Fatalf("value %v at %s", p.v, at)
		}
	}
}

func TestFillAgainWritesOnlyTheGap(t *testing.T) {
	plan := testPlan(t)
	first := time.Date(2026, 11, 30, 13, 7, 11, 0, time.UTC)
	if err := fill(t.Context(), plan, first, io.Discard); err != nil {
		t.Fatal(err)
	}
	scrapeInto(t, plan.DataDir, first.Add(10*time.Second))
	before := stored(t, plan.DataDir)

	second := first.Add(5 * time.Hour)
	var out strings.Builder
	if err := fill(t.Context(), plan, second, &out); err != nil {
		t.Fatal(err)
	}
	after := stored(t, plan.DataDir)
	for key, points := range before {
		if !slices.EqualFunc(after[key][:len(points)], points, samePoint) {
			t.Errorf("%s: what was there has changed", key)
		}
	}
	key := `{__name__="up", instance="n1:9847", job="warpwatch-agent"}`
	points := after[key]
	for i := 1; i < len(points); i++ {
		if gap := points[i].t - points[i-1].t; gap <= 0 || gap > (5*time.Minute).Milliseconds() {
			t.Errorf("gap of %d ms before %s", gap, time.UnixMilli(points[i].t).UTC())
		}
	}
	if last := points[len(points)-1].t; second.UnixMilli()-last > 15_000 {
		t.Errorf("ends at %s, want %s", time.UnixMilli(last).UTC(), second)
	}
	if !strings.Contains(out.String(), "4h59m") {
		t.Errorf("said %q", out.String())
	}
}

func samePoint(a, b point) bool { return a.t == b.t && math.Float64bits(a.v) == math.Float64bits(b.v) }

// scrapeInto leaves a sample in the head, as a Prometheus that was stopped does.
func scrapeInto(t *testing.T, dir string, at time.Time) {
	t.Helper()
	db, err := tsdb.Open(dir, quiet(), nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	app := db.Appender(context.Background())
	if _, err := app.Append(0, labels.FromStrings(labels.MetricName, "up", "instance", "n1:9847", "job", "warpwatch-agent"), at.UnixMilli(), 1); err != nil {
		t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFillTellsWhatTheSimulatorSaid(t *testing.T) {
	plan := testPlan(t)
	plan.Agents[0].Command = plan.Agents[0].Command[:1]
	err := fill(t.Context(), plan, time.Now(), io.Discard)
	for _, want := range []string{"n1:9847", "exit status 2", "want --node-name"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestBlocksLieOnPrometheusBorders(t *testing.T) {
	const hour = int64(time.Hour / time.Millisecond)
	whole := span{1000*hour + 17, 1140*hour + 23}
	var sizes []int64
	at := whole.from
	for _, b := range blocks(whole) {
		if b.from != at {
			t.Fatalf("block starts at %d, want %d", b.from, at)
		}
		at = b.to
		sizes = append(sizes, (b.to-b.from+hour/2)/hour)
	}
	if at != whole.to {
		t.Errorf("blocks end at %d, want %d", at, whole.to)
	}
	if want := []int64{26, 54, 54, 6, 0}; !slices.Equal(sizes, want) {
		t.Errorf("blocks of %v hours, want %v", sizes, want)
	}
}

// BenchmarkFill writes what the demo writes for one cluster: 14 days of three nodes of 8 GPUs.
func BenchmarkFill(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv(actAsSimulator, "1")
	for b.Loop() {
		plan := Plan{DataDir: b.TempDir(), History: duration(14 * 24 * time.Hour), Step: duration(5 * time.Minute), Recent: duration(3 * time.Hour), RecentStep: duration(15 * time.Second)}
		for _, node := range []string{"n1", "n2", "n3"} {
			plan.Agents = append(plan.Agents, Agent{
				Target: map[string]string{"job": "warpwatch-agent", "instance": node}, Command: []string{self, "--node-name=" + node, "--gpus=9", "--metrics=38"},
			})
		}
		if err := fill(b.Context(), plan, time.Now(), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
