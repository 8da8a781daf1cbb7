package export

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// watts is a frame of a node with one GPU.
func watts(at time.Time, s *snapshot.Schema, power float64) *snapshot.Frame {
	values := make([]device.Values, 1)
	values[0].Fill(gpu.NotSupported)
	values[0].Set(device.Power, power)
	return &snapshot.Frame{Time: at, Schema: s, Readings: s.Flatten(values), Status: &snapshot.Status{}}
}

func oneGPU(n snapshot.Node, rows *snapshot.Rows) *snapshot.Schema {
	return snapshot.NewSchema(n, "", []gpu.Device{{Identity: gpu.Identity{UUID: "GPU-1"}}}, device.AllGroups, rows)
}

// value is a series' value, NaN-free; ok is false when there is no such series.
func value(t *testing.T, text []byte, name string) (float64, bool) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	require.NoError(t, err)
	f, ok := families[name]
	if !ok {
		return 0, false
	}
	return f.GetMetric()[0].GetGauge().GetValue(), true
}

// Scrapers every 15 seconds, whatever their phase, all see a spike of one sample, and none takes it from another.
func TestEveryScraperSeesTheSpike(t *testing.T) {
	n := node()
	e, store, rows := setup(t, n)
	s := oneGPU(n, rows)
	seen := map[int]int{}
	for i := range 120 {
		power := 100.0
		if i == 47 {
			power = 700
		}
		at := start.Add(time.Duration(i) * time.Second)
		require.NoError(t, store.Append(watts(at, s, power)))
		text := e.Append(nil, at)
		if greatest, ok := value(t, text, "gpu_power_window_max_watts"); ok && greatest == 700 {
			seen[i%15]++
		}
	}
	assert.Len(t, seen, 15)
	for phase, times := range seen {
		assert.GreaterOrEqual(t, times, 2, phase)
	}
}

func TestSettings(t *testing.T) {
	n := node()
	e, store, rows := setup(t, n)
	s := oneGPU(n, rows)
	for i := range 5 {
		require.NoError(t, store.Append(watts(start.Add(time.Duration(i)*time.Second), s, float64(100+i))))
	}
	now := start.Add(4 * time.Second)
	got, _ := value(t, e.Append(nil, now), "gpu_power_window_min_watts")
	assert.Equal(t, 100.0, got)

	e.Set(Settings{})
	text := e.Append(nil, now)
	assert.NotContains(t, string(text), "_window_")
	assert.Contains(t, string(text), "gpu_power_watts{")

	e.Set(Settings{Window: 30 * time.Second, Windowed: device.GroupsOf(device.GroupTemperature)})
	assert.NotContains(t, string(e.Append(nil, now)), "gpu_power_window")

	e.Set(Settings{Timestamps: true})
	assert.Contains(t, string(e.Append(nil, now)), fmt.Sprintf("} 104 %d\n", now.UnixMilli()))
	f := watts(now.Add(time.Second), s, 99)
	f.Sampled = &[device.NumGroups]time.Time{device.GroupPower: now.Add(300 * time.Millisecond)}
	require.NoError(t, store.Append(f))
	assert.Contains(t, string(e.Append(nil, now)), fmt.Sprintf("} 99 %d\n", now.Add(300*time.Millisecond).UnixMilli()))

	assert.ErrorContains(t, Settings{Window: time.Hour}.Check(), "the window of 1h0m0s must be 0s to 10m0s")
	assert.ErrorContains(t, Settings{MaxProcesses: -1}.Check(), "must be 0 or more")
}

// Two compute instances of one GPU instance may have the same profile.
func TestComputeInstancesAreToldApart(t *testing.T) {
	n := node()
	e, store, rows := setup(t, n)
	instance := func(ci string) gpu.Device {
		return gpu.Device{
			Identity:   gpu.Identity{UUID: "GPU-1", GPUInstance: "3", ComputeInstance: ci},
			MIGProfile: "1c.3g.71gb", MIGUUID: "MIG-" + ci, MIGEnabled: true,
		}
	}
	s := snapshot.NewSchema(n, "", []gpu.Device{instance("0"), instance("1")}, device.AllGroups, rows)
	values := make([]device.Values, 2)
	for i := range values {
		values[i].Set(device.SMActive, float64(i))
	}
	require.NoError(t, store.Append(&snapshot.Frame{Time: start, Schema: s, Readings: s.Flatten(values), Status: &snapshot.Status{}}))
	text := string(e.Append(nil, start))
	for i := range 2 {
		assert.Contains(t, text, fmt.Sprintf(`mig_profile="1c.3g.71gb",compute_instance_id="%d"} %d`, i, i))
	}
	assert.Contains(t, text, `gpu_mig_info{cluster="north",node="rack \"4\" \\ 7",gpu="0",gpu_uuid="GPU-1",model="",mig_id="3",`+
		`mig_profile="1c.3g.71gb",compute_instance_id="1",mig_uuid="MIG-1"} 1`)
}

// Neither the next frame nor another scraper costs memory.
func TestScrapesDoNotAllocate(t *testing.T) {
	n := node()
	e, store, rows := setup(t, n)
	first := simulated(t, n, rows, true)
	first.Sampled = &[device.NumGroups]time.Time{}
	for g := range first.Sampled {
		first.Sampled[g] = first.Time
	}
	require.NoError(t, store.Append(first))
	text := e.Append(nil, first.Time)
	assert.Zero(t, testing.AllocsPerRun(20, func() { text = e.Append(text[:0], first.Time) }), "the same frame")
	frames := make([]*snapshot.Frame, 30)
	for i := range frames {
		f := *first
		f.Time = first.Time.Add(time.Duration(i+1) * time.Second)
		frames[i] = &f
	}
	next := 0
	scrape := func() {
		require.NoError(t, store.Append(frames[next%len(frames)]))
		next++
		text = e.Append(text[:0], frames[0].Time)
	}
	for range 20 {
		scrape()
	}
	// Publishing a frame wakes readers up, which takes a channel; a longer text may take a longer buffer.
	assert.LessOrEqual(t, testing.AllocsPerRun(5, scrape), 2.0, "a new frame")
}
