// Package agenttest is a node agent for tests: it speaks the real protocol, over a loopback or an in-memory network,
// and misbehaves on request.
package agenttest

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// Options of an agent. Zero values are the defaults named here.
type Options struct {
	Cluster string
	Node    string        // "n1"
	Devices []gpu.Device  // two H200
	Metrics []string      // of each device: gpu_power_watts
	Period  time.Duration // announced, and of Start: 1 s
	Ring    int           // ticks kept for resuming and backfill: 1000
	Network *Network      // nil is loopback
	Address string        // on Network: Node + ":9847"
	TLS     bool          // on loopback only
	Want    http.Header   // what a request must have, else it is answered with 401
	// MinPeriod is how often samples are taken at most when readers wish it; 0: wishes are not heard.
	MinPeriod time.Duration
	Old       bool // of before there were events, processes and owners in the stream
}

// Agent is a running agent. Its methods may be called from any goroutine.
type Agent struct {
	options Options
	server  *httptest.Server

	mu        sync.Mutex
	answer    Answer
	version   uint32
	epoch     int
	seq       uint64
	devices   []gpu.Device
	period    time.Duration
	beside    beside
	node      string
	skew      time.Duration
	ring      []wire.Sample
	conns     map[*connection]struct{}
	accepted  int
	requests  []*wire.Request
	headers   []http.Header
	heartbeat time.Duration
	deaf      bool // ignores requests to resume

	stop    chan struct{}
	running sync.WaitGroup
}

// Answer is what a reader gets.
type Answer int

// The answers.
const (
	Healthy      Answer = iota
	Silent              // accepts and sends nothing
	Garbage             // binary messages that are not protobuf
	Large               // a message larger than readers accept
	Text                // text messages
	HTML                // a web page instead of a stream
	Unauthorized        // 401
	Forbidden           // 403
	NotFound            // 404
	Redirect            // to another host
	Unavailable         // 503
	Headless            // samples without a schema
	Inconsistent        // a schema whose columns name devices that it does not have
)

// New starts an agent that is stopped when the test ends.
func New(t testing.TB, options Options) *Agent {
	t.Helper()
	if options.Node == "" {
		options.Node = "n1"
	}
	if options.Devices == nil {
		options.Devices = Devices(options.Node, 2)
	}
	if options.Metrics == nil {
		options.Metrics = []string{"gpu_power_watts"}
	}
	if options.Period == 0 {
		options.Period = time.Second
	}
	if options.Ring == 0 {
		options.Ring = 1000
	}
	a := &Agent{
		options: options, version: wire.SchemaVersion, epoch: 1, devices: options.Devices, period: options.Period,
		node: options.Node, heartbeat: 5 * time.Second,
		conns: make(map[*connection]struct{}), stop: make(chan struct{}),
	}
	handler := http.NewServeMux()
	handler.HandleFunc("GET /api/v1/stream", a.serve)
	switch {
	case options.Network != nil:
		if a.options.Address == "" {
			a.options.Address = options.Node + ":9847"
		}
		a.server = &httptest.Server{Listener: options.Network.listen(a.options.Address), Config: &http.Server{Handler: handler}}
		a.server.Start()
	case options.TLS:
		a.server = httptest.NewTLSServer(handler)
	default:
		a.server = httptest.NewServer(handler)
	}
	if options.Network == nil {
		a.options.Address = a.server.Listener.Addr().String()
	}
	t.Cleanup(a.Stop)
	return a
}

// Devices are n whole GPUs of a node.
func Devices(node string, n int) []gpu.Device {
	devices := make([]gpu.Device, n)
	for i := range devices {
		devices[i] = gpu.Device{
			Identity: gpu.Identity{Node: node, UUID: fmt.Sprintf("GPU-%s-%d", node, i)}, Index: i, Model: "NVIDIA H200",
		}
	}
	return devices
}

// Stop ends the agent. It may be called several times.
func (a *Agent) Stop() {
	a.mu.Lock()
	select {
	case <-a.stop:
	default:
		close(a.stop)
	}
	a.mu.Unlock()
	a.Drop()
	a.server.Close()
	a.running.Wait()
}

// Target is where the agent is, as discovery would say.
func (a *Agent) Target() live.Target {
	t := live.Target{Cluster: a.options.Cluster, Node: a.options.Node, Address: a.options.Address, Scheme: "http"}
	if a.options.TLS {
		t.Scheme = "https"
	}
	return t
}

// CertPool has the authority of an agent with TLS.
func (a *Agent) CertPool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.server.Certificate())
	return pool
}

// Answer changes what readers that connect from now on get.
func (a *Agent) Answer(answer Answer) { a.set(func() { a.answer = answer }) }

// SchemaVersion changes the version that is announced to readers that connect from now on.
func (a *Agent) SchemaVersion(version uint32) { a.set(func() { a.version = version }) }

// Skew puts the agent's clock ahead, or back when negative.
func (a *Agent) Skew(skew time.Duration) { a.set(func() { a.skew = skew }) }

// Deaf makes the agent answer requests to resume with its whole ring.
func (a *Agent) Deaf() { a.set(func() { a.deaf = true }) }

func (a *Agent) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// Now is the agent's clock.
func (a *Agent) Now() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now()
}

func (a *Agent) now() time.Time { return time.Now().Add(a.skew) }

// Connections is how many readers there are.
func (a *Agent) Connections() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.conns)
}

// Accepted is how many requests for the stream there were, those that were turned down included.
func (a *Agent) Accepted() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.accepted
}

// Requests are those of the readers, in the order they came.
func (a *Agent) Requests() []*wire.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]*wire.Request(nil), a.requests...)
}

// Headers are those of the requests for the stream, in the order they came.
func (a *Agent) Headers() []http.Header {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]http.Header(nil), a.headers...)
}

// Schema is what the agent announces.
func (a *Agent) Schema() *wire.Schema {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.schema()
}

func (a *Agent) schema() *wire.Schema {
	s := &wire.Schema{
		SchemaVersion: a.version, AgentVersion: "0.9.0", Epoch: fmt.Sprintf("epoch-%d", a.epoch), Cluster: a.options.Cluster,
		Node: a.node, ClockUnixMs: a.now().UnixMilli(), PeriodMs: uint32(a.period.Milliseconds()),
		MinPeriodMs: uint32(a.options.MinPeriod.Milliseconds()), DriverVersion: "590.48.01", Source: "simulate",
	}
	for i, d := range a.devices {
		s.Devices = append(s.Devices, wire.FromDevice(d))
		for _, metric := range a.options.Metrics {
			c := &wire.Column{Device: uint32(i), Metric: metric, Multiplier: 1, Divisor: 1000}
			if strings.HasSuffix(metric, "_bytes") {
				c.Divisor = 1
			}
			s.Columns = append(s.Columns, c)
		}
	}
	return s
}

// Start samples by itself every period until the agent stops or the returned function is called. values makes the
// readings of the n-th tick.
func (a *Agent) Start(values func(n int) []gpu.Reading) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	a.running.Go(func() {
		ticker := time.NewTicker(a.Period())
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ticker.C:
				a.Tick(values(n)...)
				ticker.Reset(a.Period())
			case <-ctx.Done():
				return
			case <-a.stop:
				return
			}
		}
	})
	return cancel
}
