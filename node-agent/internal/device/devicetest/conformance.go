// Package devicetest holds every implementation of the agent's hardware seam to the same behaviour.
package devicetest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Harness makes a source with at least one board, and moves its time.
type Harness struct {
	Source device.Source
	// Advance lets time pass for the source and returns the new time.
	Advance func(time.Duration) time.Time
}

// Run checks a source. build is called for each part, so that none depends on another.
func Run(t *testing.T, build func(t *testing.T) Harness) {
	t.Run("identity", func(t *testing.T) { identity(t, build(t)) })
	t.Run("inventory is stable", func(t *testing.T) { stable(t, build(t)) })
	t.Run("readings", func(t *testing.T) { readings(t, build(t)) })
	t.Run("groups are read apart", func(t *testing.T) { groups(t, build(t)) })
	t.Run("physics", func(t *testing.T) { physics(t, build(t)) })
	t.Run("processes", func(t *testing.T) { processes(t, build(t)) })
	t.Run("facts", func(t *testing.T) { facts(t, build(t)) })
	t.Run("extents", func(t *testing.T) { extents(t, build(t)) })
	t.Run("reopen", func(t *testing.T) { reopen(t, build(t)) })
	t.Run("events end with their context", func(t *testing.T) { events(t, build(t)) })
}

func open(t *testing.T, h Harness) []device.Board {
	t.Helper()
	require.NoError(t, h.Source.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, h.Source.Close()) })
	found, err := h.Source.Inventory(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Unreadable)
	require.NotEmpty(t, found.Boards)
	require.NotEmpty(t, found.Driver)
	return found.Boards
}

func identity(t *testing.T, h Harness) {
	require.NotEmpty(t, h.Source.Name())
	seen := map[gpu.Identity]bool{}
	indices := map[int]bool{}
	for _, b := range open(t, h) {
		devices := b.Devices()
		require.NotEmpty(t, devices)
		board := devices[0]
		assert.False(t, board.IsMIG(), "the board comes first")
		assert.Regexp(t, `^GPU-`, board.UUID)
		assert.NotEmpty(t, board.Model)
		assert.Regexp(t, `^[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]$`, board.PCIBusID)
		assert.False(t, indices[board.Index], "index %d twice", board.Index)
		indices[board.Index] = true
		for i, d := range devices {
			assert.False(t, seen[d.Identity], "%s twice", d.Name())
			seen[d.Identity] = true
			assert.Empty(t, d.Node, "the agent names the node, not the source")
			assert.Equal(t, board.UUID, d.UUID)
			assert.Equal(t, board.MIGEnabled, d.MIGEnabled)
			if i > 0 {
				assert.True(t, d.IsMIG())
				assert.True(t, d.MIGEnabled)
				assert.Regexp(t, `^\d+g\.\d+gb`, d.MIGProfile)
			}
		}
	}
}

func stable(t *testing.T, h Harness) {
	first := open(t, h)
	again, err := h.Source.Inventory(t.Context())
	require.NoError(t, err)
	require.Len(t, again.Boards, len(first))
	for i := range first {
		assert.Same(t, first[i], again.Boards[i])
	}
}

func readings(t *testing.T, h Harness) {
	rows, err := catalog.Load()
	require.NoError(t, err)
	boards := open(t, h)
	last := map[gpu.Identity]device.Values{}
	for range 30 {
		at := h.Advance(time.Second)
		for _, b := range boards {
			devices := b.Devices()
			sample := device.Sample{Values: make([]device.Values, len(devices))}
			require.NoError(t, b.Sample(t.Context(), at, device.AllGroups, &sample))
			values := sample.Values
			for i, d := range devices {
				checkReadings(t, rows, d, &values[i])
				checkCounters(t, rows, d, last, &values[i])
				last[d.Identity] = values[i]
			}
		}
	}
}

func checkReadings(t *testing.T, rows *catalog.Catalog, d gpu.Device, v *device.Values) {
	t.Helper()
	for m := range device.NumMetrics {
		r := v[m]
		row, _ := rows.Metric(m.String())
		if !r.OK() {
			assert.Zero(t, r.Value, "%s of %s is absent but has a value", m, d.Name())
			continue
		}
		assert.False(t, math.IsNaN(r.Value) || math.IsInf(r.Value, 0), "%s of %s", m, d.Name())
		if !row.Signed {
			assert.GreaterOrEqual(t, r.Value, 0.0, "%s of %s", m, d.Name())
		}
		if row.Max > 0 && row.Kind == catalog.Gauge {
			assert.LessOrEqual(t, r.Value, row.Max, "%s of %s", m, d.Name())
		}
		if d.IsMIG() {
			assert.True(t, m.PerInstance(), "%s is no metric of an instance", m)
		}
	}
	if d.MIGEnabled && !d.IsMIG() {
		for _, m := range []device.Metric{
			device.Utilization, device.MemoryUtilization, device.EncoderUtilization, device.DecoderUtilization,
		} {
			assert.Equal(t, gpu.NotSupported, v[m].State, "%s of a board in MIG mode", m)
		}
	}
	checkMemory(t, d, v)
}

func checkCounters(t *testing.T, rows *catalog.Catalog, d gpu.Device, last map[gpu.Identity]device.Values, v *device.Values) {
	t.Helper()
	before, ok := last[d.Identity]
	if !ok {
		return
	}
	for m := range device.NumMetrics {
		if row, _ := rows.Metric(m.String()); row.Kind == catalog.Counter && before[m].OK() && v[m].OK() {
			assert.GreaterOrEqual(t, v[m].Value, before[m].Value, "%s of %s fell", m, d.Name())
		}
	}
}

func reopen(t *testing.T, h Harness) {
	require.NoError(t, h.Source.Open(t.Context()))
	first, err := h.Source.Inventory(t.Context())
	require.NoError(t, err)
	ids := identities(first.Boards)
	require.NoError(t, h.Source.Close())
	assert.Equal(t, ids, identities(open(t, h)))
}

func identities(boards []device.Board) []gpu.Device {
	var all []gpu.Device
	for _, b := range boards {
		all = append(all, b.Devices()...)
	}
	return all
}

func events(t *testing.T, h Harness) {
	open(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Source.Events(ctx, func(device.Event) {}) }()
	cancel()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, device.ErrNotSupported) && !errors.Is(err, context.Canceled) {
			t.Errorf("Events ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("Events goes on after its context ended")
	}
}
