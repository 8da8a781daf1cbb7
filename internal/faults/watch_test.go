package faults

import (
	"context"
	"errors"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

const power = "gpu_power_watts"

// tick is a sample as it can be compared.
type tick struct {
	seq   uint64
	time  time.Time
	value uint64 // of all readings
}

// digest makes a number of a sample's readings.
func digest(seed maphash.Seed, readings []gpu.Reading) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, r := range readings {
		maphash.WriteComparable(&h, r)
	}
	return h.Sum64()
}

// scene is a hub that looks at one agent, and all that it hears.
type scene struct {
	t       testing.TB
	hub     *live.Hub
	sub     *live.Subscription
	seed    maphash.Seed
	leaks   goleak.Option
	done    chan struct{}
	routine int // goroutines when everything was well
	heap    int

	mu     sync.Mutex
	epochs []string // in order of appearance
	ticks  map[string][]tick
	states []live.NodeStatus
	events []gpu.Event
	lost   uint64 // samples that came too fast for this test
	absent map[string]int
}

// newScene watches an address until the test ends.
func newScene(t testing.TB, addresses ...string) *scene {
	t.Helper()
	s := &scene{
		t: t, seed: maphash.MakeSeed(), leaks: goleak.IgnoreCurrent(), done: make(chan struct{}), ticks: map[string][]tick{},
		absent: map[string]int{},
	}
	allow, err := live.ParseAllowList([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	var targets []live.Target
	for _, a := range addresses {
		targets = append(targets, live.Target{Address: a})
	}
	s.hub = live.NewHub(live.Config{
		Allow: allow, Targets: func(context.Context) ([]live.Target, []gpu.Notice, error) { return targets, nil, nil },
		DialTimeout: 2 * time.Second, HandshakeTimeout: 2 * time.Second, IdleTimeout: 2 * time.Second, QueueTicks: 10_000,
	})
	t.Cleanup(s.hub.Close)
	s.sub = s.hub.Subscribe(live.Select{Events: true})
	go s.record()
	s.flowing(len(addresses))
	s.quiet()
	s.routine, s.heap = runtime.NumGoroutine(), s.inUse()
	return s
}

func (s *scene) record() {
	defer close(s.done)
	for u := range s.sub.C() {
		s.mu.Lock()
		switch {
		case u.Status != nil:
			s.states = append(s.states, *u.Status)
		case u.Schema != nil:
			epoch := u.Schema.Wire.GetEpoch()
			if !slices.Contains(s.epochs, epoch) {
				s.epochs = append(s.epochs, epoch)
			}
			s.ticks[epoch] = append(s.ticks[epoch], tick{u.Sample.Seq, u.Sample.Time, digest(s.seed, u.Sample.Readings)})
			s.lost += u.Dropped
			for _, d := range u.Schema.Devices {
				if r := u.Schema.Reading(&u.Sample, power, d.Index); r.State == gpu.Lost {
					s.absent[d.UUID]++
				}
			}
		}
		s.events = append(s.events, u.Events...)
		s.mu.Unlock()
	}
}

// received is how many samples came.
func (s *scene) received() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, ticks := range s.ticks {
		n += len(ticks)
	}
	return n
}

// flowing waits until more samples have come, of now.
func (s *scene) flowing(nodes int) {
	s.t.Helper()
	target := s.received() + 5*nodes
	s.eventually(func() bool {
		all, _ := s.hub.Nodes(s.t.Context())
		streaming := 0
		for _, n := range all {
			if n.State.Streams() {
				streaming++
			}
		}
		return s.received() >= target && streaming >= nodes
	})
}

func (s *scene) eventually(what func() bool) {
	s.t.Helper()
	// In this goroutine: others are counted.
	for end := time.Now().Add(patience); !what(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			all, err := s.hub.Nodes(s.t.Context())
			buffer := make([]byte, 1<<20)
			s.t.Fatalf("%d goroutines of %d, %v, %v, states %v\n%s", runtime.NumGoroutine(), s.routine, all, err, s.states,
				buffer[:runtime.Stack(buffer, true)])
		}
	}
}

// told waits until a state of this kind was told.
func (s *scene) told(kinds ...live.Kind) live.NodeStatus {
	s.t.Helper()
	var status live.NodeStatus
	s.eventually(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, status = range s.states {
			var e *live.Error
			if errors.As(status.Err, &e) && slices.Contains(kinds, e.Kind) {
				return true
			}
		}
		return false
	})
	return status
}

// status is that of the only node.
func (s *scene) status() live.NodeStatus {
	s.t.Helper()
	all, err := s.hub.Nodes(s.t.Context())
	require.NoError(s.t, err)
	require.Len(s.t, all, 1)
	return all[0]
}

func (s *scene) window() live.WindowResult {
	ctx, cancel := within(s.t)
	defer cancel()
	return s.hub.Window(ctx, live.Select{Metric: power, Wait: 10 * time.Second})
}

// quiet waits until no goroutine is about to end.
func (s *scene) quiet() {
	last, same := 0, 0
	for range 200 {
		now := runtime.NumGoroutine()
		if now == last {
			same++
		} else {
			last, same = now, 0
		}
		if same >= 5 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *scene) inUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) - s.hub.RingBytes()
}

// past is what an agent's ring holds, all of the run that it is in.
func (s *scene) past(address string) (epoch string, ticks []tick) {
	s.t.Helper()
	ctx, cancel := within(s.t)
	defer cancel()
	conn, err := dial(ctx, address)
	require.NoError(s.t, err)
	defer func() { _ = conn.CloseNow() }()
	raw, err := proto.Marshal(&wire.Request{Reader: "test", BackfillMs: uint64(time.Hour.Milliseconds())})
	require.NoError(s.t, err)
	require.NoError(s.t, conn.Write(ctx, websocket.MessageBinary, raw))
	newest := s.newest()
	var decoder *wire.Decoder
	for {
		_, raw, err := conn.Read(ctx)
		require.NoError(s.t, err)
		var m wire.Message
		require.NoError(s.t, proto.Unmarshal(raw, &m))
		if sent := m.GetSchema(); sent != nil {
			epoch = sent.GetEpoch()
			decoder, err = wire.NewDecoder(sent)
			require.NoError(s.t, err)
		}
		for _, w := range m.GetBatch().GetTicks() {
			sample, err := decoder.Decode(w)
			require.NoError(s.t, err)
			ticks = append(ticks, tick{sample.Seq, sample.Time, digest(s.seed, sample.Readings)})
			if sample.Seq >= newest {
				return epoch, ticks
			}
		}
	}
}

// newest is the number of the newest sample of the run that came last.
func (s *scene) newest() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	ticks := s.ticks[s.epochs[len(s.epochs)-1]]
	return ticks[len(ticks)-1].seq
}

// expect is what may differ after a fault.
type expect struct {
	values bool          // that samples say is compared, too
	off    time.Duration // that times may be, beside the agent's
}

// exactlyOnce checks what came against what the agent at an address took.
func (s *scene) exactlyOnce(address string, may expect) {
	s.t.Helper()
	epoch, truth := s.past(address)
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Zero(s.t, s.lost, "this test was too slow")
	require.Equal(s.t, epoch, s.epochs[len(s.epochs)-1])
	var previous time.Time
	for _, e := range s.epochs {
		for i, got := range s.ticks[e] {
			if i > 0 {
				require.Equal(s.t, s.ticks[e][i-1].seq+1, got.seq, "run %s: every sample once and in order", e)
			}
			require.True(s.t, got.time.After(previous), "run %s: sample %d at %s after one at %s", e, got.seq, got.time, previous)
			previous = got.time
		}
	}
	bySeq := make(map[uint64]tick, len(truth))
	for _, t := range truth {
		bySeq[t.seq] = t
	}
	got := s.ticks[epoch]
	if len(s.epochs) > 1 {
		require.Equal(s.t, truth[0].seq, got[0].seq, "the hole is filled with all that the new run has")
	}
	for _, g := range got {
		if g.seq > truth[len(truth)-1].seq {
			break // it came since the agent was asked
		}
		want, ok := bySeq[g.seq]
		require.True(s.t, ok, "sample %d was never taken", g.seq)
		require.LessOrEqual(s.t, g.time.Sub(want.time).Abs(), may.off, "sample %d", g.seq)
		if may.values {
			require.Equal(s.t, want.value, g.value, "sample %d", g.seq)
		}
	}
	drops := 0
	all, _ := s.hub.Nodes(s.t.Context())
	for _, n := range all {
		drops += int(n.Drops.Missed + n.Drops.Late + n.Drops.Future + n.Drops.Repeated + n.Drops.Reordered)
	}
	require.Zero(s.t, drops, "%v", all)
}

// held checks that what the hub holds rises and has no sample twice, and all that came.
func (s *scene) held() {
	s.t.Helper()
	series := s.window().Series
	require.NotEmpty(s.t, series)
	longest := 0
	for _, line := range series {
		for i := 1; i < len(line.Times); i++ {
			require.Greater(s.t, line.Times[i], line.Times[i-1])
		}
		longest = max(longest, len(line.Times))
	}
	require.GreaterOrEqual(s.t, longest, 5) // flowing waited for them
}

// grewNot waits until the hub has as many goroutines as before the fault, and compares what it holds.
func (s *scene) grewNot() {
	s.t.Helper()
	s.eventually(func() bool { return runtime.NumGoroutine() <= s.routine })
	const margin = 4 << 20
	s.eventually(func() bool { return s.inUse() <= s.heap+margin })
}

// end closes everything, and waits until nothing is left of it.
func (s *scene) end(others ...interface{ close() }) {
	s.t.Helper()
	s.sub.Close()
	s.hub.Close()
	<-s.done
	for _, o := range others {
		o.close()
	}
	s.eventually(func() bool { return goleak.Find(s.leaks) == nil })
}
