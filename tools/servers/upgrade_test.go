package servers

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// generation is how a version of dcgm-exporter writes some metrics: the name, and what it makes of a percent, a MiB, a MHz.
// An upgraded exporter is told from itself by the label of the driver.
type generation struct {
	driver                                string
	host                                  string
	util, memory, power, temp, clock      string
	utilFactor, memoryFactor, clockFactor float64
	lowerNames                            bool
}

func generations() map[string]generation {
	return map[string]generation{
		"3.x": {driver: "DCGM_FI_DRIVER_VERSION", host: "Hostname", util: "DCGM_FI_DEV_GPU_UTIL", memory: "DCGM_FI_DEV_FB_USED", power: "DCGM_FI_DEV_POWER_USAGE",
			temp: "DCGM_FI_DEV_GPU_TEMP", clock: "DCGM_FI_DEV_SM_CLOCK", utilFactor: 1, memoryFactor: 1, clockFactor: 1},
		"4.9": {driver: "DCGM_FI_SYSTEM_DRIVER_VERSION", host: "hostname", util: "DCGM_FI_DEV_GPU_UTIL_RATIO", memory: "DCGM_FI_DEV_FB_USED_BYTES", power: "DCGM_FI_DEV_BOARD_POWER_WATTS",
			temp: "DCGM_FI_DEV_GPU_TEMP_CELSIUS", clock: "DCGM_FI_DEV_SM_CLOCK_HERTZ", utilFactor: 100, memoryFactor: 1 << 20, clockFactor: 1e6},
		// DCGM 4.6 with a file of its own has the new name of the utilization in per cent.
		"4.6": {driver: "DCGM_FI_DRIVER_VERSION", host: "Hostname", util: "DCGM_FI_DEV_GPU_UTIL_RATIO", memory: "DCGM_FI_DEV_FB_USED", power: "DCGM_FI_DEV_POWER_USAGE",
			temp: "DCGM_FI_DEV_GPU_TEMP", clock: "DCGM_FI_DEV_SM_CLOCK", utilFactor: 1, memoryFactor: 1, clockFactor: 1},
		"1.x": {driver: "DCGM_FI_DRIVER_VERSION", host: "Hostname", util: "dcgm_gpu_utilization", memory: "dcgm_fb_used", power: "dcgm_power_usage",
			temp: "dcgm_gpu_temp", clock: "dcgm_sm_clock", utilFactor: 1, memoryFactor: 1, clockFactor: 1, lowerNames: true},
	}
}

// exported are the series of one node's exporter for a time.
func (g generation) exported(node string, from, to int64) (lines []line) {
	for i := range 4 {
		add := func(name string, at func(t int64) float64) {
			all := []string{labels.MetricName, name, g.host, node, "gpu", fmt.Sprint(i), "UUID", fmt.Sprintf("GPU-%s-%d", node, i),
				"modelName", "NVIDIA H100 80GB HBM3", "device", fmt.Sprintf("nvidia%d", i), "instance", node + ":9400", "job", "dcgm", g.driver, "550.54"}
			if g.lowerNames {
				all[6] = "uuid"
			}
			lines = append(lines, line{labels: labels.FromStrings(all...), at: during(from, to, at)})
		}
		share := func(t int64) float64 { return float64(20 + (t-t0)/15%70 + int64(i)) }
		if g.utilFactor == 1 {
			add(g.util, share)
		} else {
			add(g.util, func(t int64) float64 { return share(t) / g.utilFactor })
		}
		add(g.memory, func(t int64) float64 { return float64(40000+100*i+int((t-t0)/15%30)) * g.memoryFactor })
		add(g.power, func(t int64) float64 { return float64(300+i) + float64((t-t0)/15%40)/8 })
		add(g.temp, func(t int64) float64 { return float64(50 + i + int((t-t0)/15%9)) })
		add(g.clock, func(t int64) float64 { return float64(1500+15*((t-t0)/15%20)) * g.clockFactor })
	}
	return lines
}

// A fleet of each generation, and one that is upgraded halfway through the range, node by node, give the same answers.
func TestUpgradedFleetGivesTheSameAnswers(t *testing.T) {
	t.Parallel()
	end := t0 + 2*hour
	all := generations()
	fleets := map[string]func(node int) []line{
		"3.x": func(n int) []line { return all["3.x"].exported(fmt.Sprintf("n%d", n), t0, end) },
		"4.6": func(n int) []line { return all["4.6"].exported(fmt.Sprintf("n%d", n), t0, end) },
		"4.9": func(n int) []line { return all["4.9"].exported(fmt.Sprintf("n%d", n), t0, end) },
		"3.x to 4.9": func(n int) []line {
			name, change := fmt.Sprintf("n%d", n), t0+hour+int64(n)*90
			return append(all["3.x"].exported(name, t0, change), all["4.9"].exported(name, change, end)...)
		},
		"4.6 to 4.9": func(n int) []line {
			name, change := fmt.Sprintf("n%d", n), t0+hour+int64(n)*90
			return append(all["4.6"].exported(name, t0, change), all["4.9"].exported(name, change, end)...)
		},
		"1.x": func(n int) []line { return all["1.x"].exported(fmt.Sprintf("n%d", n), t0, end) },
	}
	w := query.NewWindow(query.WindowOptions{
		From: time.Unix(t0, 0), To: time.Unix(end-minute, 0), MaxDataPoints: 11_000, MinStep: 15 * time.Second, ScrapeInterval: 15 * time.Second,
	})
	metrics := []string{"gpu_utilization_ratio", "gpu_memory_used_bytes", "gpu_power_watts", "gpu_temperature_celsius", "gpu_sm_clock_hertz"}
	want := map[string][]gpu.Series{}
	for _, name := range []string{"3.x", "4.6", "4.9", "3.x to 4.9", "4.6 to 4.9", "1.x"} {
		dir := t.TempDir()
		var lines []line
		for n := range 3 {
			lines = append(lines, fleets[name](n)...)
		}
		store(t, dir, t0, end, 15, lines)
		s := start(t, dir, "")
		h := open(t, history.Endpoint{ID: "p", Cluster: "north", URL: s.url})
		for _, metric := range metrics {
			got := ask(t, h, metric, w).Series
			if want[metric] == nil {
				want[metric] = got
				if len(got) != 12 {
					t.Fatalf("%s of %s: %d GPUs", metric, name, len(got))
				}
			}
			if diff := difference(got, want[metric]); diff != "" {
				t.Errorf("%s of %s: %s", metric, name, diff)
			}
		}
		s.kill(t)
	}
}

func difference(got, want []gpu.Series) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d series, want %d", len(got), len(want))
	}
	for i, g := range got {
		switch {
		case g.Device.Name() != want[i].Device.Name():
			return fmt.Sprintf("%s, want %s", g.Device.Name(), want[i].Device.Name())
		case !slices.Equal(g.Times, want[i].Times):
			return fmt.Sprintf("%s: %d points, want %d", g.Device.Name(), len(g.Times), len(want[i].Times))
		}
		for k, v := range g.Values {
			if math.Float64bits(v) != math.Float64bits(want[i].Values[k]) {
				return fmt.Sprintf("%s at %d s: %v, want %v", g.Device.Name(), g.Times[k]/1000-t0, v, want[i].Values[k])
			}
		}
	}
	return ""
}
