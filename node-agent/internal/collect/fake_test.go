package collect

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSource can be broken in every way that a driver breaks.
type fakeSource struct {
	mu         sync.Mutex
	open       error
	inventory  error
	boards     []device.Board
	unreadable []error
	opens      int // that succeeded or failed
	closes     int
	lists      int
	hangClose  chan struct{} // closed to let go
	events     chan device.Event
	noEvents   bool
}

func (f *fakeSource) Name() string { return "fake" }

func (f *fakeSource) Open(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens++
	return f.open
}

func (f *fakeSource) Inventory(context.Context) (device.Inventory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	return device.Inventory{
		Driver: "1.0", Boards: append([]device.Board(nil), f.boards...), Unreadable: f.unreadable,
	}, f.inventory
}

func (f *fakeSource) Events(ctx context.Context, emit func(device.Event)) error {
	if f.noEvents {
		return fmt.Errorf("listen: %w", device.ErrNotSupported)
	}
	for {
		select {
		case e := <-f.events:
			emit(e)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fakeSource) Close() error {
	f.mu.Lock()
	f.closes++
	hang := f.hangClose
	f.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return nil
}

func (f *fakeSource) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

type fakeBoard struct {
	devices []gpu.Device
	mu      sync.Mutex
	err     error
	slow    time.Duration
	hang    chan struct{} // closed to let go
	samples int
	groups  []device.Groups // of each sample
	at      []time.Time
	extents []device.Extent

	readings  map[device.Metric]float64 // besides the power, of groups that are asked for
	processes []device.Process
	listErr   error
	lists     int
}

func newBoard(index int) *fakeBoard {
	return &fakeBoard{devices: []gpu.Device{{Identity: gpu.Identity{UUID: fmt.Sprintf("GPU-%d", index)}, Index: index, Model: "NVIDIA H200"}}}
}

func (b *fakeBoard) Devices() []gpu.Device { return b.devices }

func (b *fakeBoard) Facts() device.Facts { return device.Facts{Minor: -1} }

func (b *fakeBoard) Processes(_ context.Context, into []device.Process) ([]device.Process, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lists++
	return append(into, b.processes...), b.listErr
}

func (b *fakeBoard) Sample(_ context.Context, at time.Time, groups device.Groups, into *device.Sample) error {
	values := into.Values
	b.mu.Lock()
	b.samples++
	b.groups, b.at = append(b.groups, groups), append(b.at, at)
	into.Extents = append(into.Extents, b.extents...)
	readings := maps.Clone(b.readings)
	hang, slow, err := b.hang, b.slow, b.err
	b.mu.Unlock()
	if hang != nil {
		<-hang
	}
	time.Sleep(slow)
	for i := range values {
		values[i].FillGroups(groups, gpu.NotSupported)
		if groups.Has(device.GroupPower) {
			values[i].Set(device.Power, float64(at.Unix()))
		}
		for m, v := range readings {
			if groups.Has(m.Group()) {
				values[i].Set(m, v)
			}
		}
	}
	return err
}

func (b *fakeBoard) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// bench runs a collector over a fake source in a bubble with its own time.
type bench struct {
	t      *testing.T
	source *fakeSource
	boards []*fakeBoard
	store  *snapshot.Store
	last   func() // called after the collector ended

	once      sync.Once
	begin     chan struct{}
	collector *Collector
	registry  *prometheus.Registry
	events    *snapshot.EventLog
	processes *snapshot.Latest[snapshot.ProcessList]
}

func run(t *testing.T, boards int, body func(*bench)) {
	t.Helper()
	runWith(t, boards, func(*Options) {}, body)
}

// runWith changes the options first.
func runWith(t *testing.T, boards int, change func(*Options), body func(*bench)) {
	t.Helper()
	c, err := catalog.Load()
	require.NoError(t, err)
	rows, err := snapshot.LoadRows(c)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, source: &fakeSource{events: make(chan device.Event)}, store: snapshot.NewStore(599*time.Second, 1<<24), last: func() {}, begin: make(chan struct{})}
		b.registry, b.events, b.processes = prometheus.NewRegistry(), snapshot.NewEventLog(100), new(snapshot.Latest[snapshot.ProcessList])
		for i := range boards {
			board := newBoard(i)
			b.boards = append(b.boards, board)
			b.source.boards = append(b.source.boards, board)
		}
		o := Options{
			Source: b.source, Store: b.store, Rows: rows, Metrics: NewMetrics(b.registry), Events: b.events, Processes: b.processes,
			Node:   snapshot.Node{Cluster: "north", Name: "n1", Epoch: "e", Source: "fake", Period: time.Second},
			Logger: slog.New(slog.DiscardHandler),
		}
		change(&o)
		b.collector = New(o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			<-b.begin // not before body waits, so that what it sets up beforehand is there from the start
			done <- b.collector.Run(ctx)
		}()
		body(b)
		b.start()
		cancel()
		require.NoError(t, <-done)
		b.last()
	})
}

func (b *bench) wait(d time.Duration) {
	b.start()
	time.Sleep(d)
	synctest.Wait()
}

func (b *bench) start() { b.once.Do(func() { close(b.begin) }) }

// power is the newest reading of a board.
func (b *bench) power(board int) gpu.Reading { return b.reading(board, device.Power) }

func (b *bench) reading(board int, m device.Metric) gpu.Reading {
	f := b.store.Newest()
	require.NotNil(b.t, f)
	for i, c := range f.Schema.Columns {
		if f.Schema.Devices[c.Device].UUID == fmt.Sprintf("GPU-%d", board) && c.Metric == m {
			return f.Readings[i]
		}
	}
	b.t.Fatalf("no column for %s of board %d", m, board)
	return gpu.Reading{}
}

func (b *bench) board(i int) snapshot.Board { return b.store.Newest().Status.Boards[i] }

// happened lists the events so far, as text.
func (b *bench) happened() []string {
	events, _, _ := b.events.After(0, nil)
	var texts []string
	for _, e := range events {
		text := fmt.Sprintf("%s %s %s", e.UUID, e.Kind, e.Origin)
		if e.Kind == device.EventXID {
			text += fmt.Sprintf(" %d", e.XID)
		}
		if e.Detail != "" {
			text += ": " + e.Detail
		}
		texts = append(texts, text)
	}
	return texts
}

// opened is how often the source was opened.
func (b *bench) opened() int {
	b.source.mu.Lock()
	defer b.source.mu.Unlock()
	return b.source.opens
}

// past lists the frames that are kept. They have readings of their own.
func (b *bench) past() []*snapshot.Frame {
	var frames []*snapshot.Frame
	require.NoError(b.t, b.store.Each(0, func(f *snapshot.Frame) bool {
		own := *f
		own.Readings = slices.Clone(f.Readings)
		frames = append(frames, &own)
		return true
	}))
	return frames
}
