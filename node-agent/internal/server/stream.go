package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

const (
	maxRequest     = 4 << 10          // bytes of a reader's message
	requestTimeout = 10 * time.Second // for the first one
	messageTimeout = 5 * time.Second  // for writing one
	heartbeatEvery = 5 * time.Second
	// A reader that is further behind than this, and not catching up on the past that it asked for, is too slow.
	maxBehind  = 5 * time.Second
	minBehind  = 3       // ticks
	batchTicks = 64      // at most in one message
	batchSize  = 1 << 16 // readings at most in one message
)

// stream serves the live stream: see agent.proto for the protocol.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	from := remote(r)
	if err := s.admit(from); err != nil {
		tooMany(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer s.leave(from)
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		s.o.Logger.Debug("A request for the stream was no WebSocket", "from", r.RemoteAddr, "err", err)
		return // Accept answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxRequest)

	// The request's context means nothing after Accept.
	ctx, cancel := context.WithCancel(s.stopping)
	defer cancel()
	requests := make(chan *wire.Request)
	reading := make(chan error, 1)
	// A read whose context ends cuts the connection off, before the reader is told why. So reads go on until it is closed.
	go func() { reading <- read(context.Background(), conn, requests, ctx.Done()) }()

	sub := &subscriber{server: s, conn: conn}
	err = sub.run(ctx, requests, reading)
	s.o.Logger.Debug("A reader left", "reader", sub.reader, "from", r.RemoteAddr, "err", err)
	code, reason := closing(s.stopping, err)
	cancel()
	_ = conn.Close(code, reason) // the reader may be gone already
	for range requests {         // read ends, now that the connection is closed
	}
}

// admit takes a reader in, or says why not.
func (s *Server) admit(from string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	switch most := s.o.MaxPerRemote; {
	case s.stopping.Err() != nil:
		err = errors.New("the agent is stopping")
	case s.readers >= s.o.MaxSubscribers:
		err = fmt.Errorf("this agent serves %d readers, which is its limit: raise --web.max-subscribers, or close some", s.o.MaxSubscribers)
	case most > 0 && s.remotes[from] >= most:
		err = fmt.Errorf("this agent serves %d readers at %s, which is its limit for one address: close some", most, from)
	}
	if err != nil {
		s.figures.refused.Inc()
		return err
	}
	s.readers++
	s.remotes[from]++
	s.streams.Add(1)
	s.figures.subscribers.Inc()
	return nil
}

func (s *Server) leave(from string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
	if s.remotes[from]--; s.remotes[from] == 0 {
		delete(s.remotes, from)
	}
	s.streams.Done()
	s.figures.subscribers.Dec()
}

// requestError is a message of the reader's that is no Request.
type requestError struct{ cause error }

func (e *requestError) Error() string {
	return "the message is no warpwatch.agent.v1.Request: " + e.cause.Error()
}

// closing is how a stream ends, for the reader.
func closing(stopping context.Context, err error) (websocket.StatusCode, string) {
	var bad *requestError
	switch {
	case stopping.Err() != nil:
		return websocket.StatusGoingAway, "the agent is stopping"
	case errors.As(err, &bad):
		return websocket.StatusUnsupportedData, "want a binary message with a Request"
	case errors.Is(err, errNoRequest):
		return websocket.StatusPolicyViolation, errNoRequest.Error()
	}
	return websocket.StatusNormalClosure, ""
}

var (
	errNoRequest = fmt.Errorf("no Request came within %s", requestTimeout)
	errDone      = errors.New("the stream ended")
)

// read passes on what the reader asks for until the connection ends, or until done when there is something to pass on. It
// closes requests.
func read(ctx context.Context, conn *websocket.Conn, requests chan<- *wire.Request, done <-chan struct{}) error {
	defer close(requests)
	for {
		kind, message, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageBinary {
			return &requestError{errors.New("it is text")}
		}
		var request wire.Request
		if err := proto.Unmarshal(message, &request); err != nil {
			return &requestError{err}
		}
		select {
		case requests <- &request:
		case <-done:
			return errDone
		}
	}
}

// subscriber is one reader of the stream.
type subscriber struct {
	server *Server
	conn   *websocket.Conn
	reader string

	after   uint64 // sequence number of the last tick that was sent, or skipped
	dropped uint64 // ticks skipped since then
	past    uint64 // up to this one the reader asked for the past, and gets all of it
	schema  *snapshot.Schema
	encoder *wire.Encoder

	beside beside

	frames []*snapshot.Frame
	ticks  []*wire.Tick
	buffer []byte
}

func (sub *subscriber) run(ctx context.Context, requests <-chan *wire.Request, reading <-chan error) error {
	select {
	case r, ok := <-requests:
		if !ok {
			return <-reading
		}
		sub.ask(r)
	case <-time.After(requestTimeout):
		return errNoRequest
	case <-ctx.Done():
		return ctx.Err()
	}
	heartbeat := time.NewTimer(heartbeatEvery)
	defer heartbeat.Stop()
	for {
		changed, err := sub.send(ctx)
		if err != nil {
			return err
		}
		sent, err := sub.sendBeside(ctx)
		if err != nil {
			return err
		}
		if len(sub.frames) > 0 || sent {
			heartbeat.Reset(heartbeatEvery)
		}
		select {
		case <-changed:
		case <-sub.beside.events.changed:
		case <-sub.beside.processes.changed:
		case <-sub.beside.owners.changed:
		case r, ok := <-requests:
			if !ok {
				return <-reading
			}
			sub.ask(r)
		case <-heartbeat.C:
			if err := sub.beat(ctx); err != nil {
				return err
			}
			heartbeat.Reset(heartbeatEvery)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask starts the stream where the reader wants it. Whatever the reader knew before, it gets a schema and whole values.
func (sub *subscriber) ask(r *wire.Request) {
	store, node := sub.server.o.Store, sub.server.o.Node
	sub.schema, sub.encoder, sub.dropped, sub.past = nil, nil, 0, 0
	sub.beside = sub.server.besides(r)
	newest := store.Newest()
	if newest != nil {
		sub.past = newest.Seq
	}
	if newest != nil && r.GetResumeEpoch() == node.Epoch && r.GetResumeAfter() <= newest.Seq {
		sub.after = r.GetResumeAfter()
	} else {
		sub.after = store.Since(r.GetBackfillMs())
	}
	if sub.reader != r.GetReader() {
		sub.reader = r.GetReader()
		sub.server.o.Logger.Debug("A reader subscribed", "reader", sub.reader, "after", sub.after)
	}
}

// send sends what is new, and leaves it in sub.frames. The channel is closed when there is more.
func (sub *subscriber) send(ctx context.Context) (<-chan struct{}, error) {
	var changed <-chan struct{}
	sub.frames, changed = sub.server.o.Store.After(sub.after, sub.frames[:0])
	if len(sub.frames) == 0 {
		if sub.schema == nil {
			return changed, sub.begin(ctx, sub.server.o.Empty)
		}
		return changed, nil
	}
	sub.overtake()
	size := 0
	for _, f := range sub.frames {
		if f.Schema != sub.schema {
			if err := sub.flush(ctx); err != nil {
				return nil, err
			}
			if err := sub.begin(ctx, f.Schema); err != nil {
				return nil, err
			}
			size = 0
		}
		tick, err := sub.encoder.Encode(wire.Sample{Seq: f.Seq, Time: f.Time, Readings: f.Readings, Dropped: sub.dropped})
		if err != nil {
			return nil, err
		}
		sub.ticks, sub.after, sub.dropped = append(sub.ticks, tick), f.Seq, 0
		if size += len(f.Readings); len(sub.ticks) >= batchTicks || size >= batchSize {
			if err := sub.flush(ctx); err != nil {
				return nil, err
			}
			size = 0
		}
	}
	return changed, sub.flush(ctx)
}

// overtake leaves frames out when the reader is too slow for them, and counts those that are gone from the ring.
func (sub *subscriber) overtake() {
	sub.skip(sub.frames[0].Seq - sub.after - 1)
	if n := len(sub.frames); sub.after >= sub.past && n > sub.mayBehind() {
		sub.skip(uint64(n - 1))
		sub.frames = append(sub.frames[:0], sub.frames[n-1])
	}
}

// skip notes that ticks were left out.
func (sub *subscriber) skip(n uint64) {
	sub.dropped += n
	sub.server.figures.dropped.Add(float64(n))
}

// mayBehind is how many ticks a reader may be behind.
func (sub *subscriber) mayBehind() int {
	return max(minBehind, int(maxBehind/sub.server.o.Node.Period))
}

// begin sends a schema.
func (sub *subscriber) begin(ctx context.Context, s *snapshot.Schema) error {
	sub.schema, sub.encoder = s, wire.NewEncoder(s.Wire)
	w := proto.CloneOf(s.Wire)
	w.ClockUnixMs = time.Now().UnixMilli()
	return sub.write(ctx, &wire.Message{Body: &wire.Message_Schema{Schema: w}})
}

func (sub *subscriber) flush(ctx context.Context) error {
	if len(sub.ticks) == 0 {
		return nil
	}
	err := sub.write(ctx, &wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: sub.ticks}}})
	clear(sub.ticks)
	sub.ticks = sub.ticks[:0]
	return err
}

func (sub *subscriber) beat(ctx context.Context) error {
	h := &wire.Heartbeat{ClockUnixMs: time.Now().UnixMilli(), Seq: sub.after}
	return sub.write(ctx, &wire.Message{Body: &wire.Message_Heartbeat{Heartbeat: h}})
}

func (sub *subscriber) write(ctx context.Context, m *wire.Message) error {
	var err error
	if sub.buffer, err = (proto.MarshalOptions{}).MarshalAppend(sub.buffer[:0], m); err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	// A write whose context ends cuts the connection off. The message in flight when the agent stops is still written, so
	// that the reader can be told why it ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), messageTimeout)
	defer cancel()
	if err := sub.conn.Write(ctx, websocket.MessageBinary, sub.buffer); err != nil {
		return fmt.Errorf("write to the reader: %w", err)
	}
	sub.server.figures.messages.Inc()
	sub.server.figures.payload.Add(float64(len(sub.buffer)))
	return nil
}
