package live

import (
	"bytes"
	"context"
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
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// scripted is a connection whose other end sends bytes, a few at a time, and remembers what it is sent.
type scripted struct {
	io.Reader
	sent bytes.Buffer
}

func (s *scripted) Write(p []byte) (int, error) { return s.sent.Write(p) }
func (*scripted) Close() error                  { return nil }

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
func unmask(t require.TestingT, raw []byte) (op opcode, payload []byte) {
	require.GreaterOrEqual(t, len(raw), 6)
	require.NotZero(t, raw[1]&0x80, "readers mask what they send")
	require.Less(t, raw[1]&0x7f, byte(126), "control frames are short")
	for i, b := range raw[6:] {
		payload = append(payload, b^raw[2+i%4])
	}
	return opcode(raw[0] & 0xf), payload
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
				raw = appendFrame(raw, 0x80|byte(opPing), []byte("still there?"))
				pings++
			}
		}
		for range rapid.IntRange(1, 4).Draw(t, "messages") {
			var message []byte
			op := byte(opBinary)
			frames := rapid.IntRange(1, 3).Draw(t, "frames")
			for i := range frames {
				size := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(500, 530), rapid.IntRange(65_500, 65_600)).Draw(t, "size")
				part := bytes.Repeat([]byte{byte(size), byte(i)}, size)[:size]
				ping()
				if i == frames-1 {
					op |= 0x80
				}
				raw = appendFrame(raw, op, part)
				op = byte(opContinuation)
				message = append(message, part...)
			}
			want = append(want, message)
		}
		conn := &scripted{Reader: bytes.NewReader(raw)}
		if rapid.Bool().Draw(t, "slow") {
			conn.Reader = &oneByte{raw}
		}
		s := newSocket(conn, 1<<20)
		for _, message := range want {
			kind, err := s.wait()
			require.NoError(t, err)
			require.Equal(t, opBinary, kind)
			var got bytes.Buffer
			require.NoError(t, s.read(&got))
			require.True(t, bytes.Equal(message, got.Bytes()))
		}
		_, err := s.wait()
		require.ErrorIs(t, err, io.EOF)
		pongs := conn.sent.Bytes()
		for range pings {
			const size = 6 + len("still there?")
			op, payload := unmask(t, pongs[:size])
			require.Equal(t, opPong, op)
			require.Equal(t, "still there?", string(payload))
			pongs = pongs[size:]
		}
		require.Empty(t, pongs)
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
	long := appendFrame(nil, final|byte(opBinary), make([]byte, 2000))
	for name, tc := range map[string]struct {
		raw  []byte
		want string
	}{
		"extension":                {appendFrame(nil, final|0x40|byte(opBinary), nil), "extensions"},
		"masked":                   {[]byte{final | byte(opBinary), 0x80, 1, 2, 3, 4}, "masked"},
		"unknown kind":             {appendFrame(nil, final|0x3, nil), "unknown kind"},
		"unknown control":          {appendFrame(nil, final|0xb, nil), "unknown kind"},
		"control in parts":         {appendFrame(nil, byte(opPing), nil), "control frame"},
		"long control":             {appendFrame(nil, final|byte(opPing), make([]byte, 126)), "control frame"},
		"begins in the middle":     {appendFrame(nil, final|byte(opContinuation), nil), "begins in the middle"},
		"another within":           {appendFrame(appendFrame(nil, byte(opBinary), nil), final|byte(opBinary), nil), "within another"},
		"negative length":          {append([]byte{final | byte(opBinary), 127}, bytes.Repeat([]byte{0xff}, 8)...), "no possible length"},
		"too long":                 {long, errTooBig.Error()},
		"too long in parts":        {appendFrame(appendFrame(nil, byte(opBinary), make([]byte, 600)), final, make([]byte, 600)), errTooBig.Error()},
		"cut off in the header":    {long[:1], io.EOF.Error()},
		"cut off in the length":    {long[:3], io.EOF.Error()},
		"cut off in the payload":   {appendFrame(nil, final|byte(opBinary), make([]byte, 900))[:500], io.ErrUnexpectedEOF.Error()},
		"cut off in a control one": {appendFrame(nil, final|byte(opPing), make([]byte, 9))[:5], io.ErrUnexpectedEOF.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, readAll(newSocket(&scripted{Reader: bytes.NewReader(tc.raw)}, 1000)), tc.want)
		})
	}
}

func TestSocketIsClosed(t *testing.T) {
	for _, tc := range []struct {
		payload string
		code    uint16
		reason  string
		echoed  string
	}{
		{"", 1005, "", ""},
		{"\x03\xe9bye", 1001, "bye", "\x03\xe9"},
	} {
		conn := &scripted{Reader: bytes.NewReader(appendFrame(nil, 0x80|byte(opClose), []byte(tc.payload)))}
		var closed *closedError
		require.ErrorAs(t, readAll(newSocket(conn, 1000)), &closed)
		require.Equal(t, closedError{tc.code, tc.reason}, *closed)
		op, payload := unmask(t, conn.sent.Bytes())
		require.Equal(t, opClose, op)
		require.Equal(t, tc.echoed, string(payload))
	}
}

// An agent that takes nothing is given up.
func TestSocketGivesUpWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer func() { _ = theirs.Close() }()
		began := time.Now()
		err := newSocket(ours, 1000).write(opBinary, []byte("hello"))
		require.ErrorContains(t, err, "i/o timeout")
		require.Equal(t, writeLimit, time.Since(began))
		require.Equal(t, KindTimeout, classify(Target{}, err, nil, streaming).Kind)
	})
}

// A well-known library's end of a WebSocket understands this one's.
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
	raw, _, err := handshake(context.Background(), server.Client(), server.URL, http.Header{"Authorization": {"Bearer x"}})
	require.NoError(t, err)
	s := newSocket(raw, 1<<20)
	defer s.close()
	for _, size := range []int{0, 1, 125, 126, 1000, 65_535, 65_536, 200_000} {
		message := bytes.Repeat([]byte{7}, size)
		require.NoError(t, s.write(opBinary, message))
		kind, err := s.wait()
		require.NoError(t, err)
		require.Equal(t, opBinary, kind)
		var got bytes.Buffer
		require.NoError(t, s.read(&got))
		require.True(t, bytes.Equal(message, got.Bytes()), "%d bytes", size)
	}
	require.NoError(t, s.write(opText, []byte("leave")))
	var closed *closedError
	require.ErrorAs(t, readAll(s), &closed)
	require.Equal(t, closedError{1001, "as you wish"}, *closed)
}

// What answers but is no WebSocket's other end is not taken for one.
func TestHandshakeChecksTheAnswer(t *testing.T) {
	for name, tc := range map[string]struct{ answer, want string }{
		"another status":   {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404 Not Found"},
		"another protocol": {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "another protocol"},
		"another key": {"HTTP/1.1 101 Switching Protocols\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n" +
			"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", "another WebSocket's key"},
	} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go func() {
					buffer := make([]byte, 4096)
					n, _ := theirs.Read(buffer)
					if !strings.Contains(string(buffer[:n]), "Sec-Websocket-Version: 13\r\n") {
						tc.answer = "HTTP/1.1 400 Bad Request\r\n\r\n"
					}
					_, _ = theirs.Write([]byte(tc.answer))
					_ = theirs.Close()
				}()
				return ours, nil
			}}}
			_, response, err := handshake(context.Background(), client, "http://n1:9847/api/v1/stream", nil)
			require.ErrorContains(t, err, tc.want)
			require.NotNil(t, response)
		})
	}
}

// Whatever comes, reading ends, with no more in memory than the limit.
func FuzzSocket(f *testing.F) {
	f.Add(appendFrame(nil, 0x80|byte(opBinary), []byte("hello")))
	f.Add(appendFrame(appendFrame(nil, byte(opBinary), []byte("he")), 0x80, []byte("llo")))
	f.Add(appendFrame(nil, 0x80|byte(opClose), []byte("\x03\xe9bye")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		const limit = 1000
		s := newSocket(&scripted{Reader: bytes.NewReader(raw)}, limit)
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
