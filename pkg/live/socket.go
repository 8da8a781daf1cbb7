package live

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// opcode is what a WebSocket frame is.
type opcode byte

const (
	opContinuation opcode = 0x0
	opText         opcode = 0x1
	opBinary       opcode = 0x2
	opClose        opcode = 0x8
	opPing         opcode = 0x9
	opPong         opcode = 0xa
)

func (o opcode) controls() bool { return o >= opClose }

const (
	// writeLimit is how long a frame may take to be written.
	writeLimit = 10 * time.Second
	// inputBytes holds most messages of a node, so that they are read at once.
	inputBytes = 512
	maxControl = 125 // bytes of a control frame's payload
)

// closedError is why the other end closed a WebSocket.
type closedError struct {
	code   uint16 // 1005: it did not say
	reason string
}

func (e *closedError) Error() string {
	return fmt.Sprintf("the other end closed the stream (%d %s)", e.code, e.reason)
}

var errTooBig = errors.New("the message is larger than the limit")

// socket is the reader's end of a WebSocket (RFC 6455) without extensions. Libraries hold buffers of 8 KiB for each
// connection, which is most of what a node takes here: there are thousands, and they wait nearly all of the time.
//
// One goroutine calls wait and read; any may write and close.
type socket struct {
	conn  io.ReadWriteCloser
	input *bufio.Reader
	limit int64

	frame frame            // of the message that is being read
	rest  io.LimitedReader // what is left of that frame

	writing sync.Mutex
	late    atomic.Bool // a write took too long
}

// frame is the header of one.
type frame struct {
	op     opcode
	final  bool
	length int64
}

// newSocket is a WebSocket on a connection whose handshake is over. It takes messages up to limit bytes.
func newSocket(conn io.ReadWriteCloser, limit int) *socket {
	return &socket{conn: conn, input: bufio.NewReaderSize(conn, inputBytes), limit: int64(limit)}
}

// wait waits for a message, and says what it is: opText or opBinary. The caller then must read it.
func (s *socket) wait() (opcode, error) {
	if err := s.next(); err != nil {
		return 0, err
	}
	if s.frame.op == opContinuation {
		return 0, errors.New("a message begins in the middle")
	}
	return s.frame.op, nil
}

// read appends the message that wait told of.
func (s *socket) read(message *bytes.Buffer) error {
	for {
		if s.frame.length > s.limit-int64(message.Len()) {
			return errTooBig
		}
		s.rest = io.LimitedReader{R: s.input, N: s.frame.length}
		if _, err := message.ReadFrom(&s.rest); err != nil {
			return err
		}
		if s.rest.N > 0 {
			return io.ErrUnexpectedEOF
		}
		if s.frame.final {
			return nil
		}
		if err := s.next(); err != nil {
			return err
		}
		if s.frame.op != opContinuation {
			return errors.New("a message begins within another")
		}
	}
}

// next reads the header of the next frame that is not a control frame, and does what those before it ask for.
func (s *socket) next() error {
	for {
		f, err := s.header()
		if err != nil {
			return err
		}
		if !f.op.controls() {
			s.frame = f
			return nil
		}
		if err := s.control(f); err != nil {
			return err
		}
	}
}

func (s *socket) header() (frame, error) {
	head, err := s.input.Peek(2)
	if err != nil {
		return frame{}, err
	}
	f := frame{op: opcode(head[0] & 0xf), final: head[0]&0x80 != 0, length: int64(head[1] & 0x7f)}
	reserved, masked := head[0]&0x70 != 0, head[1]&0x80 != 0
	size := 2
	switch f.length {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if head, err = s.input.Peek(size); err != nil {
		return frame{}, err
	}
	switch f.length {
	case 126:
		f.length = int64(binary.BigEndian.Uint16(head[2:]))
	case 127:
		f.length = int64(binary.BigEndian.Uint64(head[2:])) //nolint:gosec // a negative one is refused below
	}
	switch {
	case reserved:
		return frame{}, errors.New("a frame has bits of extensions that were not agreed on")
	case masked:
		return frame{}, errors.New("a frame is masked as only readers mask them")
	case f.length < 0:
		return frame{}, errors.New("a frame has no possible length")
	case f.op > opPong, f.op > opBinary && !f.op.controls():
		return frame{}, errors.New("a frame is of an unknown kind")
	case f.op.controls() && (!f.final || f.length > maxControl):
		return frame{}, errors.New("a control frame is too long or in parts")
	}
	_, err = s.input.Discard(size)
	return f, err
}

// control answers a control frame.
func (s *socket) control(f frame) error {
	payload := make([]byte, f.length)
	if _, err := io.ReadFull(s.input, payload); err != nil {
		return err
	}
	switch f.op {
	case opPing:
		return s.write(opPong, payload)
	case opClose:
		closed := &closedError{code: 1005}
		if len(payload) >= 2 {
			closed.code, closed.reason = binary.BigEndian.Uint16(payload), string(payload[2:])
			payload = payload[:2]
		}
		_ = s.write(opClose, payload) // out of courtesy: it may be gone
		return closed
	case opPong, opContinuation, opText, opBinary:
	}
	return nil
}

// write sends a frame that is a whole message. The socket is closed when that takes too long.
func (s *socket) write(op opcode, payload []byte) error {
	out := make([]byte, 0, 14+len(payload))
	out = append(out, 0x80|byte(op))
	const masked = 0x80
	switch n := len(payload); {
	case n < 126:
		out = append(out, masked|byte(n))
	case n <= 0xffff:
		out = binary.BigEndian.AppendUint16(append(out, masked|126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, masked|127), uint64(n))
	}
	var key [4]byte
	_, _ = rand.Read(key[:]) // it never fails
	out = append(out, key[:]...)
	for i, b := range payload {
		out = append(out, b^key[i%4])
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	timer := time.AfterFunc(writeLimit, func() {
		s.late.Store(true)
		s.close()
	})
	defer timer.Stop()
	if _, err := s.conn.Write(out); err != nil {
		if s.late.Load() {
			err = os.ErrDeadlineExceeded
		}
		return fmt.Errorf("write to the agent: %w", err)
	}
	return nil
}

// close ends the connection, and all that waits on it, without a word to the other end.
func (s *socket) close() {
	_ = s.conn.Close() // it is of no use any more, whatever that returns
}
