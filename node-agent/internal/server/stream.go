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
	"github.com/warpwatch/warpwatch/node-agent/internal/wish"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

const (
	maxRequest     = 4 << 10          // bytes of a reader's message
	requestTimeout = 10 * time.Second // for the first one
	messageTimeout = 5 * time.Second  // for writing one
	heartbeatEvery = 5 * time.Second
	// A reader that is further behind than this, and not catching up on the past that it asked for, is too slow.
	maxBehind = 5 * time.Second
	minBehind = 3 // ticks
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
	if s.o.Wishes != nil {
		sub.wish = s.o.Wishes.Join()
		defer sub.wish.Leave()
	}
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

	after  uint64           // sequence number of the last tick that was sent, or skipped
	past   uint64           // up to this one the reader asked for the past, and gets all of it
	schema *snapshot.Schema // that the reader was told, nil for none
	held   *snapshot.Schema // the same once a tick of it was sent

	beside beside
	wish   *wish.Wish // nil where none is heard
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
		before := sub.after
		changed, err := sub.send(ctx)
		if err != nil {
			return err
		}
		sent, err := sub.sendBeside(ctx)
		if err != nil {
			return err
		}
		if sub.after > before || sent {
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
	sub.schema, sub.held, sub.past = nil, nil, 0
	if sub.wish != nil {
		sub.wish.Set(time.Duration(r.GetPeriodMs()) * time.Millisecond)
	}
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

// send sends what is new. The channel is closed when there is more.
func (sub *subscriber) send(ctx context.Context) (<-chan struct{}, error) {
	for {
		p, changed, err := sub.next()
		if err != nil {
			return nil, err
		}
		if p.Last == 0 {
			if sub.schema == nil {
				return changed, sub.begin(ctx, sub.server.o.Empty)
			}
			return changed, nil
		}
		sub.server.figures.dropped.Add(float64(p.Missed))
		if p.Whole {
			if err := sub.begin(ctx, p.Schema); err != nil {
				return nil, err
			}
		}
		sub.buffer = wire.AppendBatch(sub.buffer[:0], p.Ticks)
		if err := sub.transmit(ctx); err != nil {
			return nil, err
		}
		sub.after, sub.held = p.Last, p.Schema
		select {
		case <-ctx.Done(): // while the reader gets a long past
			return nil, ctx.Err()
		default:
		}
	}
}

// next is what the reader gets next. One that is too slow gets the newest tick alone.
func (sub *subscriber) next() (snapshot.Piece, <-chan struct{}, error) {
	store := sub.server.o.Store
	if newest := store.Newest(); newest != nil && sub.after >= sub.past && newest.Seq > sub.after+mayBehind(newest) {
		return store.Jump(sub.after, sub.held)
	}
	return store.After(sub.after, sub.held)
}

// mayBehind is how many ticks a reader may be behind.
func mayBehind(newest *snapshot.Frame) uint64 {
	return uint64(max(minBehind, maxBehind/max(newest.Schema.Node.Period, time.Millisecond)))
}

// begin sends a schema.
func (sub *subscriber) begin(ctx context.Context, s *snapshot.Schema) error {
	sub.schema, sub.held = s, nil
	w := proto.CloneOf(s.Wire)
	w.ClockUnixMs = time.Now().UnixMilli()
	return sub.write(ctx, &wire.Message{Body: &wire.Message_Schema{Schema: w}})
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
	return sub.transmit(ctx)
}

// transmit sends what is in sub.buffer.
func (sub *subscriber) transmit(ctx context.Context) error {
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
