package live_test

import (
	"crypto/sha1" //nolint:gosec // RFC 6455 wants it, for no secret
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/internal/hostile"
	"github.com/warpwatch/warpwatch/pkg/live"
)

// trouble is what a hub says of a node that nobody gets samples of.
func trouble(t *testing.T, url string, limit time.Duration) *live.Error {
	t.Helper()
	f := newFleet(t, func(cfg *live.Config) {
		cfg.Allow = allow(t, "127.0.0.1")
		cfg.HandshakeTimeout, cfg.IdleTimeout = limit, limit
		cfg.DialTimeout = limit
		cfg.Header = http.Header{"Authorization": {"Bearer " + token}}
	})
	f.change([]live.Target{{Node: "n1", Address: strings.TrimPrefix(url, "http://")}}, nil)
	sub := f.hub.Subscribe(live.Select{})
	defer sub.Close()
	for {
		select {
		case u := <-sub.C():
			if u.Status == nil || u.Status.Err == nil {
				continue
			}
			var e *live.Error
			require.ErrorAs(t, u.Status.Err, &e)
			return e
		case <-t.Context().Done():
			t.Fatal("nothing is told")
		}
	}
}

// What answers in an agent's place without being one is told by its kind, is sent nothing elsewhere, and costs next to nothing.
func TestHostileServersInAnAgentsPlace(t *testing.T) {
	for _, kind := range hostile.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := hostile.Serve(t, kind, "", nil, nil)
			want, limit := live.KindGarbage, 20*time.Second
			switch kind {
			case hostile.Silent:
				want, limit = live.KindTimeout, 200*time.Millisecond
			case hostile.SlowHeader: // its first line is enough
				limit = 200 * time.Millisecond
			}
			var e *live.Error
			peak := hostile.Peak(func() { e = trouble(t, s.URL, limit) })
			require.Equal(t, want, e.Kind, e.Error())
			require.NotContains(t, e.Error(), "hostile-page")
			require.NotContains(t, e.Error(), token)
			require.Empty(t, s.Strayed())
			require.Less(t, peak>>20, uint64(32), "MiB are held")
		})
	}
}

// A stream that begins as one and then comes byte by byte is ended, and one that announces more than is read costs nothing.
func TestSlowAndLargeMessages(t *testing.T) {
	for name, tc := range map[string]struct {
		announced uint64
		kind      live.Kind
		text      string
	}{
		"byte by byte": {1 << 20, live.KindTimeout, "it accepts connections but sends no stream"},
		"of 1 TiB":     {1 << 40, live.KindGarbage, "it sends messages larger than any agent's"},
	} {
		t.Run(name, func(t *testing.T) {
			stop := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close() }()
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n",
					base64.StdEncoding.EncodeToString(accept[:]))
				frame := []byte{0x82, 127}
				for shift := 56; shift >= 0; shift -= 8 {
					frame = append(frame, byte(tc.announced>>shift))
				}
				_, err = conn.Write(frame)
				for tick := time.Tick(5 * time.Millisecond); err == nil; {
					select {
					case <-stop:
						return
					case <-tick:
						_, err = conn.Write([]byte{0})
					}
				}
			}))
			defer server.Close()
			defer close(stop)
			var e *live.Error
			limit := 20 * time.Second
			if tc.kind == live.KindTimeout {
				limit = 200 * time.Millisecond
			}
			peak := hostile.Peak(func() { e = trouble(t, server.URL, limit) })
			require.Equal(t, tc.kind, e.Kind)
			require.ErrorContains(t, e, tc.text)
			require.Less(t, peak>>20, uint64(32), "MiB are held")
		})
	}
}
