package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

func TestCompressionIsForSlowLinks(t *testing.T) {
	for host, plain := range map[string]bool{
		"127.0.0.1": true, "::1": true, "localhost": true, "prom.localhost": true, "10.1.2.3": true, "192.168.0.7": true, "fd00::1": true,
		"169.254.1.1": true, "8.8.8.8": false, "2001:db8::1": false, "prometheus.example.com": false,
	} {
		for choice, want := range map[Compression]bool{"": plain, CompressAuto: plain, CompressOn: false, CompressOff: true} {
			l := link{choice: choice}
			l.look(host)
			if l.plain() != want {
				t.Errorf("%s, %q: plain %v", host, choice, l.plain())
			}
		}
	}
	l := link{}
	l.look("prometheus.example.com")
	if l.found(netip.MustParseAddr("::ffff:10.0.0.9")); !l.plain() {
		t.Error("the name leads to a private address")
	}
}

// What a server's name stands for is learnt from the first connection.
func TestCompressionFollowsTheConnection(t *testing.T) {
	var asked []string
	url := promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Accept-Encoding"))
		_, _ = io.WriteString(w, oneSample)
	}))
	e := openAt(t, Endpoint{ID: "a", URL: url}).endpoints[0]
	e.link.near.Store(false)
	e.link.known.Store(false)
	for range 2 {
		if _, err := e.query(t.Context(), instantPath, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(asked) != 2 || asked[0] != "gzip" || asked[1] != "identity" {
		t.Errorf("asked for %q", asked)
	}
}

// Some proxies compress whatever they were asked.
func TestCompressedThoughNotAskedFor(t *testing.T) {
	for encoding, want := range map[string]string{
		"gzip": "", "identity": "", "br": `north-a: the answer is encoded with "br", which was not asked for; look at the proxies between`,
	} {
		url := promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", encoding)
			if encoding != "gzip" {
				_, _ = io.WriteString(w, oneSample)
				return
			}
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, oneSample)
			_ = z.Close()
		}))
		e := openAt(t, Endpoint{ID: "north-a", URL: url, Compression: CompressOff}).endpoints[0]
		a, err := e.query(t.Context(), instantPath, nil)
		switch {
		case want == "" && (err != nil || len(a.Series) != 1):
			t.Errorf("%s: %v", encoding, err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("%s: got %v, want %s", encoding, err, want)
		}
	}
}

// endless sends blanks for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A server that never stops costs what the limit allows, not a multiple of it.
func TestEndlessAnswerCostsItsLimit(t *testing.T) {
	const limit = 64 << 20
	reading := &budget{size: 2 * limit}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := reading.read(&limitedBody{Reader: endless{}, reading: reading, left: limit})
	runtime.ReadMemStats(&after)
	if !errors.Is(err, errLarge) {
		t.Errorf("got %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > limit+limit/10 {
		t.Errorf("%d MiB were allocated for %d", took>>20, limit>>20)
	}
}

func TestAnswersOfAnySizeAreReadWhole(t *testing.T) {
	reading := &budget{size: 1 << 30}
	for _, size := range []int{0, 1, firstPiece - 1, firstPiece, firstPiece + 1, firstPiece + piece, firstPiece + piece + 1, 3*piece + 7, 9 * piece, piece / 2, 4 * piece} {
		text := make([]byte, size)
		for i := range text {
			text[i] = byte(i * 31)
		}
		for _, from := range []io.Reader{bytes.NewReader(text), io.MultiReader(bytes.NewReader(text[:size/3]), bytes.NewReader(text[size/3:]))} {
			got, err := reading.read(from)
			if err != nil || !bytes.Equal(got.text, text) {
				t.Errorf("%d bytes: got %d, %v", size, len(got.text), err)
			}
			kept := got.own()
			other, err := reading.read(strings.NewReader(strings.Repeat("x", size)))
			if err != nil || !bytes.Equal(kept, text) {
				t.Errorf("%d bytes: changed by another answer, %v", size, err)
			}
			other.release()
			next, err := reading.read(bytes.NewReader(text))
			if err != nil || !bytes.Equal(next.text, text) || !bytes.Equal(kept, text) {
				t.Errorf("%d bytes in memory used before: got %d, %v", size, len(next.text), err)
			}
			next.release()
		}
	}
}

// A server with endless names tells the first of them, and is then asked for whatever there may be.
func TestListsOfNamesAreLimited(t *testing.T) {
	s := watts(0, 10)
	var limits []string
	h := openAt(t, Endpoint{ID: "a", Cluster: "north", URL: promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/label/__name__/values" {
			s.ServeHTTP(w, r)
			return
		}
		limits = append(limits, r.FormValue("limit"))
		names := make([]string, mostNames)
		for i := range names {
			names[i] = fmt.Sprintf("gpu_%d", i)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": names})
	}))})
	if result := ask(t, h, "gpu_power_watts", ""); len(result.Series) != 1 || len(limits) != 1 || limits[0] != "20000" {
		t.Errorf("got %+v, limits %q", result, limits)
	}
}
