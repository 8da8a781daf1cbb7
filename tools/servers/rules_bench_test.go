package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Size of the benchmark's cluster.
const (
	benchNodes = 125
	benchDays  = 14
)

// benchFleet is nodes of 8 GPUs, a value a minute, and what the rules make of them.
func benchFleet() (lines []line) {
	value := func(gpu int, t int64) float64 {
		return float64(100+int(t/minute*7919+int64(gpu)*104729)%600000/1000) + 0.125*float64(gpu%8)
	}
	for i := range 8 * benchNodes {
		node := fmt.Sprintf("node-%03d", i/8)
		lines = append(lines, line{labels: labels.FromStrings(labels.MetricName, "DCGM_FI_DEV_POWER_USAGE", "Hostname", node, "gpu", fmt.Sprint(i%8),
			"UUID", fmt.Sprintf("GPU-%04d", i), "modelName", "NVIDIA H100 80GB HBM3", "device", fmt.Sprintf("nvidia%d", i%8), "instance", node+":9400",
			"job", "dcgm", "pci_bus_id", fmt.Sprintf("00000000:%02x:00.0", i%8), "DCGM_FI_DRIVER_VERSION", "550.54.15"),
			at: func(t int64) float64 { return value(i, t) }})
	}
	add := func(level string, from, to int, more ...string) {
		set := func(what string) labels.Labels {
			return labels.FromStrings(append([]string{labels.MetricName, "gpu:power_watts:" + what + "_by_" + level, "model", "NVIDIA H100 80GB HBM3"}, more...)...)
		}
		lines = append(lines,
			line{labels: set("sum"), at: func(t int64) (sum float64) {
				for i := from; i < to; i++ {
					sum += value(i, t)
				}
				return sum
			}},
			line{labels: set("count"), at: func(int64) float64 { return float64(to - from) }})
	}
	for n := range benchNodes {
		add("node", 8*n, 8*n+8, "node", fmt.Sprintf("node-%03d", n))
	}
	add("cluster", 0, 8*benchNodes)
	return lines
}

// BenchmarkRollup asks for the average power of a cluster over all of the past, of its rules and of each GPU, without a cache.
// The name in the benchmark runner is history-rollup.
func BenchmarkRollup(b *testing.B) {
	end := t0 + benchDays*24*hour
	dir := filepath.Join(os.Getenv(folderEnv), "rollup")
	if _, err := os.Stat(dir); err != nil {
		// Once for all counts: it takes much longer than the queries.
		store(b, dir, t0, end, minute, benchFleet())
	}
	s := start(b, dir, "")
	h := open(b, history.Endpoint{ID: "p", Cluster: "north", URL: s.url})
	w := query.NewWindow(query.WindowOptions{From: time.Unix(t0, 0), To: time.Unix(end-minute, 0), MaxDataPoints: 1000, ScrapeInterval: 15 * time.Second})
	for _, by := range []string{"cluster", "node"} {
		q, m := asked(b, "gpu_power_watts", fmt.Sprintf(`,"aggregateBy":%q,"aggregation":"avg"`, by))
		got, ok := h.Rollup(context.Background(), q, m, w)
		if !ok {
			b.Fatalf("the rules were not used: %s", got.Executed)
		}
		if diff := far(got.Series, raw(b, h, q, w), 0, 0); diff != "" {
			b.Fatal(diff)
		}
		b.Run("ours-"+by, func(b *testing.B) {
			for b.Loop() {
				h.Rollup(context.Background(), q, m, w)
			}
		})
		b.Run("raw-"+by, func(b *testing.B) {
			for b.Loop() {
				raw(b, h, q, w)
			}
		})
	}
}
