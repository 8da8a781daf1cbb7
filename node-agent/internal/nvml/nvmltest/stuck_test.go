package nvmltest_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/collect"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	nvmlsource "github.com/warpwatch/warpwatch/node-agent/internal/nvml"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Of some GPUs one hangs.
const (
	gpus       = 3
	stuckBoard = 1
)

// trap is a call of one GPU that hangs while it is set.
type trap struct {
	mu   sync.Mutex
	call string
	gate chan struct{}
	seen map[string]bool // calls that were made for the GPU
	// fromStart is the call that hangs before anything else is said.
	fromStart string

	// What it is set in.
	machine *nvmltest.Machine
	events  *snapshot.EventLog
}

func (s *trap) before(call string, gpu int) {
	s.mu.Lock()
	if gpu != stuckBoard {
		s.mu.Unlock()
		return
	}
	s.seen[call] = true
	gate := s.gate
	hangs := call == s.call && gate != nil
	s.mu.Unlock()
	if hangs {
		<-gate
	}
}

func (s *trap) set(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.call, s.gate = call, make(chan struct{})
}

func (s *trap) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate != nil {
		close(s.gate)
	}
	s.gate = nil
}

// onSome runs a collector over some GPUs in a bubble.
func onSome(t *testing.T, s *trap, body func(store *snapshot.Store)) {
	t.Helper()
	cat, err := catalog.Load()
	require.NoError(t, err)
	rows, err := snapshot.LoadRows(cat)
	require.NoError(t, err)
	proc := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		spec, err := nvmltest.Load("dgx_h200")
		require.NoError(t, err)
		spec.GPUs = spec.GPUs[:gpus]
		s.seen = map[string]bool{}
		s.set(s.fromStart)
		m, err := nvmltest.New(spec, nvmltest.Options{Now: time.Now, Before: s.before})
		require.NoError(t, err)
		s.machine, s.events = m, snapshot.NewEventLog(100)
		store := snapshot.NewStore(99*time.Second, 1<<24)
		log := slog.New(slog.DiscardHandler)
		c := collect.New(collect.Options{
			Source: nvmlsource.New(m, nvmlsource.Options{Proc: proc, Logger: log, Now: time.Now}), Store: store, Rows: rows,
			Metrics: collect.NewMetrics(prometheus.NewRegistry()), Node: snapshot.Node{Name: "n1", Period: time.Second}, Logger: log,
			Schedule: collect.NewSchedule(device.Deep, map[device.Class]time.Duration{
				device.Fast: time.Second, device.Normal: 2 * time.Second, device.Slow: 4 * time.Second, device.Static: 6 * time.Second,
			}),
			Rescan:    5 * time.Second,
			Processes: new(snapshot.Latest[snapshot.ProcessList]), Events: s.events,
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		body(store)
		s.release()
		cancel()
		require.NoError(t, <-done)
		synctest.Wait()
		assert.Empty(t, m.Violations())
	})
}

// others is how many of the other GPUs are read.
func others(store *snapshot.Store) int {
	f := store.Newest()
	if f == nil {
		return 0
	}
	n := 0
	for i, c := range f.Schema.Columns {
		if c.Metric == device.Power && f.Schema.Devices[c.Device].Index != stuckBoard && f.Readings[i].OK() {
			n++
		}
	}
	return n
}

// Whatever call it is that hangs for one GPU, from the start or later, the others are read.
func TestEachCallMayHang(t *testing.T) {
	var s trap
	onSome(t, &s, func(store *snapshot.Store) {
		time.Sleep(12 * time.Second)
		require.Equal(t, gpus-1, others(store))
	})
	calls := slices.Sorted(maps.Keys(s.seen))
	require.Greater(t, len(calls), 40)
	for _, call := range calls {
		t.Run(call+" from the start", func(t *testing.T) {
			s := trap{fromStart: call}
			onSome(t, &s, func(store *snapshot.Store) {
				time.Sleep(20 * time.Second)
				require.Equal(t, gpus-1, others(store))
				status := store.Newest().Status
				said := status.Source.Reason
				for _, b := range status.Boards {
					said += b.Condition.Reason
				}
				if call != "RegisterEvents" && call != "GetSupportedEventTypes" { // the GPU itself is read, too
					assert.Contains(t, said, "does not come back")
				}
			})
		})
		t.Run(call+" later", func(t *testing.T) {
			s := trap{}
			onSome(t, &s, func(store *snapshot.Store) {
				time.Sleep(8500 * time.Millisecond)
				s.set(call)
				time.Sleep(17 * time.Second)
				assert.Equal(t, gpus-1, others(store))
				s.release()
				time.Sleep(10 * time.Second)
				for _, b := range store.Newest().Status.Boards {
					assert.Equal(t, snapshot.StateOK, b.Condition.State)
				}
			})
		})
	}
}

// A GPU that cannot be listened to keeps nobody from hearing of the others.
func TestTheOthersAreListenedTo(t *testing.T) {
	for _, call := range []string{"GetSupportedEventTypes", "RegisterEvents"} {
		t.Run(call, func(t *testing.T) {
			s := trap{fromStart: call}
			onSome(t, &s, func(*snapshot.Store) {
				time.Sleep(20 * time.Second)
				heard := func(gpu int, xid uint64) bool {
					s.machine.Emit(gpu, nvml.EventTypeXidCriticalError, xid)
					time.Sleep(5 * time.Second)
					events, _, _ := s.events.After(0, nil)
					return slices.ContainsFunc(events, func(e snapshot.Event) bool { return e.XID == xid })
				}
				assert.True(t, heard(stuckBoard+1, 13))
				assert.False(t, heard(stuckBoard, 31))
				s.release()
				time.Sleep(10 * time.Second)
				assert.True(t, heard(stuckBoard, 43), "it is listened to once it answers")
			})
		})
	}
}
