package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// session is one connection to a node. Its fields belong to the goroutine that runs it. That waits on nearly all
// connections nearly all of the time, so little is held meanwhile, on its stack neither.
type session struct {
	node    *node
	conn    *socket
	release func()      // lets another connection be made
	watch   *time.Timer // ends the connection when nothing comes
	expired atomic.Bool // it did

	sent    time.Time      // when the request was sent
	resume  string         // epoch asked to resume
	columns []*wire.Column // of what follows, shared with other nodes
	state   *wire.State    // of them; nil before the first schema
	period  time.Duration
	began   time.Time // when the schema came; zero: it did not
	seq     uint64    // newest in this stream

	resumed bool // this stream continues one before it
	fresh   bool // ticks are of now, no longer out of the agent's ring
}

// catchUp is how long after the schema ticks are taken to be of now, whatever their time says.
const catchUp = 10 * time.Second

// begin waits until a connection may be made. It is nil when ctx ended before.
func (n *node) begin(ctx context.Context) *session {
	select {
	case n.hub.slots <- struct{}{}:
		return &session{node: n, release: sync.OnceFunc(func() { <-n.hub.slots })}
	case <-ctx.Done():
		return nil
	}
}

// run connects, and reads until the connection ends or ctx does.
func (s *session) run(ctx context.Context) *Error {
	if failed := s.connect(ctx); failed != nil {
		s.release()
		return failed
	}
	stop := context.AfterFunc(ctx, s.conn.close)
	var err error
	for err == nil {
		err = s.next()
	}
	stop()
	return s.end(err)
}

// connect opens the stream, and asks for what is wanted of it.
func (s *session) connect(ctx context.Context) *Error {
	n, cfg := s.node, &s.node.hub.cfg
	deadline := time.Now().Add(cfg.DialTimeout + cfg.HandshakeTimeout)
	dialling, cancel := context.WithDeadlineCause(ctx, deadline, errHandshake)
	defer cancel()
	conn, failed := n.hub.dial(dialling, n.target())
	if failed != nil {
		return failed
	}
	s.conn = conn
	s.watch = time.AfterFunc(time.Until(deadline), s.expire)
	stop := context.AfterFunc(ctx, conn.close)
	defer stop()
	if err := s.request(); err != nil {
		return s.end(err)
	}
	return nil
}

func (s *session) expire() {
	s.expired.Store(true)
	s.conn.close()
}

// end closes the connection, and says why it ended.
func (s *session) end(err error) *Error {
	s.watch.Stop()
	s.conn.close()
	s.release()
	s.node.closed(s.conn)
	switch {
	case !s.expired.Load():
	case s.began.IsZero():
		err = errHandshake
	default:
		err = errIdle
	}
	return classify(s.node.target(), err, nil, streaming)
}

// steady reports whether the stream stood for long.
func (s *session) steady() bool { return !s.began.IsZero() && time.Since(s.began) >= steady }

// next waits for a message, and takes it.
func (s *session) next() error {
	kind, err := s.conn.wait()
	if err != nil {
		return err
	}
	return s.take(kind)
}

// take reads the message that came.
func (s *session) take(kind ws.OpCode) error {
	// Only now: most connections wait most of the time.
	buffer := s.node.hub.buffer()
	if err := s.conn.read(buffer); err != nil {
		return err
	}
	arrived := time.Now()
	if kind != ws.OpBinary {
		return &garbageError{"it sends text where binary messages belong"}
	}
	first := s.began.IsZero()
	if err := s.message(buffer.Bytes(), arrived); err != nil {
		return err
	}
	s.node.hub.reuse(buffer)
	if s.began.IsZero() {
		return nil
	}
	s.watch.Reset(max(s.node.hub.cfg.IdleTimeout, 3*s.period))
	if first {
		s.release()
		s.node.hub.learned(s.node)
	}
	return nil
}

// sample is the one that the state holds. It is the subscribers' to keep.
func (s *session) sample(head wire.Head) wire.Sample {
	readings := make([]gpu.Reading, s.state.Columns())
	s.state.Read(s.columns, readings)
	return wire.Sample{Seq: head.Seq, Time: head.Time, Readings: readings, Dropped: head.Dropped}
}

func (h *Hub) buffer() *bytes.Buffer {
	if b, ok := h.buffers.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

// reuse takes a buffer back that nothing refers to any more, unless a large message made it large.
func (h *Hub) reuse(b *bytes.Buffer) {
	if b.Cap() <= 256<<10 {
		b.Reset()
		h.buffers.Put(b)
	}
}

// request asks for what comes after the newest sample in the ring, or else for the agent's ring.
func (s *session) request() error {
	n := s.node
	n.mu.Lock()
	s.resume, _ = n.position()
	s.sent = time.Now()
	raw, err := n.request(s.sent)
	n.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.conn.send(raw); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conn = s.conn
	n.ask()
	return nil
}

// request is what to send to the agent now. The caller holds mu.
func (n *node) request(now time.Time) ([]byte, error) {
	epoch, seq := n.position()
	wanted := n.wishes.all(now)
	start := n.start(now)
	switch {
	case n.reach.older != nil:
		epoch, seq, start = "", 0, n.reach.since
	case epoch == "":
		n.reach.held = start
	}
	raw, err := proto.Marshal(&wire.Request{
		ResumeEpoch: epoch, ResumeAfter: seq, Reader: n.hub.cfg.Reader, BackfillMs: uint64(now.Sub(start).Milliseconds()),
		PeriodMs: uint32(wanted.period.Milliseconds()), Events: wanted.events, EventsAfter: n.beside.seq,
		Processes: wanted.processes, Owners: wanted.owners,
	})
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	if !wanted.processes && n.asked.processes {
		n.beside.processes = nil // it grows old from now on
	}
	if !wanted.owners && n.asked.owners {
		n.beside.owners = nil
	}
	if wanted.processes && !n.asked.processes || wanted.owners && !n.asked.owners {
		n.listsAsked = now
	}
	n.asked = wanted
	return raw, nil
}

// closed says that nothing can be asked on a connection any more.
func (n *node) closed(conn *socket) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.conn == conn {
		n.conn = nil
		n.dropRefill()
	}
	n.asked = wish{}
	n.tell()
}

func (s *session) message(raw []byte, arrived time.Time) error {
	// Nearly all messages are batches, which are read as they come.
	if ticks, ok := wire.CutBatch(raw); ok {
		return s.batch(ticks, arrived)
	}
	var m wire.Message
	if err := proto.Unmarshal(raw, &m); err != nil {
		return &garbageError{"it sends messages that are not a warpwatch stream's"}
	}
	switch body := m.GetBody().(type) {
	case *wire.Message_Schema:
		return s.schema(body.Schema, arrived)
	case *wire.Message_Batch:
		// Of an agent that says more in it.
		ticks, err := proto.Marshal(body.Batch)
		if err != nil {
			return fmt.Errorf("read batch: %w", err) // not reached: it was read before
		}
		return s.batch(ticks, arrived)
	case *wire.Message_Heartbeat:
		if s.state == nil {
			return &garbageError{"it sends a heartbeat before the schema"}
		}
		agent, err := agentTime(body.Heartbeat.GetClockUnixMs())
		if err != nil {
			return err
		}
		// It had nothing else to send.
		s.fresh = true
		s.node.heartbeat(agent, arrived)
	case *wire.Message_Events:
		return s.besides(func() error { return s.node.takeEvents(body.Events) })
	case *wire.Message_Processes:
		return s.besides(func() error { return s.node.takeProcesses(body.Processes) })
	case *wire.Message_Owners:
		return s.besides(func() error { return s.node.takeOwners(body.Owners) })
	}
	return nil
}

// besides takes what comes besides samples. Without a schema it says nothing.
func (s *session) besides(take func() error) error {
	if s.state == nil {
		return nil
	}
	return take()
}

func (s *session) schema(sent *wire.Schema, arrived time.Time) error {
	agent, timed := agentTime(sent.GetClockUnixMs())
	sent.ClockUnixMs = 0 // it is no part of what the schema says
	if _, err := wire.NewDecoder(sent); err != nil {
		var version *wire.VersionError
		if errors.As(err, &version) {
			return version
		}
		return &garbageError{"its schema is not consistent (" + err.Error() + ")"}
	}
	if timed != nil {
		return timed
	}
	first := s.state == nil
	s.state, s.seq = wire.NewState(len(sent.GetColumns())), 0
	s.period = time.Duration(sent.GetPeriodMs()) * time.Millisecond
	if first {
		s.began = arrived
		s.resumed = s.resume != ""
	}
	adopted, renamed := s.node.adopt(sent, agent, s.sent, arrived, first)
	s.columns = adopted.Wire.GetColumns()
	if renamed && !first {
		s.node.hub.learned(s.node)
	}
	return nil
}

// batch takes the ticks of a message.
func (s *session) batch(ticks []byte, arrived time.Time) error {
	for len(ticks) > 0 {
		head, rest, err := s.tick(ticks)
		if err != nil {
			return err
		}
		ticks = rest
		if s.seq == head.Seq {
			s.node.repeated()
			continue
		}
		s.seq = head.Seq
		s.node.take(s, head, arrived)
	}
	// Only now: who waits for it wants all of the ring, not its older half.
	if s.fresh {
		s.node.caughtUp()
	}
	if hub := s.node.hub; hub.rings.full() {
		hub.makeRoom()
	}
	return nil
}

// tick brings the state to the first of ticks, unless that is the newest one again, and says what follows it.
func (s *session) tick(ticks []byte) (head wire.Head, rest []byte, err error) {
	if s.state == nil {
		return head, nil, &garbageError{"it sends samples before the schema"}
	}
	head, rest, err = wire.NextTick(ticks)
	if err != nil {
		return head, nil, &garbageError{"it sends messages that are not a warpwatch stream's"}
	}
	if head.Seq == s.seq {
		return head, rest, nil
	}
	if head.Seq < s.seq {
		// Its deltas belong between others, so no later value could be trusted. A new stream starts clean.
		s.node.reordered()
		return head, nil, &disorderError{head.Seq, s.seq}
	}
	if _, err := agentTime(head.Time.UnixMilli()); err != nil {
		return head, nil, err
	}
	if head, rest, err = s.state.Apply(ticks); err != nil {
		return head, nil, &garbageError{"it sends samples that do not fit the schema (" + err.Error() + ")"}
	}
	return head, rest, nil
}

// agentTime is a time of the agent's clock, which may be far off, but not so far that differences do not fit a
// time.Duration.
func agentTime(ms int64) (time.Time, error) {
	t := time.UnixMilli(ms)
	if year := t.UTC().Year(); ms < 0 || year >= 2200 {
		return time.Time{}, &garbageError{"its clock shows a time that cannot be"}
	}
	return t, nil
}

// settle decides whether the ticks are of now by this one's corrected time.
func (s *session) settle(t, arrived time.Time) {
	age := arrived.Sub(t)
	s.fresh = s.fresh || age.Abs() <= 2*s.period+tolerated || arrived.Sub(s.began) > catchUp
}
