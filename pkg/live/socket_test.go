package live

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // RFC 6455 wants it
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// scripted is a connection whose other end sends bytes, and remembers what it is sent.
type scripted struct {
	net.Conn
	io.Reader

	sent bytes.Buffer
}

func (s *scripted) Read(p []byte) (int, error)     { return s.Reader.Read(p) }
func (s *scripted) Write(p []byte) (int, error)    { return s.sent.Write(p) }
func (*scripted) SetWriteDeadline(time.Time) error { return nil }
func (*scripted) Close() error                     { return nil }

// appendFrame writes a frame as servers do.
func appendFrame(out []byte, head byte, payload []byte) []byte {
	out = append(out, head)
	switch n := len(payload); {
	case n < 126:
		out = append(out, byte(n))
	case n <= 0xffff:
		out = binary.BigEndian.AppendUint16(append(out, 126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, 127), uint64(n))
	}
	return append(out, payload...)
}

// unmask reads a frame as readers write them.
func unmask(t require.TestingT, from io.Reader) (op ws.OpCode, payload string) {
	header, err := ws.ReadHeader(from)
	require.NoError(t, err)
	require.True(t, header.Masked, "readers mask what they send")
	raw := make([]byte, header.Length)
	_, err = io.ReadFull(from, raw)
	require.NoError(t, err)
	ws.Cipher(raw, header.Mask, 0)
	return header.OpCode, string(raw)
}

// oneByte hands out a byte at a time, as a slow network may.
type oneByte struct{ rest []byte }

func (o *oneByte) Read(p []byte) (int, error) {
	if len(o.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(1, len(p))], o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// Messages come out as they went in, in however many frames, with pings between them, and however the network cuts them.
func TestSocketReadsMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var raw []byte
		var want [][]byte
		pings := 0
		ping := func() {
			if rapid.Bool().Draw(t, "ping") {
				raw = appendFrame(raw, 0x80|byte(ws.OpPing), []byte("still there?"))
				pings++
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "messages") {
			var message []byte
			op := byte(ws.OpBinary)
			frames := rapid.IntRange(1, 3).Draw(t, "frames")
			for i := range frames {
				size := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(500, 530), rapid.IntRange(65_500, 65_600)).Draw(t, "size")
				part := bytes.Repeat([]byte{byte(size), byte(i)}, size)[:size]
				ping()
				if i == frames-1 {
					op |= 0x80
				}
				raw = appendFrame(raw, op, part)
				op = byte(ws.OpContinuation)
				message = append(message, part...)
			}
			want = append(want, message)
		}
		conn := &scripted{Reader: bytes.NewReader(raw)}
		if rapid.Bool().Draw(t, "slow") {
			conn.Reader = &oneByte{raw}
		}
		s := newSocket(conn, nil, 1<<20)
		for _, message := range want {
			kind, err := s.wait()
			require.NoError(t, err)
			require.Equal(t, ws.OpBinary, kind)
			var got bytes.Buffer
			require.NoError(t, s.read(&got))
			require.True(t, bytes.Equal(message, got.Bytes()))
		}
		_, err := s.wait()
		require.ErrorIs(t, err, io.EOF)
		for range pings {
			op, payload := unmask(t, &conn.sent)
			require.Equal(t, ws.OpPong, op)
			require.Equal(t, "still there?", payload)
		}
		require.Empty(t, conn.sent.Bytes())
	})
}

// readAll reads messages until there is an error.
func readAll(s *socket) error {
	for {
		if _, err := s.wait(); err != nil {
			return err
		}
		if err := s.read(new(bytes.Buffer)); err != nil {
			return err
		}
	}
}

func TestSocketRefusesWhatBreaksTheProtocol(t *testing.T) {
	const final = 0x80
	long := appendFrame(nil, final|byte(ws.OpBinary), make([]byte, 2000))
	huge := append([]byte{final | byte(ws.OpBinary), 127}, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	for name, tc := range map[string]struct {
		raw  []byte
		want error
	}{
		"extension":                {appendFrame(nil, final|0x40|byte(ws.OpBinary), nil), ws.ErrProtocolNonZeroRsv},
		"masked":                   {[]byte{final | byte(ws.OpBinary), 0x80, 1, 2, 3, 4}, ws.ErrProtocolMaskUnexpected},
		"unknown kind":             {appendFrame(nil, final|0x3, nil), ws.ErrProtocolOpCodeReserved},
		"unknown control":          {appendFrame(nil, final|0xb, nil), ws.ErrProtocolOpCodeReserved},
		"control in parts":         {appendFrame(nil, byte(ws.OpPing), nil), ws.ErrProtocolControlNotFinal},
		"long control":             {appendFrame(nil, final|byte(ws.OpPing), make([]byte, 126)), ws.ErrProtocolControlPayloadOverflow},
		"begins in the middle":     {appendFrame(nil, final|byte(ws.OpContinuation), nil), ws.ErrProtocolContinuationUnexpected},
		"another within":           {appendFrame(appendFrame(nil, byte(ws.OpBinary), nil), final|byte(ws.OpBinary), nil), ws.ErrProtocolContinuationExpected},
		"negative length":          {append([]byte{final | byte(ws.OpBinary), 127}, bytes.Repeat([]byte{0xff}, 8)...), ws.ErrHeaderLengthMSB},
		"too long":                 {long, wsutil.ErrMessageTooLarge},
		"too long for any memory":  {huge, wsutil.ErrMessageTooLarge},
		"too long in parts":        {appendFrame(appendFrame(nil, byte(ws.OpBinary), make([]byte, 600)), final, make([]byte, 600)), wsutil.ErrMessageTooLarge},
		"too long in sum":          {append(appendFrame(nil, byte(ws.OpBinary), make([]byte, 600)), append([]byte{final}, huge[1:]...)...), wsutil.ErrMessageTooLarge},
		"cut off in the header":    {long[:1], io.ErrUnexpectedEOF},
		"cut off in the length":    {long[:3], io.ErrUnexpectedEOF},
		"cut off in the payload":   {appendFrame(nil, final|byte(ws.OpBinary), make([]byte, 900))[:500], io.ErrUnexpectedEOF},
		"cut off between frames":   {appendFrame(nil, byte(ws.OpBinary), make([]byte, 9)), io.ErrUnexpectedEOF},
		"cut off in a control one": {appendFrame(nil, final|byte(ws.OpPing), make([]byte, 9))[:5], io.ErrUnexpectedEOF},
		"no reason but half a one": {appendFrame(nil, final|byte(ws.OpClose), []byte{3}), ws.ErrProtocolStatusCodeNotInUse},
		"a reason that is no text": {appendFrame(nil, final|byte(ws.OpClose), []byte("\x03\xe9\xff")), ws.ErrProtocolInvalidUTF8},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, readAll(newSocket(&scripted{Reader: bytes.NewReader(tc.raw)}, nil, 1000)), tc.want)
		})
	}
}

func TestSocketIsClosed(t *testing.T) {
	for _, tc := range []struct {
		before  []byte
		payload string
		want    wsutil.ClosedError
		echoed  string
	}{
		{nil, "", wsutil.ClosedError{Code: 1005}, ""},
		{nil, "\x03\xe9bye", wsutil.ClosedError{Code: 1001, Reason: "bye"}, "\x03\xe9"},
		{appendFrame(nil, byte(ws.OpBinary), []byte("half a mess")), "\x03\xe9bye", wsutil.ClosedError{Code: 1001, Reason: "bye"}, "\x03\xe9"},
	} {
		conn := &scripted{Reader: bytes.NewReader(appendFrame(tc.before, 0x80|byte(ws.OpClose), []byte(tc.payload)))}
		var closed wsutil.ClosedError
		require.ErrorAs(t, readAll(newSocket(conn, nil, 1000)), &closed)
		require.Equal(t, tc.want, closed)
		op, payload := unmask(t, &conn.sent)
		require.Equal(t, ws.OpClose, op)
		require.Equal(t, tc.echoed, payload)
	}
}

// An agent that takes nothing is given up, also one that floods with pings meanwhile.
func TestSocketGivesUpWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer func() { _ = theirs.Close() }()
		began := time.Now()
		err := newSocket(ours, nil, 1000).send([]byte("hello"))
		require.ErrorContains(t, err, "i/o timeout")
		require.Equal(t, writeLimit, time.Since(began))
		require.Equal(t, KindTimeout, classify(Target{}, err, nil, streaming).Kind)

		go func() { _, _ = theirs.Write(appendFrame(nil, 0x80|byte(ws.OpPing), []byte("?"))) }()
		require.ErrorContains(t, readAll(newSocket(ours, nil, 1000)), "i/o timeout")
		require.Equal(t, 2*writeLimit, time.Since(began))
	})
}

// Another library's end of a WebSocket understands this one's.
func TestSocketAgainstALibrary(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		conn.SetReadLimit(1 << 20)
		for {
			kind, message, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			if string(message) == "leave" {
				_ = conn.Close(websocket.StatusGoingAway, "as you wish")
				return
			}
			if conn.Write(r.Context(), kind, message) != nil {
				return
			}
		}
	}))
	defer server.Close()
	raw, early, _, err := handshake(t.Context(), ws.Dialer{}, "ws"+strings.TrimPrefix(server.URL, "http"))
	require.NoError(t, err)
	s := newSocket(raw, early, 1<<20)
	defer s.close()
	for _, size := range []int{0, 1, 125, 126, 1000, 65_535, 65_536, 200_000} {
		message := bytes.Repeat([]byte{7}, size)
		require.NoError(t, s.send(message))
		kind, err := s.wait()
		require.NoError(t, err)
		require.Equal(t, ws.OpBinary, kind)
		var got bytes.Buffer
		require.NoError(t, s.read(&got))
		require.True(t, bytes.Equal(message, got.Bytes()), "%d bytes", size)
	}
	require.NoError(t, s.send([]byte("leave")))
	var closed wsutil.ClosedError
	require.ErrorAs(t, readAll(s), &closed)
	require.Equal(t, wsutil.ClosedError{Code: 1001, Reason: "as you wish"}, closed)
}

// shake makes a handshake with a server that reads the request and then does what it is told.
func shake(ctx context.Context, then func(server net.Conn, accept string)) (net.Conn, *bufio.Reader, *http.Response, error) {
	dialer := ws.Dialer{
		Header: ws.HandshakeHeaderHTTP{"Authorization": {"Bearer x"}},
		NetDial: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer func() { _ = theirs.Close() }()
				request, err := http.ReadRequest(bufio.NewReader(theirs))
				if err != nil || request.Header.Get("Authorization") != "Bearer x" {
					return
				}
				hash := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
				then(theirs, base64.StdEncoding.EncodeToString(hash[:]))
			}()
			return ours, nil
		},
	}
	return handshake(ctx, dialer, "ws://n1:9847/api/v1/stream")
}

const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n"

// What answers but is no WebSocket's other end is not taken for one.
func TestHandshakeChecksTheAnswer(t *testing.T) {
	endless := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct{ answer, want string }{
		"another protocol": {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", ws.ErrHandshakeBadUpgrade.Error()},
		"another key":      {switching + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", ws.ErrHandshakeBadSecAccept.Error()},
		"no key":           {switching + "\r\n", ws.ErrHandshakeBadSecAccept.Error()},
		"an extension":     {switching + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", ws.ErrHandshakeBadExtensions.Error()},
		"no HTTP":          {"SSH-2.0-OpenSSH_9.9\r\n", "malformed"},
		"a status alone":   {"HTTP/1.1 404 Not Found\r\n" + endless, "404"},
		"an endless line":  {switching + endless, "too long"},
		"endless lines":    {switching + strings.Repeat("X: y\r\n", 1<<18), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, _, _, err := shake(t.Context(), func(server net.Conn, _ string) { _, _ = io.WriteString(server, tc.answer) })
			require.ErrorContains(t, err, tc.want)
			_, err = conn.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.ErrClosedPipe, "it is closed")
		})
	}
}

// What a server answers in place of a WebSocket is told; it is not gone to where it sends elsewhere.
func TestHandshakeTellsTheAnswer(t *testing.T) {
	_, _, response, err := shake(t.Context(), func(server net.Conn, _ string) {
		_, _ = io.WriteString(server, "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example.com/\r\n\r\n")
	})
	require.Error(t, err)
	require.Equal(t, 302, response.StatusCode)
	require.Equal(t, "http://elsewhere.example.com/", response.Header.Get("Location"))
}

// Messages that come in one packet with the answer are read.
func TestHandshakeWithMessagesBehindIt(t *testing.T) {
	many := appendFrame(nil, 0x80|byte(ws.OpBinary), bytes.Repeat([]byte{1}, 1000))
	conn, early, _, err := shake(t.Context(), func(server net.Conn, accept string) {
		_, _ = server.Write(append([]byte(switching+"Sec-WebSocket-Accept: "+accept+"\r\n\r\n"), many[:700]...))
		_, _ = server.Write(many[700:])
	})
	require.NoError(t, err)
	s := newSocket(conn, early, 1000)
	defer s.close()
	_, err = s.wait()
	require.NoError(t, err)
	var message bytes.Buffer
	require.NoError(t, s.read(&message))
	require.Equal(t, bytes.Repeat([]byte{1}, 1000), message.Bytes())
}

// A server that answers a byte at a time holds nobody longer than may be.
func TestHandshakeOfASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_, _, _, err := shake(ctx, func(server net.Conn, _ string) {
			for _, b := range []byte(switching) {
				time.Sleep(time.Second)
				if _, err := server.Write([]byte{b}); err != nil {
					return
				}
			}
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))
		time.Sleep(time.Minute) // the server has noticed
	})
}

// Whatever comes, reading ends, with no more in memory than the limit.
func FuzzSocket(f *testing.F) {
	f.Add(appendFrame(nil, 0x80|byte(ws.OpBinary), []byte("hello")))
	f.Add(appendFrame(appendFrame(nil, byte(ws.OpBinary), []byte("he")), 0x80, []byte("llo")))
	f.Add(appendFrame(nil, 0x80|byte(ws.OpClose), []byte("\x03\xe9bye")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		const limit = 1000
		s := newSocket(&scripted{Reader: bytes.NewReader(raw)}, nil, limit)
		for {
			if _, err := s.wait(); err != nil {
				return
			}
			var message bytes.Buffer
			if err := s.read(&message); err != nil {
				return
			}
			if message.Len() > limit {
				t.Fatalf("%d bytes", message.Len())
			}
		}
	})
}
