package live

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

const (
	faninGPUs   = 8
	faninFields = 16
)

var faninNodes = flag.Int("fanin-nodes", 2000, "nodes of BenchmarkLiveFanIn; each takes a file descriptor here and one in the process that plays them")

// BenchmarkLiveFanIn is how many nodes of 8 GPUs by 16 fields at 1 Hz one core serves: over a connection each, from
// another process, decoded, put into the rings, handed to a subscriber and summed up there. The rival is a gRPC stream
// for each node with the same messages, decoded and summed up, without rings. An operation is a second.
//
// CPU time is this process's. A node's memory is what the heap and the stacks grew by, without the rings.
func BenchmarkLiveFanIn(b *testing.B) {
	b.Run("ours", func(b *testing.B) { benchFanIn(b, "stream", hubReader) })
	b.Run("grpc", func(b *testing.B) { benchFanIn(b, "grpc", grpcReader) })
}

// tally counts and sums what is read.
type tally struct {
	mu    sync.Mutex
	ticks int
	sum   float64
	most  float64
}

func (t *tally) add(values []float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ticks++
	for _, v := range values {
		t.sum += v
		t.most = max(t.most, v)
	}
}

func (t *tally) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ticks
}

// benchFanIn measures a reader. It connects to all addresses, fills the tally, and says how many bytes are rings.
func benchFanIn(b *testing.B, kind string, read func(*testing.B, []string, *tally) (rings func() int)) {
	addresses := playAgents(b, kind, *faninNodes)
	before := memoryInUse()
	var t tally
	rings := read(b, addresses, &t)
	require.Eventually(b, func() bool { return t.count() >= 2*len(addresses) }, time.Minute, 50*time.Millisecond)
	perNode := float64(memoryInUse()-before-rings()) / float64(len(addresses))
	ticks, cpu := t.count(), cpuTime()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for b.Loop() {
		<-ticker.C
	}
	ticks, cpu = t.count()-ticks, cpuTime()-cpu
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(cpu.Nanoseconds())/1e3/float64(ticks), "cpu-µs/tick")
	b.ReportMetric(float64(ticks)/cpu.Seconds(), "nodes/core")
	b.ReportMetric(perNode/1e3, "kB/node")
}

func memoryInUse() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func hubReader(b *testing.B, addresses []string, t *tally) func() int {
	allow, err := ParseAllowList([]string{"127.0.0.0/8"})
	require.NoError(b, err)
	targets := make([]Target, len(addresses))
	for i, a := range addresses {
		targets[i] = Target{Cluster: "c", Node: fmt.Sprintf("n%d", i), Address: a}
	}
	hub := NewHub(Config{Allow: allow, Targets: func(context.Context) ([]Target, []gpu.Notice, error) { return targets, nil, nil }})
	b.Cleanup(hub.Close)
	sub := hub.Subscribe(Select{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		picks := map[*Schema]Pick{}
		for u := range sub.C() {
			if u.Schema == nil {
				continue
			}
			pick, ok := picks[u.Schema]
			if !ok {
				pick = u.Schema.Pick("gpu_power_watts")
				picks[u.Schema] = pick
			}
			t.add(pick.Values(u.Sample))
		}
	}()
	b.Cleanup(func() {
		sub.Close()
		<-done
	})
	return hub.RingBytes
}

func grpcReader(b *testing.B, addresses []string, t *tally) func() int {
	ctx, cancel := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	for _, address := range addresses {
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(b, err)
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/warpwatch.bench/Stream", grpc.WaitForReady(true))
		require.NoError(b, err)
		require.NoError(b, stream.SendMsg(&wire.Request{}))
		require.NoError(b, stream.CloseSend())
		reading.Go(func() {
			defer func() { _ = conn.Close() }()
			var decoder *wire.Decoder
			var schema *Schema
			var pick Pick
			for {
				var m wire.Message
				if stream.RecvMsg(&m) != nil {
					return
				}
				if sent := m.GetSchema(); sent != nil {
					if decoder, err = wire.NewDecoder(sent); err != nil {
						return
					}
					schema = newSchema(Target{}, sent)
					pick = schema.Pick("gpu_power_watts")
				}
				for _, tick := range m.GetBatch().GetTicks() {
					sample, err := decoder.Decode(tick)
					if err != nil {
						return
					}
					t.add(pick.Values(sample))
				}
			}
		})
	}
	b.Cleanup(func() {
		cancel()
		reading.Wait()
	})
	return func() int { return 0 }
}

// playAgents starts a process that plays agents on addresses of the loopback network.
func playAgents(b *testing.B, kind string, nodes int) []string {
	command := exec.Command(os.Args[0], "-test.run=^TestPlayAgents$", "-play="+kind)
	stdin, err := command.StdinPipe()
	require.NoError(b, err)
	stdout, err := command.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, command.Start())
	b.Cleanup(func() {
		_ = stdin.Close() // it ends
		_ = command.Wait()
	})
	var port int
	_, err = fmt.Fscanf(stdout, "port %d\n", &port)
	require.NoError(b, err)
	addresses := make([]string, nodes)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("127.1.%d.%d:%d", i/250, 1+i%250, port)
	}
	return addresses
}

var play = flag.String("play", "", "play agents of BenchmarkLiveFanIn: stream or grpc")

// TestPlayAgents is the other process of BenchmarkLiveFanIn. It ends with its input.
func TestPlayAgents(t *testing.T) {
	if *play == "" {
		t.Skip("for BenchmarkLiveFanIn only")
	}
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	f := newFanInAgents()
	stop := f.serve(listener, *play)
	fmt.Printf("port %d\n", listener.Addr().(*net.TCPAddr).Port)
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
}

// fanInAgents are agents that all measure the same.
type fanInAgents struct {
	schema *wire.Message
	ticks  []*wire.Tick
}

func newFanInAgents() *fanInAgents {
	load := newTraining("", faninGPUs, faninFields)
	f := &fanInAgents{schema: &wire.Message{Body: &wire.Message_Schema{Schema: load.schema}}}
	encoder := wire.NewEncoder(load.schema)
	for range 120 {
		tick, _ := encoder.Encode(load.next(time.Now()))
		f.ticks = append(f.ticks, tick)
	}
	return f
}

// message is the n-th of a stream: the schema, and then ticks.
func (f *fanInAgents) message(n int) *wire.Message {
	if n == 0 {
		m := proto.CloneOf(f.schema)
		m.GetSchema().ClockUnixMs = time.Now().UnixMilli()
		m.GetSchema().Epoch = rand.Text() // agents that are one are connected to once
		return m
	}
	tick := f.ticks[0]
	if n > 1 {
		tick = f.ticks[1+(n-2)%(len(f.ticks)-1)]
	}
	return &wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: []*wire.Tick{{
		Seq: uint64(n), TimeUnixMs: time.Now().UnixMilli(), Changed: tick.GetChanged(), Deltas: tick.GetDeltas(),
		StateChanged: tick.GetStateChanged(), States: tick.GetStates(),
	}}}}}
}

func (f *fanInAgents) serve(listener net.Listener, kind string) (stop func()) {
	if kind == "grpc" {
		server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			if err := stream.RecvMsg(&wire.Request{}); err != nil {
				return err
			}
			return f.play(stream.Context().Done(), func(m *wire.Message) error { return stream.SendMsg(m) })
		}))
		go func() { _ = server.Serve(listener) }()
		return server.Stop
	}
	server := newFanInServer(f)
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }
}

// play sends a message each second.
func (f *fanInAgents) play(done <-chan struct{}, send func(*wire.Message) error) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for n := 0; ; n++ {
		if err := send(f.message(n)); err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		select {
		case <-ticker.C:
		case <-done:
			return nil
		}
	}
}
