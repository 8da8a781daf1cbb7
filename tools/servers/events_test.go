package servers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// A real Prometheus shows what happened, once each: also while the exporters are upgraded, which renames every series and is
// nothing that happened to a GPU.
func TestEventsAndInventory(t *testing.T) {
	t.Parallel()
	end := t0 + 2*hour
	change := t0 + hour
	all := generations()
	lines := append(all["3.x"].exported("n0", t0, change), all["4.9"].exported("n0", change, end)...)
	lines = append(lines, all["4.9"].exported("n1", t0, end)...)
	named := func(name, node string, i int, at func(int64) float64, more ...string) {
		texts := append([]string{labels.MetricName, name, "hostname", node, "gpu", fmt.Sprint(i), "UUID", fmt.Sprintf("GPU-%s-%d", node, i),
			"modelName", "NVIDIA H100 80GB HBM3", "instance", node + ":9400", "job", "dcgm"}, more...)
		lines = append(lines, line{labels: labels.FromStrings(texts...), at: at})
	}
	level := func(v float64) func(int64) float64 { return func(int64) float64 { return v } }
	named("DCGM_FI_DEV_XID_ERROR", "n1", 0, during(t0, t0+600, level(0)), "err_code", "0", "err_msg", "No Error")
	named("DCGM_FI_DEV_XID_ERROR", "n1", 0, during(t0+600, end, level(31)), "err_code", "31", "err_msg", "GPU memory page fault, or so -- maybe")
	named("DCGM_EXP_XID_ERRORS_TOTAL", "n1", 1, during(t0+1200, end, level(2)), "xid", "79")
	named("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "n1", 2, func(at int64) float64 {
		if at >= t0+1800 && at < t0+1920 {
			return 0x48
		}
		return 4
	})
	named("DCGM_FI_DEV_GPU_TEMP_CELSIUS", "n1", 5, during(t0, t0+2400, level(40)))
	named("DCGM_FI_DEV_FB_USED_BYTES", "n1", 3, during(t0, t0+3000, level(1<<30)), "GPU_I_ID", "1", "GPU_I_PROFILE", "3g.40gb")
	named("DCGM_FI_DEV_FB_USED_BYTES", "n1", 3, during(t0+3060, end, level(1<<30)), "GPU_I_ID", "7", "GPU_I_PROFILE", "1g.10gb")

	dir := t.TempDir()
	store(t, dir, t0, end, 15, lines)
	h := open(t, history.Endpoint{ID: "p", Cluster: "north", URL: start(t, dir, "").url})
	w := query.NewWindow(query.WindowOptions{
		From: time.Unix(t0+300, 0), To: time.Unix(end-minute, 0), MaxDataPoints: 11_000, MinStep: 15 * time.Second, ScrapeInterval: 15 * time.Second,
	})
	q, err := query.Parse([]byte(`{"queryType":"events"}`), "")
	if err != nil {
		t.Fatal(err)
	}
	got := h.Events(t.Context(), q, w)
	if got.Err != nil || got.Failed {
		t.Fatal(got.Err, texts(got.Notices))
	}
	var told []string
	for _, e := range got.List {
		told = append(told, fmt.Sprintf("%d %s %d %s", e.Time.Unix()-t0, e.Kind, e.XID, e.Device.UUID))
	}
	want := []string{
		"600 xid 31 GPU-n1-0", "1200 xid 79 GPU-n1-1", "1800 throttle 0 GPU-n1-2", "2400 lost 0 GPU-n1-5", "3000 mig_layout_changed 0 GPU-n1-3",
	}
	if !slices.Equal(told, want) {
		t.Errorf("got %q\nwant %q\nasked %s", told, want, got.Executed)
	}

	var metrics []catalog.Metric
	for _, name := range []string{"gpu_power_watts", "gpu_memory_used_bytes", "gpu_clock_event_reasons"} {
		_, m := asked(t, name, "")
		metrics = append(metrics, m)
	}
	inv := h.Inventory(t.Context(), q.Scope, w, metrics)
	if inv.Err != nil {
		t.Fatal(inv.Err)
	}
	var gone []string
	present := 0
	for _, row := range inv.Rows {
		if row.Gone {
			gone = append(gone, fmt.Sprintf("%s/%s at %d", row.Device.UUID, row.Device.GPUInstance, row.Last.Unix()-t0))
			continue
		}
		present++
		if _, ok := row.Values["gpu_memory_used_bytes"]; !ok || row.Sampled.Before(w.To.Add(-time.Minute)) {
			t.Errorf("%s: %v at %s", row.Device.Name(), row.Values, row.Sampled)
		}
	}
	slices.Sort(gone)
	if want := []string{"GPU-n1-3/1 at 2985", "GPU-n1-5/ at 2385"}; present != 9 || !slices.Equal(gone, want) {
		t.Errorf("%d present, gone %q, want %q; notices %v", present, gone, want, texts(inv.Notices))
	}
}
