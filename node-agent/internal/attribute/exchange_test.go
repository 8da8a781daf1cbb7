package attribute

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/locate"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestDevicesOfAFrame(t *testing.T) {
	first, second := gpu.Device{Identity: gpu.Identity{UUID: gpu0}}, gpu.Device{Identity: gpu.Identity{UUID: gpu1}, Index: 1}
	instance := second
	instance.GPUInstance = "7"
	frame := func(a, b device.Facts) *snapshot.Frame {
		return &snapshot.Frame{
			Schema: &snapshot.Schema{Devices: []gpu.Device{first, second, instance}},
			Status: &snapshot.Status{Boards: []snapshot.Board{{Device: first, Facts: a}, {Device: second, Facts: b}}},
		}
	}
	got := DevicesOf(frame(device.Facts{Minor: 3}, device.Facts{Minor: -1, Placements: map[string]device.Placement{"7": {Start: 4, Size: 1}}}))
	assert.Equal(t, []locate.Device{
		{Device: first, Minor: 3, Start: locate.Unknown}, {Device: second, Minor: locate.Unknown, Start: locate.Unknown},
		{Device: instance, Minor: locate.Unknown, Start: 4},
	}, got)
	for _, d := range DevicesOf(frame(device.Facts{}, device.Facts{})) {
		assert.Equal(t, locate.Unknown, d.Minor, "it was not read")
	}
	assert.Empty(t, DevicesOf(nil))
	assert.Empty(t, UsagesOf(nil))
	assert.Equal(t, []Usage{{UUID: gpu0, GPUInstance: "7", PID: 5}}, UsagesOf(&snapshot.ProcessList{Processes: []snapshot.Process{
		{UUID: gpu0, Process: device.Process{PID: 5, GPUInstance: "7"}},
	}}))
}

func TestWhatIsPublished(t *testing.T) {
	w := newWorld(t)
	var published *Snapshot
	w.options.Publish = func(s *Snapshot) { published = s }
	w.runs(101, "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_0", gpu0, "")
	w.runs(102, "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_1", gpu0, "")
	w.runs(103, "/user.slice", gpu0, "")
	a, s := w.look()
	require.Same(t, s, published)
	require.Len(t, s.Owners, 3, "one for each task")
	list := s.List()
	assert.WithinDuration(t, time.Now(), list.Time, time.Hour)
	job := device.Owner{UUID: gpu0, SlurmJob: "s5K1KKYAYG5D00", SlurmStep: "0", User: "ana", Source: FromSlurmCgroup}
	assert.Equal(t, []device.Owner{{UUID: gpu0, User: "ana", Source: FromProcess}, job}, list.Owners)

	d := Describer{a}
	name, user, owner, ok := d.Describe(101)
	job.UUID = ""
	assert.True(t, ok)
	assert.Equal(t, []any{"python3", "ana", &job}, []any{name, user, owner})
	_, _, owner, ok = d.Describe(103)
	assert.True(t, ok)
	assert.Nil(t, owner, "a user is no workload")
	_, _, _, ok = d.Describe(104)
	assert.False(t, ok)
	w.namespace(containerNamespace)
	a, _ = w.look()
	_, _, _, ok = Describer{a}.Describe(101)
	assert.False(t, ok)
}

func TestNoGPUIsKnownYet(t *testing.T) {
	w := newWorld(t)
	w.devices = nil
	w.kubelet()
	w.pod("train-0", mig7, gpu0)
	_, s := w.look()
	assert.Len(t, s.Owners, 1, "a GPU's UUID tells enough")
	assert.Equal(t, []string{"no GPU of this node is known yet"}, s.Notices)
}
