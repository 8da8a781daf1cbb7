package collect

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

type fakeDescriber map[int]string

func (f fakeDescriber) Describe(pid int) (name, user string, owner *device.Owner, ok bool) {
	name, ok = f[pid]
	return name, "alice", nil, ok
}

func (b *bench) list() *snapshot.ProcessList {
	l, _ := b.processes.Get()
	require.NotNil(b.t, l)
	return l
}

func TestProcesses(t *testing.T) {
	runWith(t, 2, func(o *Options) { o.Describer = fakeDescriber{7: "python", 8: "ghost"} }, func(b *bench) {
		b.boards[0].processes = []device.Process{{PID: 7, Kind: device.Compute, Memory: gpu.Read(1 << 30), SM: gpu.Read(0.5)}}
		b.wait(11500 * time.Millisecond)
		l := b.list()
		require.Len(t, l.Processes, 1)
		p := l.Processes[0]
		assert.Equal(t, []string{"GPU-0", "python", "alice"}, []string{p.UUID, p.Name, p.User})
		assert.Empty(t, l.Incomplete)
		assert.Equal(t, b.store.Newest().Time.Truncate(5*time.Second), l.Time)
		assert.Equal(t, 3, b.boards[0].lists, "at the group's interval")

		b.boards[1].set(func() { b.boards[1].processes = []device.Process{{PID: 9}} })
		b.wait(5 * time.Second)
		assert.Equal(t, "1 processes have no name: they have ended, or "+shareProcesses, b.list().Incomplete)

		b.boards[1].set(func() {
			b.boards[1].processes, b.boards[1].listErr = nil, fmt.Errorf("list processes: %w", device.ErrNoPermission)
		})
		b.wait(5 * time.Second)
		assert.Equal(t, "GPU 1: list processes: no permission", b.list().Incomplete)
		assert.Len(t, b.list().Processes, 1)

		b.boards[0].set(func() { b.boards[0].err = device.ErrLost })
		b.wait(2 * time.Second)
		assert.Empty(t, b.list().Processes, "nobody knows what runs there")
		assert.Contains(t, b.list().Incomplete, "GPU 0: its processes are not known while it does not answer")
	})
}

// D09, D13: what the driver says for "not available" is no reading, and a row that is there twice is one.
func TestAbsurdProcesses(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.boards[0].processes = []device.Process{
			{PID: 1, Memory: gpu.Read(math.MaxUint64), SM: gpu.Read(31000000), Encoder: gpu.Read(-1), Decoder: gpu.Read(1)},
			{PID: 1, Memory: gpu.Read(5)}, {PID: 1, GPUInstance: "3", Memory: gpu.Read(5)},
		}
		b.wait(2 * time.Second)
		l := b.list()
		require.Len(t, l.Processes, 2)
		p := l.Processes[0]
		assert.Equal(t, []gpu.Reading{gpu.Absent(gpu.NoData), gpu.Absent(gpu.NoData), gpu.Absent(gpu.NoData), gpu.Read(1)},
			[]gpu.Reading{p.Memory, p.SM, p.Encoder, p.Decoder})
		// D15: a container does not see the host's processes, and must not name them after its own.
		assert.Empty(t, p.Name)
		assert.Equal(t, "the names and users of processes are not known: "+shareProcesses, l.Incomplete)
	})
}

func TestTooManyProcesses(t *testing.T) {
	run(t, 1, func(b *bench) {
		for i := range maxProcesses + 5 {
			b.boards[0].processes = append(b.boards[0].processes, device.Process{PID: i})
		}
		b.wait(2 * time.Second)
		assert.Len(t, b.list().Processes, maxProcesses)
		assert.Contains(t, b.list().Incomplete, "GPU 0: 5 more processes are not listed")
	})
}

func TestProcessesAreSwitchedOff(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.boards[0].processes = []device.Process{{PID: 7}}
		b.wait(2 * time.Second)
		assert.Len(t, b.list().Processes, 1)
		s := NewSchedule(device.Standard, ClassIntervals(time.Second))
		s.List = false
		b.collector.Reconfigure(s)
		b.wait(2 * time.Second)
		assert.Empty(t, b.list().Processes)
		assert.Equal(t, "processes are not listed: the configuration switches that off", b.list().Incomplete)
	})
}
