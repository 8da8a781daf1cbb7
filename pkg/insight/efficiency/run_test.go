package efficiency

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

// busyHour is an hour in which all devices work.
func busyHour(devices ...gpu.Device) *insight.Devices {
	subjects := make([]insight.Subject, len(devices))
	for i, d := range devices {
		subjects[i] = insight.Subject{Device: d, Owners: []gpu.Owner{{Pod: "p"}}}
	}
	g := insight.NewGrid(insighttest.Start, insighttest.Start.Add(time.Hour), 30*time.Minute, subjects)
	for i := range devices {
		g.Set(insight.Field{Metric: smActive}, i, []float64{0.9, 0.9})
	}
	return g
}

func told(r *Result, text string) bool {
	for _, n := range r.Notices {
		if strings.Contains(n.Text, text) {
			return true
		}
	}
	return false
}

func TestADeviceThatIsThereTwiceCountsOnce(t *testing.T) {
	whole := gpu.Device{Identity: gpu.Identity{Node: "n", UUID: "GPU-1"}}
	part := gpu.Device{Identity: gpu.Identity{Node: "n", UUID: "GPU-2", GPUInstance: "1"}, MIGProfile: "7g.80gb"}
	r := Measure(Input{Devices: busyHour(whole, part, whole, part)}, DefaultLimits(), Tariff{}, Options{})
	assert.InDelta(t, 2, r.Total.Hours.Used, 1e-9)
	assert.InDelta(t, 2, r.Total.Hours.Total(), 1e-9)
}

func TestDevicesWithoutUUIDAreNotOne(t *testing.T) {
	nameless := gpu.Device{Identity: gpu.Identity{Node: "n"}}
	r := Measure(Input{Devices: busyHour(nameless, nameless)}, DefaultLimits(), Tariff{}, Options{})
	assert.InDelta(t, 2, r.Total.Hours.Total(), 1e-9)
}

func TestItSaysWhatItLeavesOut(t *testing.T) {
	g := busyHour(gpu.Device{Identity: gpu.Identity{Node: "n", UUID: "GPU-1", GPUInstance: "1"}})
	later := insight.NewGrid(insighttest.Start.Add(time.Hour), insighttest.Start.Add(2*time.Hour), 30*time.Minute, []insight.Workload{{Pod: "p"}})
	r := Measure(Input{Devices: g, Workloads: later, Tenures: []Tenure{{Subject: 7, From: 0, To: 1}}}, Limits{}, Tariff{PUE: 0.1}, Options{})
	assert.True(t, told(r, "of other times"), r.Notices)
	assert.True(t, told(r, "idleActivity"), r.Notices)
	assert.True(t, told(r, "pue"), r.Notices)
	assert.True(t, told(r, "profile of some MIG instances"), r.Notices)
	assert.InDelta(t, 1.0/7, r.Total.Hours.Used, 1e-9, "as the smallest")
}

func TestPricesGoByWords(t *testing.T) {
	tariff := Tariff{Currency: "EUR", Prices: []Price{{Model: "H100", PerGPUHour: 1}, {Model: "NVIDIA H100 NVL", PerGPUHour: 2}, {Cluster: "c", PerGPUHour: 3, Currency: "USD"}}}
	for _, c := range []struct {
		model, cluster string
		want           money
		known          bool
	}{
		{"NVIDIA H100 80GB HBM3", "", money{"EUR", 1}, true},
		{"NVIDIA-H100-NVL", "d", money{"EUR", 2}, true},
		{"NVIDIA H100 NVL", "c", money{"USD", 3}, true},
		{"NVIDIA H1000", "", money{}, false},
		{"", "", money{}, false},
	} {
		got, known := tariff.price(c.model, c.cluster)
		assert.Equal(t, c.want, got, c.model)
		assert.Equal(t, c.known, known, c.model)
	}
}
