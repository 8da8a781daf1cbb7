package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// inventoryOf answers for the twenty minutes after t0.
func inventoryOf(t *testing.T, h *History, raw string, metrics ...string) Inventory {
	t.Helper()
	q, err := query.Parse([]byte(raw), query.TypeInventory)
	if err != nil {
		t.Fatal(err)
	}
	known := mustCatalog(t)
	var wanted []catalog.Metric
	for _, name := range metrics {
		m, ok := known.Metric(name)
		if !ok {
			t.Fatal(name)
		}
		wanted = append(wanted, m)
	}
	got := h.Inventory(context.Background(), q.Scope, window(1200, 30*time.Second), wanted)
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	return got
}

func listedRows(inv Inventory) []string {
	var lines []string
	for _, row := range inv.Rows {
		line := row.Device.Name()
		for _, o := range row.Owners {
			line += " of " + o.Name()
		}
		for _, name := range []string{"gpu_sm_active_ratio", "gpu_memory_used_bytes", "gpu_power_watts"} {
			if v, ok := row.Values[name]; ok {
				line += fmt.Sprintf(" %s=%g", strings.TrimPrefix(name, "gpu_"), v)
			}
		}
		if row.Gone {
			line += fmt.Sprintf(" gone at %d", row.Last.Unix()-t0)
		} else if !row.Sampled.IsZero() {
			line += fmt.Sprintf(" seen at %d", row.Sampled.Unix()-t0)
		}
		lines = append(lines, line)
	}
	return lines
}

func wantDevices(t *testing.T, inv Inventory, want ...string) {
	t.Helper()
	if got := listedRows(inv); !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s\nasked %s\nnotices %v", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), inv.Executed, inv.Notices)
	}
}

// The agent and dcgm-exporter know the same board by other node names; it is one row, with the owners that both tell.
func TestInventoryOfTwoExporters(t *testing.T) {
	s := &promtest.Store{}
	owner := []string{"exported_pod", "train-0", "exported_namespace", "ml", "exported_container", "main"}
	s.Add(dcgmSeries("DCGM_FI_DEV_POWER_USAGE", 0, owner...), scraped(-600, 1200, always(300))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_FB_USED", 0, owner...), scraped(-600, 1170, always(1024))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_POWER_USAGE", 1), scraped(-600, 1170, always(2147483632))...) // no value
	agent := func(name string, more ...string) map[string]string {
		labels := map[string]string{
			"__name__": name, "node": "gpu01", "gpu": "0", "gpu_uuid": "GPU-5e1f0000-0a00-4a00-8b00-000000000000", "model": "NVIDIA H100 80GB HBM3",
			"instance": "10.9.0.11:9847", "job": "warpwatch-agent", "pod": "warpwatch-agent-x2x2x", "namespace": "monitoring",
		}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		return labels
	}
	s.Add(agent("gpu_info", "driver_version", "590.48.01", "pci_bus_id", "00000000:10:00.0"), scraped(-600, 1200, always(1))...)
	s.Add(agent("gpu_sm_active_ratio"), scraped(-600, 1200, always(0.5))...)
	s.Add(agent("gpu_owner_info", "slurm_job", "4711", "user", "ada", "source", "slurm"), scraped(-600, 1200, always(1))...)
	h := open(t, s)
	metrics := []string{"gpu_sm_active_ratio", "gpu_memory_used_bytes", "gpu_power_watts"}
	inv := inventoryOf(t, h, `{}`, metrics...)
	wantDevices(t, inv,
		"gpu01 · GPU 0 · H100 80GB HBM3 of ml/train-0 of job 4711 sm_active_ratio=0.5 memory_used_bytes=1.073741824e+09 power_watts=300 seen at 1200",
		"rack1-gpu01 · GPU 1 · H100 80GB HBM3 seen at 1170")
	if d := inv.Rows[0].Device; d.Driver != "590.48.01" || d.PCIBusID != "00000000:10:00.0" {
		t.Errorf("got %+v", d)
	}
	if o := inv.Rows[0].Owners; !slices.Contains(o, gpu.Owner{SlurmJob: "4711", User: "ada", Source: "slurm"}) {
		t.Errorf("owners %+v", o)
	}

	// A scope of owners finds the device whichever exporter tells of them, and its values come from all.
	for _, scope := range []string{`{"jobs":["4711"]}`, `{"pods":["train-0"]}`, `{"namespaces":["ml"],"nodes":["gpu01"]}`} {
		wantDevices(t, inventoryOf(t, h, scope, metrics...),
			"gpu01 · GPU 0 · H100 80GB HBM3 of ml/train-0 of job 4711 sm_active_ratio=0.5 memory_used_bytes=1.073741824e+09 power_watts=300 seen at 1200")
	}
	wantDevices(t, inventoryOf(t, h, `{"pods":["unassigned"]}`), "rack1-gpu01 · GPU 1 · H100 80GB HBM3 seen at 1170")
	wantDevices(t, inventoryOf(t, h, `{"pods":["warpwatch-agent-x2x2x"]}`))
}

// What there was within the range and is not any more has a row that says since when.
func TestInventoryOfWhatIsGone(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_POWER_USAGE", 0), scraped(-600, 1200, always(300))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_POWER_USAGE", 1), ended(scraped(-600, 600, always(300)))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_POWER_USAGE", 2), ended(scraped(-600, -300, always(300)))...)
	h := open(t, s)
	wantDevices(t, inventoryOf(t, h, `{}`, "gpu_power_watts"),
		"rack1-gpu01 · GPU 0 · H100 80GB HBM3 power_watts=300 seen at 1200",
		"rack1-gpu01 · GPU 1 · H100 80GB HBM3 gone at 600")
	wantDevices(t, inventoryOf(t, h, `{"gpus":["/GPU-5e1f0000.*/"]}`, "gpu_power_watts"), "rack1-gpu01 · GPU 0 · H100 80GB HBM3 power_watts=300 seen at 1200")
}

// MIG instances have rows of their own; what only boards have stays away from them.
func TestInventoryOfMIGInstances(t *testing.T) {
	h := open(t, exposition(t, "mig_sum.prom"))
	inv := inventoryOf(t, h, `{}`, "gpu_memory_used_bytes", "gpu_power_watts")
	migs := 0
	for _, row := range inv.Rows {
		if row.Device.IsMIG() {
			migs++
			if _, ok := row.Values["gpu_power_watts"]; ok || row.Device.MIGProfile == "" {
				t.Errorf("%s: %v", row.Device.Name(), row.Values)
			}
		}
	}
	if migs == 0 || len(inv.Rows) <= migs {
		t.Errorf("%d rows, %d of MIG instances", len(inv.Rows), migs)
	}
}
