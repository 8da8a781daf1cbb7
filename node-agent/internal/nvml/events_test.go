package nvml

import (
	"context"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
)

// listen runs Events until the test ends.
func listen(t *testing.T, s *Source, m *nvmltest.Machine) chan device.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan device.Event, 20)
	done := make(chan error, 1)
	go func() { done <- s.Events(ctx, func(e device.Event) { got <- e }) }()
	t.Cleanup(func() {
		cancel()
		assert.ErrorIs(t, <-done, context.Canceled)
	})
	for m.Calls()["EventSetWait"] == 0 {
		time.Sleep(time.Millisecond)
	}
	return got
}

func TestEvents(t *testing.T) {
	m := machine(t, "dgx_h200")
	s, boards := opened(t, m)
	got := listen(t, s, m)
	for kind, want := range eventKinds {
		m.Emit(2, kind, 31)
		e := <-got
		assert.Equal(t, want, e.Kind)
		assert.Equal(t, boards[2].Devices()[0].UUID, e.UUID)
		assert.Equal(t, device.FromNVML, e.Origin)
		assert.Empty(t, e.GPUInstance)
		if want == device.EventXID {
			assert.EqualValues(t, 31, e.XID)
		} else {
			assert.Zero(t, e.XID)
		}
	}
}

// The GPU that reports XID 79 does not answer any more when the event is read.
func TestTheLastWordOfAGPU(t *testing.T) {
	m := machine(t, "D01_gpu_lost")
	s, boards := opened(t, m)
	got := listen(t, s, m)
	m.Advance(31 * time.Second)
	e := <-got
	assert.EqualValues(t, 79, e.XID)
	assert.Equal(t, boards[3].Devices()[0].UUID, e.UUID)
}

func TestGPUsThatComeLaterAreListenedTo(t *testing.T) {
	m := machine(t, "D25_late_gpus")
	s, _ := opened(t, m)
	got := listen(t, s, m)
	m.Advance(40 * time.Second)
	_, err := s.Inventory(t.Context())
	require.NoError(t, err)
	m.Advance(time.Second)
	for m.Calls()["RegisterEvents"] == 0 {
		m.Advance(time.Millisecond)
		time.Sleep(time.Millisecond)
	}
	m.Emit(0, nvml.EventTypeXidCriticalError, 13)
	assert.EqualValues(t, 13, (<-got).XID)
}

func TestEventsAreTranslated(t *testing.T) {
	m := machine(t, "h200_mig")
	s, _ := opened(t, m)
	handle, _ := m.DeviceGetHandleByIndex(0)
	l := &listener{source: s, boards: map[nvml.Device]*listened{handle: {uuid: "GPU-1", split: true}}}
	e, ok := l.event(nvml.EventData{Device: handle, EventType: nvml.EventTypeXidCriticalError, EventData: 43, GpuInstanceId: 3, ComputeInstanceId: noInstance})
	assert.True(t, ok)
	assert.Equal(t, device.Event{
		Kind: device.EventXID, Origin: device.FromNVML, Time: m.Clock(), UUID: "GPU-1", GPUInstance: "3", XID: 43,
	}, e)
	_, ok = l.event(nvml.EventData{EventType: 1 << 30})
	assert.False(t, ok, "D26: not a kind that is known")
	e, ok = l.event(nvml.EventData{EventType: nvml.EventMigConfigChange})
	assert.True(t, ok)
	assert.Empty(t, e.UUID, "nobody knows the board")

	// Clocks change all the time under a power cap: once a minute is told.
	told := 0
	for range 100 {
		if _, ok := l.event(nvml.EventData{Device: handle, EventType: nvml.EventTypeClock}); ok {
			told++
		}
	}
	assert.Equal(t, 1, told)
	m.Advance(time.Minute)
	e, ok = l.event(nvml.EventData{Device: handle, EventType: nvml.EventTypeClock})
	assert.True(t, ok)
	assert.Contains(t, e.Detail, "100 times since ")
}

func TestEventsOfNoBoard(t *testing.T) {
	m := machine(t, "h200")
	s, _ := opened(t, m)
	m.Put(0, "GetSupportedEventTypes", nvmltest.Answer{Value: nvmltest.Value{Base: 4}})
	assert.ErrorIs(t, s.Events(t.Context(), nil), device.ErrNotSupported)
}
