package live

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

const (
	// writeLimit is how long a frame may take to be written.
	writeLimit = 10 * time.Second
	// inputBytes holds most messages of a node, so that they are read at once.
	inputBytes = 512
)

// socket is the reader's end of a WebSocket without extensions. There are thousands, which wait nearly all of the time:
// it holds little besides the connection.
//
// One goroutine calls wait and read; any may write and close.
type socket struct {
	conn   net.Conn
	buffer *bufio.Reader // of the connection
	input  wsutil.Reader
	answer wsutil.FrameHandlerFunc // of control frames

	writing sync.Mutex
}

// newSocket is a WebSocket on a connection whose handshake is over. early is what was read of it already; it may be nil.
// It takes messages up to limit bytes.
func newSocket(conn net.Conn, early *bufio.Reader, limit int) *socket {
	var source io.Reader = conn
	if early != nil {
		head, _ := early.Peek(early.Buffered()) // it has them
		source = io.MultiReader(bytes.NewReader(slices.Clone(head)), conn)
		ws.PutReader(early)
	}
	s := &socket{conn: conn, buffer: bufio.NewReaderSize(source, inputBytes)}
	s.answer = wsutil.ControlFrameHandler(s, ws.StateClientSide)
	s.input = wsutil.Reader{
		Source: s.buffer, State: ws.StateClientSide, MaxMessageSize: int64(limit), OnIntermediate: s.answer,
	}
	return s
}

// wait waits for a message, and says what it is: ws.OpText or ws.OpBinary. The caller then must read it.
func (s *socket) wait() (ws.OpCode, error) {
	for {
		// It would wait as well, deeper in the stack, which then is twice as large.
		if _, err := s.buffer.Peek(1); err != nil {
			return 0, err
		}
		header, err := s.input.NextFrame()
		if err != nil {
			return 0, err
		}
		if !header.OpCode.IsControl() {
			return header.OpCode, nil
		}
		if err := s.answer(header, &s.input); err != nil {
			return 0, err
		}
	}
}

// read appends the message that wait told of.
func (s *socket) read(message *bytes.Buffer) error {
	_, err := message.ReadFrom(&s.input)
	return err
}

// send sends a binary message.
func (s *socket) send(message []byte) error {
	frame, err := ws.CompileFrame(ws.MaskFrame(ws.NewBinaryFrame(message)))
	if err != nil {
		return fmt.Errorf("frame a message: %w", err) // not reached: it goes into memory
	}
	if _, err := s.Write(frame); err != nil {
		return fmt.Errorf("write to the agent: %w", err)
	}
	return nil
}

// Write writes a whole frame. After an error the connection is of no use.
func (s *socket) Write(frame []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return 0, err
	}
	return s.conn.Write(frame)
}

// close ends the connection, and all that waits on it, without a word to the other end.
func (s *socket) close() {
	_ = s.conn.Close() // it is of no use any more, whatever that returns
}
