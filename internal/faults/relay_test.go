package faults

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// relay hands an agent's stream on, changed as if the agent's clock were off, a GPU had fallen off the bus, or MIG had
// been set up differently while the agent runs.
type relay struct {
	to     string
	server *httptest.Server

	mu      sync.Mutex
	change  int           // counts changes of what follows
	skew    time.Duration // of the agent's clock
	lost    bool          // the second GPU is
	split   bool          // the second GPU is split into two instances
	clients map[*websocket.Conn]struct{}
}

func newRelay(t testing.TB, to string) *relay {
	r := &relay{to: to, clients: map[*websocket.Conn]struct{}{}}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.close)
	return r
}

func (r *relay) address() string { return r.server.Listener.Addr().String() }

func (r *relay) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	r.change++
}

func (r *relay) close() {
	r.mu.Lock()
	clients := r.clients
	r.clients = nil
	r.mu.Unlock()
	for c := range clients {
		_ = c.CloseNow()
	}
	r.server.Close()
}

func (r *relay) serve(w http.ResponseWriter, request *http.Request) {
	near, err := websocket.Accept(w, request, nil)
	if err != nil {
		return
	}
	r.mu.Lock()
	closed := r.clients == nil
	if !closed {
		r.clients[near] = struct{}{}
	}
	r.mu.Unlock()
	defer func() {
		_ = near.CloseNow()
		r.mu.Lock()
		delete(r.clients, near)
		r.mu.Unlock()
	}()
	if closed {
		return
	}
	ctx := context.Background()
	far, err := dial(ctx, r.to)
	if err != nil {
		return
	}
	defer func() { _ = far.CloseNow() }()
	var asking sync.WaitGroup
	defer asking.Wait()
	defer func() { _ = near.CloseNow() }()
	asking.Go(func() {
		defer func() { _ = far.CloseNow() }()
		for {
			kind, raw, err := near.Read(ctx)
			if err != nil || far.Write(ctx, kind, raw) != nil {
				return
			}
		}
	})
	p := passage{relay: r, near: near}
	for {
		_, raw, err := far.Read(ctx)
		if err != nil || p.pass(ctx, raw) != nil {
			return
		}
	}
}

func dial(ctx context.Context, address string) (*websocket.Conn, error) {
	conn, response, err := websocket.Dial(ctx, "ws://"+address+"/api/v1/stream", nil)
	if err != nil {
		return nil, err
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	conn.SetReadLimit(64 << 20)
	return conn, nil
}

// passage is one stream through a relay.
type passage struct {
	relay *relay
	near  *websocket.Conn

	skew    time.Duration
	lost    bool
	split   bool
	schema  *wire.Schema // the agent's
	decoder *wire.Decoder
	encoder *wire.Encoder
	columns []int // of the agent's, for each that is sent
	gone    []bool
}

func (p *passage) pass(ctx context.Context, raw []byte) error {
	var m wire.Message
	if err := proto.Unmarshal(raw, &m); err != nil {
		return err
	}
	changed := p.look()
	if sent := m.GetSchema(); sent != nil {
		var err error
		if p.decoder, err = wire.NewDecoder(sent); err != nil {
			return err
		}
		p.schema = sent
		return p.begin(ctx, sent.GetClockUnixMs())
	}
	if changed && p.schema != nil {
		if err := p.begin(ctx, time.Now().UnixMilli()); err != nil {
			return err
		}
	}
	for i, tick := range m.GetBatch().GetTicks() {
		sample, err := p.decoder.Decode(tick)
		if err != nil {
			return err
		}
		if m.GetBatch().Ticks[i], err = p.encoder.Encode(p.changed(sample)); err != nil {
			return err
		}
	}
	if beat := m.GetHeartbeat(); beat != nil {
		beat.ClockUnixMs += p.skew.Milliseconds()
	}
	return p.send(ctx, &m)
}

// look reports whether the relay was told to do otherwise since.
func (p *passage) look() bool {
	r := p.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := p.lost != r.lost || p.split != r.split
	p.skew, p.lost, p.split = r.skew, r.lost, r.split
	return changed
}

// begin sends the schema as it is by now.
func (p *passage) begin(ctx context.Context, clock int64) error {
	s := proto.CloneOf(p.schema)
	s.ClockUnixMs = clock + p.skew.Milliseconds()
	p.columns, p.gone = nil, nil
	for i, c := range s.GetColumns() {
		p.columns = append(p.columns, i)
		p.gone = append(p.gone, p.lost && c.GetDevice() == 1)
	}
	if p.split {
		for instance := range uint32(2) {
			d := proto.CloneOf(s.GetDevices()[1])
			d.GpuInstance, d.ComputeInstance, d.MigEnabled = proto.Uint32(instance+1), proto.Uint32(0), true
			d.MigProfile, d.MigUuid = "3g.71gb", "MIG-"+strings.Repeat("a", int(instance+1))
			at := uint32(len(s.GetDevices()))
			s.Devices = append(s.Devices, d)
			for i, c := range p.schema.GetColumns() {
				if c.GetDevice() == 1 && c.GetMetric() == power {
					c = proto.CloneOf(c)
					c.Device = at
					s.Columns, p.columns, p.gone = append(s.Columns, c), append(p.columns, i), append(p.gone, false)
				}
			}
		}
	}
	p.encoder = wire.NewEncoder(s)
	return p.send(ctx, &wire.Message{Body: &wire.Message_Schema{Schema: s}})
}

func (p *passage) changed(s wire.Sample) wire.Sample {
	out := wire.Sample{Seq: s.Seq, Time: s.Time.Add(p.skew), Dropped: s.Dropped, Readings: make([]gpu.Reading, len(p.columns))}
	for i, from := range p.columns {
		out.Readings[i] = s.Readings[from]
		if p.gone[i] {
			out.Readings[i] = gpu.Absent(gpu.Lost)
		}
	}
	return out
}

func (p *passage) send(ctx context.Context, m *wire.Message) error {
	raw, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return p.near.Write(ctx, websocket.MessageBinary, raw)
}

// tell sends an event to everybody, as the agent would of a GPU that is lost.
func (r *relay) tell(event *wire.Event) error {
	raw, err := proto.Marshal(&wire.Message{Body: &wire.Message_Events{Events: &wire.Events{Events: []*wire.Event{event}}}})
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.clients {
		if err := c.Write(context.Background(), websocket.MessageBinary, raw); err != nil {
			return err
		}
	}
	return nil
}
