package snapshot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

type windowBench struct {
	t      testing.TB
	store  *Store
	rows   *Rows
	schema *Schema
	at     time.Time
}

func newWindowBench(t testing.TB, frames int, uuids ...string) *windowBench {
	t.Helper()
	c, err := catalog.Load()
	require.NoError(t, err)
	rows, err := LoadRows(c)
	require.NoError(t, err)
	b := &windowBench{t: t, store: NewStore(time.Duration(frames)*time.Second, 1<<24), rows: rows, at: time.Unix(1_800_000_000, 0)}
	b.devices(uuids...)
	return b
}

func (b *windowBench) devices(uuids ...string) {
	var devices []gpu.Device
	for i, uuid := range uuids {
		devices = append(devices, gpu.Device{Identity: gpu.Identity{UUID: uuid}, Index: i})
	}
	b.schema = NewSchema(Node{Name: "n", Period: time.Second}, "", devices, device.AllGroups, b.rows)
}

// tick publishes a frame in which each device draws some power; a negative one is not read.
func (b *windowBench) tick(extents []device.Extent, watts ...float64) *Frame {
	values := make([]device.Values, len(watts))
	for i, w := range watts {
		values[i].Fill(gpu.Lost)
		if w >= 0 {
			values[i].Set(device.Power, w)
			values[i].Set(device.ClockEventReasons, float64(uint64(1)<<uint(int(w)%10)))
		}
	}
	b.at = b.at.Add(time.Second)
	f := &Frame{Time: b.at, Schema: b.schema, Readings: b.schema.Flatten(values), Extents: extents, Status: &Status{}}
	require.NoError(b.t, b.store.Append(f))
	return f
}

// of is the fold of a device's metric, and its mean.
func (b *windowBench) of(w *Window, uuid string, m device.Metric) (Fold, float64) {
	b.t.Helper()
	for i, column := range w.Columns() {
		c := b.schema.Columns[column]
		if c.Metric == m && b.schema.Devices[c.Device].UUID == uuid {
			if !w.Folds()[i].OK() {
				return Fold{}, 0
			}
			return w.Folds()[i], w.Mean(i)
		}
	}
	b.t.Fatalf("%s of %s is not folded", m, uuid)
	return Fold{}, 0
}

func TestWindowKeepsTheSpike(t *testing.T) {
	b := newWindowBench(t, 100, "GPU-0")
	early, late := NewWindow(b.store, device.AllGroups, 30*time.Second), NewWindow(b.store, device.AllGroups, 30*time.Second)
	b.tick(nil, 700)
	early.Update()
	for range 29 {
		f := b.tick(nil, 100)
		if f.Seq%7 == 0 {
			early.Update()
		}
	}
	for _, w := range []*Window{early, late} {
		w.Update()
		f, mean := b.of(w, "GPU-0", device.Power)
		assert.Equal(t, 100.0, f.Min)
		assert.Equal(t, 700.0, f.Max)
		assert.Equal(t, 120.0, mean)
		f, _ = b.of(w, "GPU-0", device.ClockEventReasons)
		assert.EqualValues(t, 1, f.Bits, "both are multiples of ten")
	}
	for range 4 {
		b.tick(nil, 101)
	}
	early.Update()
	f, _ := b.of(early, "GPU-0", device.Power)
	assert.Equal(t, 101.0, f.Max, "the spike is more than a window ago")
	f, _ = b.of(early, "GPU-0", device.ClockEventReasons)
	assert.EqualValues(t, 3, f.Bits)
}

func TestWindowCountsReadingsOnly(t *testing.T) {
	b := newWindowBench(t, 100, "GPU-0")
	w := NewWindow(b.store, device.AllGroups, 30*time.Second)
	b.tick(nil, -1)
	w.Update()
	f, _ := b.of(w, "GPU-0", device.Power)
	assert.False(t, f.OK())
	b.tick(nil, 200)
	w.Update()
	b.tick(nil, -1)
	w.Update()
	f, mean := b.of(w, "GPU-0", device.Power)
	assert.Equal(t, []float64{200, 200, 200}, []float64{f.Min, mean, f.Max})
}

func TestWindowTakesTheDriversOwnSamples(t *testing.T) {
	b := newWindowBench(t, 100, "GPU-0", "GPU-1")
	w := NewWindow(b.store, device.AllGroups, 30*time.Second)
	b.tick([]device.Extent{{Device: 1, Metric: device.Power, Min: 50.0004, Mean: 220, Max: 900, Count: 50}}, 200, 210)
	w.Update()
	f, mean := b.of(w, "GPU-1", device.Power)
	assert.Equal(t, []float64{50, 220, 900}, []float64{f.Min, mean, f.Max})
	f, _ = b.of(w, "GPU-0", device.Power)
	assert.Equal(t, 200.0, f.Max)
}

func TestWindowOutlivesAChangeOfDevices(t *testing.T) {
	b := newWindowBench(t, 100, "GPU-0", "GPU-1")
	w := NewWindow(b.store, device.AllGroups, 30*time.Second)
	b.tick(nil, 500, 600)
	w.Update()
	b.devices("GPU-2", "GPU-1")
	b.tick(nil, 100, 110)
	w.Update()
	f, _ := b.of(w, "GPU-1", device.Power)
	assert.Equal(t, 600.0, f.Max)
	f, _ = b.of(w, "GPU-2", device.Power)
	assert.Equal(t, 100.0, f.Max)
}

// A clock that is set back or forward costs what was before, and nothing else.
func TestWindowWhenTheClockIsSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			b := newWindowBench(t, 100, "GPU-0")
			w := NewWindow(b.store, device.AllGroups, 30*time.Second)
			b.tick(nil, 500)
			w.Update()
			b.at = b.at.Add(by)
			b.tick(nil, 100)
			w.Update()
			b.tick(nil, 110)
			w.Update()
			f, mean := b.of(w, "GPU-0", device.Power)
			assert.Equal(t, []float64{100, 105, 110}, []float64{f.Min, mean, f.Max})
		})
	}
}

func TestWindowFoldsWhatItIsToldTo(t *testing.T) {
	b := newWindowBench(t, 100, "GPU-0")
	w := NewWindow(b.store, device.GroupsOf(device.GroupPower, device.GroupMemory), 30*time.Second)
	b.tick(nil, 500)
	w.Update()
	var names []string
	for _, column := range w.Columns() {
		names = append(names, b.schema.Columns[column].Metric.String())
	}
	assert.Equal(t, []string{"gpu_memory_used_bytes", "gpu_memory_free_bytes", "gpu_power_watts", "gpu_power_instant_watts"}, names)
}

// Samples in quick succession say no more of the mean than those that stand for longer.
func TestWindowWeighsByTime(t *testing.T) {
	b := newWindowBench(t, 100, "GPU-0")
	w := NewWindow(b.store, device.AllGroups, 30*time.Second)
	b.tick(nil, 100)
	quick := b.schema.Node
	quick.Period = 100 * time.Millisecond
	b.schema = b.schema.At(quick)
	for range 10 {
		b.at = b.at.Add(-900 * time.Millisecond)
		b.tick(nil, 300)
	}
	assert.EqualValues(t, 11, w.Update().Seq)
	f, mean := b.of(w, "GPU-0", device.Power)
	assert.Equal(t, []float64{100, 200, 300}, []float64{f.Min, mean, f.Max})
}

// A window that is made later knows what the store kept.
func TestWindowOfThePast(t *testing.T) {
	b := newWindowBench(t, 100, "GPU-0")
	b.tick(nil, 900)
	for range 50 {
		b.tick(nil, 100)
	}
	b.tick(nil, 500)
	b.tick(nil, -1)
	w := NewWindow(b.store, device.AllGroups, 30*time.Second)
	w.Update()
	f, _ := b.of(w, "GPU-0", device.Power)
	assert.Equal(t, []float64{100, 500}, []float64{f.Min, f.Max})
	w.Close()
	b.tick(nil, 700)
	assert.EqualValues(t, 53, w.Update().Seq)
}

func BenchmarkWindow(b *testing.B) {
	bench := newWindowBench(b, 400, "0", "1", "2", "3", "4", "5", "6", "7")
	bench.schema.Node.Period = 100 * time.Millisecond
	w := NewWindow(bench.store, device.AllGroups, 30*time.Second)
	for range 300 {
		bench.tick(nil, 1, 2, 3, 4, 5, 6, 7, 8)
		bench.at = bench.at.Add(-900 * time.Millisecond)
	}
	last := bench.store.Newest()
	b.ReportAllocs()
	for b.Loop() {
		w.take(last)
		w.Update()
	}
}
