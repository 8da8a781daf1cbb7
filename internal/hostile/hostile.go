// Package hostile is servers that misbehave in every way that costs whoever asks them memory or time, or leads them
// elsewhere. Tests put them in the place of Prometheus, Alertmanager and agents.
package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Kind is a way to misbehave.
type Kind string

// The ways to misbehave.
const (
	Gigabyte    Kind = "an answer of 1 GiB"
	Endless     Kind = "an answer without an end"
	Bomb        Kind = "an answer of 1 MiB that unpacks to 1 GiB"
	Unasked     Kind = "a bomb that nobody asked to be packed"
	SlowHeader  Kind = "a header that comes byte by byte"
	SlowBody    Kind = "a body that comes byte by byte"
	Silent      Kind = "no answer"
	Elsewhere   Kind = "a redirect to another host"
	Metadata    Kind = "a redirect to a cloud's metadata"
	Loopback    Kind = "a redirect to this machine"
	Loop        Kind = "a redirect to itself"
	WebPage     Kind = "a web page"
	Picture     Kind = "a picture"
	Cut         Kind = "JSON that is cut off"
	Deep        Kind = "JSON nested a million deep"
	Tiny        Kind = "a great many empty entries"
	TooShort    Kind = "a body shorter than announced"
	Nonsense    Kind = "a length that is no number"
	ManyHeaders Kind = "headers without an end"
)

// Kinds are all of them.
func Kinds() []Kind {
	return []Kind{
		Gigabyte, Endless, Bomb, Unasked, SlowHeader, SlowBody, Silent, Elsewhere, Metadata, Loopback, Loop, WebPage, Picture, Cut, Deep, Tiny,
		TooShort, Nonsense, ManyHeaders,
	}
}

// IsSlow is whether only a time limit ends it.
func (k Kind) IsSlow() bool { return k == SlowHeader || k == SlowBody || k == Silent }

// IsLarge is whether only a limit of bytes ends it.
func (k Kind) IsLarge() bool { return k == Gigabyte || k == Endless || k == Bomb || k == Unasked }

// Server is a server that misbehaves in one way.
type Server struct {
	URL string

	kind  Kind
	begin string // of a body that is believed at first
	stop  chan struct{}

	mu      sync.Mutex
	strayed []string
}

// Serve starts one; it ends with the test. Bodies begin with begin, such as `{"status":"success","data":`, so that they
// are not given up at once. Only paths that contain one of only are answered so, and the others by otherwise, where it is not nil.
func Serve(t testing.TB, kind Kind, begin string, only []string, otherwise http.Handler) *Server {
	t.Helper()
	s := &Server{kind: kind, begin: begin, stop: make(chan struct{})}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.strayed = append(s.strayed, r.URL.Path)
		_, _ = io.WriteString(w, begin)
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if otherwise != nil && !containsAny(r.URL.Path, only) {
			otherwise.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		s.answer(w, r, other.URL)
	}))
	s.URL = server.URL
	t.Cleanup(func() {
		close(s.stop)
		server.CloseClientConnections()
		server.Close()
		other.Close()
	})
	return s
}

func containsAny(path string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

// Strayed are the paths that were asked for where a redirect led.
func (s *Server) Strayed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.strayed...)
}

const mebibyte = 1 << 20

func (s *Server) answer(w http.ResponseWriter, r *http.Request, elsewhere string) {
	w.Header().Set("Content-Type", "application/json")
	switch s.kind {
	case Gigabyte:
		w.Header().Set("Content-Length", strconv.Itoa(1024*mebibyte))
		s.flood(w, 1024*mebibyte, blanks())
	case Endless:
		s.flood(w, -1, blanks())
	case Tiny:
		s.flood(w, mebibyte, bytes.Repeat([]byte("{},"), 1000))
	case Bomb, Unasked:
		s.bomb(w, r)
	case Elsewhere:
		http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusFound)
	case Loopback:
		http.Redirect(w, r, strings.Replace(elsewhere, "127.0.0.1", "localhost", 1)+r.URL.Path, http.StatusTemporaryRedirect)
	case Metadata:
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/iam/security-credentials/", http.StatusPermanentRedirect)
	case Loop:
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	case WebPage:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>hostile-page</title><p>It works")
	case Picture:
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, "\x89PNG\r\n\x1a\nhostile-page")
	case Cut:
		_, _ = io.WriteString(w, s.begin+`[{"metric":{"__na`)
	case Deep:
		_, _ = io.WriteString(w, s.begin+strings.Repeat("[", mebibyte))
	default:
		s.raw(w, r)
	}
}

// raw answers with what no HTTP library lets one write.
func (s *Server) raw(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // whoever asked is gone
	}
	defer func() { _ = conn.Close() }()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	switch s.kind {
	case TooShort:
		_, _ = fmt.Fprintf(conn, "%sContent-Length: 1000\r\n\r\n%s", head, s.begin)
	case Nonsense:
		_, _ = fmt.Fprintf(conn, "%sContent-Length: -7\r\n\r\n%s", head, s.begin)
	case ManyHeaders:
		_, err := io.WriteString(conn, head)
		for line := "X-Filler: " + strings.Repeat("x", 1<<14) + "\r\n"; err == nil; {
			_, err = io.WriteString(conn, line)
		}
	case SlowHeader:
		s.trickle(conn, r, head)
	case SlowBody:
		_, _ = fmt.Fprintf(conn, "%sContent-Length: 1000000\r\n\r\n", head)
		s.trickle(conn, r, s.begin)
	default:
		s.trickle(conn, r, "")
	}
}

// trickle writes a text byte by byte, and blanks after it, until nobody reads any more.
func (s *Server) trickle(to io.Writer, r *http.Request, text string) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for at := 0; ; at++ {
		select {
		case <-s.stop:
			return
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		next := "x"
		if at < len(text) {
			next = text[at : at+1]
		}
		if s.kind == Silent {
			continue
		}
		if _, err := io.WriteString(to, next); err != nil {
			return
		}
	}
}

// flood writes the beginning and then a piece again and again, up to a number of bytes; -1 for ever.
func (s *Server) flood(w io.Writer, most int, piece []byte) {
	n, err := io.WriteString(w, s.begin+"[")
	for err == nil && (most < 0 || n < most) {
		select {
		case <-s.stop:
			return
		default:
		}
		if left := most - n; most >= 0 && left < len(piece) {
			piece = piece[:left]
		}
		var wrote int
		wrote, err = w.Write(piece)
		n += wrote
	}
}

func blanks() []byte { return bytes.Repeat([]byte(" "), mebibyte) }

// bomb is members of gzip, each of 1 MiB, one after the other.
func (s *Server) bomb(w http.ResponseWriter, r *http.Request) {
	if s.kind == Bomb && !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		s.flood(w, -1, blanks()) // who does not unpack is given it in full
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	for _, text := range append([]string{s.begin}, string(blanks())) {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = io.WriteString(z, text)
		_ = z.Close() // a buffer takes everything
		times := 1
		if text != s.begin {
			times = 1024
		}
		for range times {
			if _, err := w.Write(packed.Bytes()); err != nil {
				return
			}
		}
	}
}

// Allocated is how many bytes f allocates, with all that runs beside it.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Peak is how many bytes more are held at once while f runs, garbage included, as far as looks at short intervals show.
func Peak(f func()) uint64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	before, most := now.HeapAlloc, now.HeapAlloc
	done := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
		}
	})
	f()
	close(done)
	looking.Wait()
	return most - before
}
