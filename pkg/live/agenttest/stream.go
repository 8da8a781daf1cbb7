package agenttest

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// connection is one reader. mu keeps its messages in order.
type connection struct {
	socket *websocket.Conn
	end    context.CancelFunc

	mu      sync.Mutex
	encoder *wire.Encoder
	request *wire.Request // the newest
	beat    *time.Timer
}

func (a *Agent) serve(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.accepted++
	a.headers = append(a.headers, r.Header.Clone())
	answer := a.answer
	for name := range a.options.Want {
		if r.Header.Get(name) != a.options.Want.Get(name) {
			answer = Unauthorized
		}
	}
	a.mu.Unlock()

	refuse := func(status int) { http.Error(w, "<html>no secret here</html>", status) }
	switch answer {
	case HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		refuseBody(w)
		return
	case Unauthorized:
		refuse(http.StatusUnauthorized)
		return
	case Forbidden:
		refuse(http.StatusForbidden)
		return
	case NotFound:
		refuse(http.StatusNotFound)
		return
	case Redirect:
		http.Redirect(w, r, "http://elsewhere.example.com/api/v1/stream", http.StatusFound)
		return
	case Unavailable:
		refuse(http.StatusServiceUnavailable)
		return
	}
	socket, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &connection{socket: socket, end: cancel, request: &wire.Request{}}
	a.mu.Lock()
	select {
	case <-a.stop:
		a.mu.Unlock()
		cancel()
		_ = socket.CloseNow()
		return
	default:
	}
	a.conns[c] = struct{}{}
	a.running.Add(1)
	a.mu.Unlock()
	defer a.running.Done()
	defer func() {
		a.mu.Lock()
		delete(a.conns, c)
		a.heed(nil)
		a.mu.Unlock()
		c.mu.Lock()
		if c.beat != nil {
			c.beat.Stop()
		}
		c.mu.Unlock()
		cancel()
		_ = socket.CloseNow()
	}()
	a.read(ctx, c, answer)
}

func refuseBody(w http.ResponseWriter) {
	_, _ = w.Write([]byte("<html><body>Sign in</body></html>"))
}

// read answers a reader's requests until it goes away.
func (a *Agent) read(ctx context.Context, c *connection, answer Answer) {
	for {
		_, raw, err := c.socket.Read(ctx)
		if err != nil {
			return
		}
		var request wire.Request
		if proto.Unmarshal(raw, &request) != nil {
			return
		}
		a.mu.Lock()
		a.requests = append(a.requests, &request)
		a.mu.Unlock()
		switch answer {
		case Silent:
		case Garbage:
			err = c.socket.Write(ctx, websocket.MessageBinary, []byte{0xff, 0xfe, 0xfd, 0x00})
		case Text:
			err = c.socket.Write(ctx, websocket.MessageText, []byte("hello"))
		case Large:
			err = c.socket.Write(ctx, websocket.MessageBinary, make([]byte, 17<<20))
		case Headless:
			err = c.send(ctx, &wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: []*wire.Tick{{Seq: 1}}}}})
		case Inconsistent:
			bad := a.Schema()
			bad.Columns[0].Device = 99
			err = c.send(ctx, &wire.Message{Body: &wire.Message_Schema{Schema: bad}})
		default:
			err = a.open(ctx, c, &request)
		}
		if err != nil {
			return
		}
	}
}

// open sends the schema and what of the ring was asked for.
func (a *Agent) open(ctx context.Context, c *connection, request *wire.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.mu.Lock()
	c.request = request
	c.mu.Unlock()
	a.heed(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	schema := a.schema()
	c.encoder = wire.NewEncoder(schema)
	if err := c.send(ctx, &wire.Message{Body: &wire.Message_Schema{Schema: schema}}); err != nil {
		return err
	}
	batch := &wire.Batch{}
	resuming := request.GetResumeEpoch() == schema.GetEpoch() && !a.deaf
	for _, sample := range a.ring {
		if len(sample.Readings) != len(schema.GetColumns()) || resuming && sample.Seq <= request.GetResumeAfter() ||
			!resuming && a.now().Sub(sample.Time) > time.Duration(request.GetBackfillMs())*time.Millisecond {
			continue
		}
		tick, err := c.encoder.Encode(sample)
		if err != nil {
			return err
		}
		batch.Ticks = append(batch.Ticks, tick)
	}
	if a.heartbeat > 0 && c.beat == nil {
		c.beat = time.AfterFunc(a.heartbeat, func() { a.beat(ctx, c) })
	}
	if len(batch.Ticks) > 0 {
		if err := c.send(ctx, &wire.Message{Body: &wire.Message_Batch{Batch: batch}}); err != nil {
			return err
		}
	}
	return a.sendBeside(ctx, c, schema.GetEpoch())
}

func (a *Agent) beat(ctx context.Context, c *connection) {
	a.mu.Lock()
	message := &wire.Heartbeat{ClockUnixMs: a.now().UnixMilli(), Seq: a.seq}
	every := a.heartbeat
	a.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil || every <= 0 {
		return
	}
	if c.send(ctx, &wire.Message{Body: &wire.Message_Heartbeat{Heartbeat: message}}) == nil {
		c.beat.Reset(every)
	}
}

func (c *connection) send(ctx context.Context, m *wire.Message) error {
	raw, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return c.socket.Write(ctx, websocket.MessageBinary, raw)
}

// Tick samples now and sends it to every reader. Readings are for each device its metrics; missing ones are zero watts
// and the like.
func (a *Agent) Tick(readings ...gpu.Reading) { a.TickAt(a.Now(), readings...) }

// TickAt is Tick with a time of the agent's clock.
func (a *Agent) TickAt(at time.Time, readings ...gpu.Reading) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seq++
	sample := wire.Sample{Seq: a.seq, Time: at, Readings: make([]gpu.Reading, len(a.devices)*len(a.options.Metrics))}
	for i := range sample.Readings {
		sample.Readings[i] = gpu.Read(0)
		if i < len(readings) {
			sample.Readings[i] = readings[i]
		}
	}
	a.ring = append(a.ring, sample)
	if len(a.ring) > a.options.Ring {
		a.ring = a.ring[len(a.ring)-a.options.Ring:]
	}
	a.broadcast(sample)
}

func (a *Agent) broadcast(sample wire.Sample) {
	a.each(func(c *connection) *wire.Message {
		if c.encoder == nil {
			return nil
		}
		tick, err := c.encoder.Encode(sample)
		if err != nil {
			return nil
		}
		return &wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: []*wire.Tick{tick}}}}
	})
}

// Send sends raw ticks to every reader, whatever they are.
func (a *Agent) Send(ticks ...*wire.Tick) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.each(func(*connection) *wire.Message {
		return &wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: ticks}}}
	})
}

func (a *Agent) each(message func(*connection) *wire.Message) {
	for c := range a.conns {
		c.mu.Lock()
		if m := message(c); m != nil {
			if c.beat != nil {
				c.beat.Reset(a.heartbeat)
			}
			if c.send(context.Background(), m) != nil {
				c.end()
			}
		}
		c.mu.Unlock()
	}
}

// Skip leaves out sequence numbers, as when samples were dropped for a slow reader.
func (a *Agent) Skip(n uint64) { a.set(func() { a.seq += n }) }

// ChangeDevices announces other devices to the readers.
func (a *Agent) ChangeDevices(devices []gpu.Device) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.devices = devices
	a.each(func(c *connection) *wire.Message {
		schema := a.schema()
		c.encoder = wire.NewEncoder(schema)
		return &wire.Message{Body: &wire.Message_Schema{Schema: schema}}
	})
}

// Rename gives the node another name, which readers that connect from now on are told.
func (a *Agent) Rename(node string) { a.set(func() { a.node = node }) }

// Mute ends the heartbeats.
func (a *Agent) Mute() { a.set(func() { a.heartbeat = 0 }) }

// Drop breaks the connections of all readers.
func (a *Agent) Drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.conns {
		c.end()
	}
}

// Restart is a new agent process: another epoch, sequence numbers from the start, an empty ring, no readers.
func (a *Agent) Restart() {
	a.mu.Lock()
	a.epoch++
	a.seq, a.ring, a.beside = 0, nil, beside{}
	for c := range a.conns {
		delete(a.conns, c) // it hears nothing of the new process
		c.end()
	}
	a.mu.Unlock()
}
