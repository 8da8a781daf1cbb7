package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// writer is one generation of one exporter: which of the catalogue's sources it writes, and with which labels.
type writer struct {
	name        string
	dialect     catalog.Dialect
	generations []string // of sources, the preferred first
	labels      func(node, uuid string) map[string]string
}

// percentAsRatio is the generation that has per cent under names that end in _RATIO, which are ratios in the next.
const percentAsRatio = "dcgm 4.6"

// writers are all that are found side by side in the middle of upgrades.
func writers() []writer {
	dcgm := func(node, uuid string) map[string]string {
		return map[string]string{"Hostname": node, "UUID": uuid, "gpu": "3", "modelName": "NVIDIA H200", "DCGM_FI_DRIVER_VERSION": "535.1", "instance": "10.0.0.9:9400", "job": "dcgm"}
	}
	return []writer{
		{"dcgm 1.x", catalog.DCGM, []string{"1.x"}, func(node, uuid string) map[string]string {
			return map[string]string{"uuid": uuid, "gpu": "3", "instance": node + ":9400", "job": "dcgm"}
		}},
		{"dcgm 3.x", catalog.DCGM, []string{"3.x", ""}, dcgm},
		{percentAsRatio, catalog.DCGM, []string{"4.6", "3.x", ""}, dcgm},
		{"dcgm 4.9", catalog.DCGM, []string{"4.9", ""}, func(node, uuid string) map[string]string {
			return map[string]string{"hostname": node, "gpu_uuid": uuid, "gpu": "3", "model_name": "NVIDIA H200", "DCGM_FI_SYSTEM_DRIVER_VERSION": "580.1", "instance": "10.0.0.9:9400", "job": "dcgm"}
		}},
		{"nvidia_gpu_exporter", catalog.NvidiaSMI, []string{""}, func(node, uuid string) map[string]string {
			return map[string]string{"uuid": uuid[len("GPU-"):], "instance": node + ":9835", "job": "smi"}
		}},
		{"agent", catalog.Warpwatch, []string{""}, func(node, uuid string) map[string]string {
			return map[string]string{"node": node, "gpu": "3", "gpu_uuid": uuid, "model": "NVIDIA H200", "instance": "10.0.0.9:9410", "job": "agent"}
		}},
	}
}

// source is how the writer writes a metric, false when it does not.
func (w writer) source(m catalog.Metric) (catalog.Source, bool) {
	for _, s := range m.Sources {
		if w.name == percentAsRatio && s.Dialect == w.dialect && s.Conversion.Auto {
			return s, true
		}
	}
	for _, generation := range w.generations {
		for _, s := range m.Sources {
			if s.Dialect == w.dialect && s.Generation == generation {
				return s, true
			}
		}
	}
	return catalog.Source{}, false
}

// truth is a metric's value in the canonical unit, of a counter its rate.
func truth(m catalog.Metric, at int64) float64 {
	base := map[gpu.Unit]float64{
		gpu.Bytes: 4e10, gpu.BytesPerSecond: 1e9, gpu.Seconds: 10, gpu.Watts: 300, gpu.Joules: 1e6, gpu.Hertz: 1.5e9, gpu.Celsius: 50, gpu.Ratio: 0.5,
		gpu.Count: 3, gpu.Code: 2,
	}[m.Unit]
	if m.Kind == catalog.Counter {
		base = min(base, 0.5)
	}
	if m.Max > 0 {
		base = min(base, m.Max/2)
	}
	if m.Kind == catalog.Counter || m.Unit == gpu.Code || m.Unit == gpu.Count {
		return base
	}
	return base * (1 + 0.2*math.Sin(float64(at)))
}

// write adds what the writer has of a metric in a part of the time, which ends as targets do that are gone.
func (w writer) write(t *testing.T, s *promtest.Store, c *catalog.Catalog, m catalog.Metric, node, uuid string, from, to int64) {
	source, ok := w.source(m)
	if !ok {
		t.Fatalf("%s does not write %s", w.name, m.Name)
	}
	conversion := source.Conversion
	if conversion.Auto && w.name == percentAsRatio {
		conversion, _ = c.DecideAuto(catalog.Evidence{Max: 100})
	}
	labels := w.labels(node, uuid)
	labels["__name__"] = source.Series
	for _, condition := range source.Conditions() {
		labels[condition.Label] = condition.Values[0]
	}
	if m.SumOver != "" && source.Part == "" {
		labels[m.SumOver] = "0"
		for _, other := range m.Sources {
			if other.Part != "" {
				labels[m.SumOver] = other.Part
				break
			}
		}
	}
	var points []promtest.Point
	for at := from; at < to; at += 15 {
		value := truth(m, at)
		if m.Kind == catalog.Counter {
			value = 1000 + value*float64(at+600)
		}
		points = append(points, promtest.Point{Time: (t0 + at) * 1000, Value: value * conversion.Divisor / conversion.Multiplier})
	}
	if to < 600 {
		points = append(points, promtest.Point{Time: (t0 + to) * 1000, Value: promtest.Stale()})
	}
	s.Add(labels, points...)
}

func wantTruth(t *testing.T, result Result, m catalog.Metric, names map[string]string) {
	t.Helper()
	if len(result.Series) != len(names) {
		t.Errorf("%s: %d series of %d devices: %v\n%s", m.Name, len(result.Series), len(names), result.Notices, result.Executed)
	}
	for _, s := range result.Series {
		if s.Device.Cluster != "north" || names[s.Device.UUID] != s.Device.Node || s.Device.IsMIG() {
			t.Errorf("%s: identity %+v", m.Name, s.Device.Identity)
		}
		if len(s.Times) != 11 {
			t.Errorf("%s on %s: %d points", m.Name, s.Device.Node, len(s.Times))
		}
		for i, at := range s.Times {
			if want := truth(m, at/1000-t0); math.Abs(s.Values[i]-want) > 1e-6*math.Abs(want) {
				t.Errorf("%s on %s at %d: %v, want %v\n%s", m.Name, s.Device.Node, at/1000-t0, s.Values[i], want, result.Executed)
				break
			}
		}
	}
}

// wantSteps is wantTruth for points that stand for all samples of a minute: their mean or extreme, whichever the metric has. In the
// step of the upgrade one of the two exporters counts.
func wantSteps(t *testing.T, result Result, m catalog.Metric, upgrade int64) {
	t.Helper()
	if len(result.Series) != 1 || len(result.Series[0].Times) != 11 {
		t.Errorf("%s: %d series: %v\n%s", m.Name, len(result.Series), result.Notices, result.Executed)
		return
	}
	function := m.OverTime(m.Aggregations[0])
	for i, ms := range result.Series[0].Times {
		at, got := ms/1000-t0, result.Series[0].Values[i]
		var values []float64
		for k := at - 45; k <= at; k += 15 {
			values = append(values, truth(m, k))
		}
		least, most := slices.Min(values), slices.Max(values)
		want := truth(m, at)
		switch function {
		case catalog.OverTimeMax:
			want = most
		case catalog.OverTimeMin:
			want = least
		case catalog.OverTimeMean:
			want = 0
			for _, v := range values {
				want += v / float64(len(values))
			}
		}
		slack := 1e-6 * math.Abs(want)
		if at == upgrade {
			slack += most - least
		}
		if math.Abs(got-want) > slack {
			t.Errorf("%s of %s at %d: %v, want %v\n%s", function, m.Name, at, got, want, result.Executed)
			return
		}
	}
}

// Whatever a fleet is upgraded from and to halfway through the range, the answer is that of one that was not: the same
// values under the same identity, for every metric that both write.
func TestUpgradeHalfwayGivesTheSameAnswers(t *testing.T) {
	c := mustCatalog(t)
	const node, uuid = "n1", "GPU-5e1f0000-0a00-4a00-8b00-000000000001"
	all := writers()
	for i, before := range all {
		for n, after := range all {
			if n != i && n != i+1 && (i != 1 || n != len(all)-1) {
				continue // upgrades go to the next generation; one is to the agent
			}
			t.Run(before.name+" to "+after.name, func(t *testing.T) {
				s := &promtest.Store{}
				var both []catalog.Metric
				taken := map[string]bool{} // one name may be of several metrics, told apart by labels that this test has no need of
				for _, m := range c.Metrics() {
					old, has := before.source(m)
					fresh, stillHas := after.source(m)
					if m.Subject != catalog.SubjectDevice || !has || !stillHas || taken[old.Series] || taken[fresh.Series] {
						continue
					}
					taken[old.Series], taken[fresh.Series] = true, true
					both = append(both, m)
					if old.Series == fresh.Series && maps.Equal(before.labels(node, uuid), after.labels(node, uuid)) {
						after.write(t, s, c, m, node, uuid, -600, 615)
						continue
					}
					before.write(t, s, c, m, node, uuid, -600, 300)
					after.write(t, s, c, m, node, uuid, 300, 615)
				}
				if len(both) < 5 {
					t.Errorf("only %d metrics in common", len(both))
				}
				h := open(t, s)
				for _, m := range both {
					wantTruth(t, askOver(t, h, m.Name, "", window(600, time.Minute)), m, map[string]string{uuid: node})
					if m.Kind == catalog.Gauge {
						wantSteps(t, askOver(t, h, m.Name, "", finely(600, time.Minute)), m, 300)
					}
				}
				t.Logf("%d metrics", len(both))
			})
		}
	}
}

// All at once, each on a node of its own.
func TestEveryGenerationSideBySide(t *testing.T) {
	c := mustCatalog(t)
	s := &promtest.Store{}
	on := map[string]map[string]string{} // nodes by UUID, by metric
	all := writers()
	for i, w := range all {
		node, uuid := fmt.Sprintf("n%d", i), fmt.Sprintf("GPU-5e1f0000-0a00-4a00-8b00-%012d", i)
		written := map[string]bool{}
		for _, m := range c.Metrics() {
			source, has := w.source(m)
			if m.Subject != catalog.SubjectDevice || !has || written[source.Series] || len(m.SumOf) > 0 {
				continue
			}
			written[source.Series] = true
			w.write(t, s, c, m, node, uuid, -600, 615)
			if on[m.Name] == nil {
				on[m.Name] = map[string]string{}
			}
			on[m.Name][uuid] = node
		}
	}
	h := open(t, s)
	everywhere := 0
	for _, name := range sortedNames(on) {
		if len(on[name]) < 3 {
			continue
		}
		m, _ := c.Metric(name)
		wantTruth(t, askOver(t, h, name, "", window(600, time.Minute)), m, on[name])
		if len(on[name]) == len(all) {
			everywhere++
		}
	}
	if everywhere < 5 {
		t.Errorf("only %d metrics are written by all", everywhere)
	}
	if !slices.Contains(sortedNames(on), "gpu_utilization_ratio") {
		t.Error("not even the utilization")
	}
}
