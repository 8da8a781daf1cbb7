package live

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"

	"github.com/coder/websocket"
)

// streamPath is where agents have their stream.
const streamPath = "/api/v1/stream"

// newClient makes the HTTP client of the handshakes. It keeps no connections, follows no redirects, uses no proxy from
// the environment, and connects only to what the allow-list has.
func newClient(cfg Config) *http.Client {
	dial := cfg.DialContext
	if dial == nil {
		dial = guardedDial(cfg.Allow)
	}
	timed := func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
		defer cancel()
		return dial(ctx, network, address)
	}
	encryption := cfg.TLS.Clone()
	if encryption == nil {
		encryption = &tls.Config{}
	}
	encryption.MinVersion = max(encryption.MinVersion, tls.VersionTLS12)
	return &http.Client{
		Transport: &http.Transport{
			DialContext: timed, TLSClientConfig: encryption, TLSHandshakeTimeout: cfg.HandshakeTimeout,
			DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guardedDial connects to addresses that the list allows. It looks at what a name resolved to after it was resolved
// and before anything is sent, for each address that is tried.
func guardedDial(allow *AllowList) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		dialer := net.Dialer{
			ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
				at, err := netip.ParseAddrPort(resolved)
				if err != nil {
					return &DeniedError{Host: host}
				}
				return allow.checkAddress(host, at.Addr())
			},
		}
		return dialer.DialContext(ctx, network, address)
	}
}

// dial opens the stream of a target.
func (h *Hub) dial(ctx context.Context, t Target) (*websocket.Conn, *Error) {
	host, err := t.host()
	if err != nil {
		return nil, &Error{
			Target: t, Kind: KindDenied, What: err.Error(), Err: err,
			Remedy: "correct it in the data source's settings, or start the agent with another --web.advertise-address",
		}
	}
	if err := h.cfg.Allow.CheckHost(host); err != nil {
		return nil, classify(t, err, nil, dialling)
	}
	address := url.URL{Scheme: "ws", Host: t.Address, Path: streamPath}
	if t.Scheme == "https" {
		address.Scheme = "wss"
	}
	var greeted atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { greeted.Store(true) }})
	conn, response, err := websocket.Dial(traced, address.String(), &websocket.DialOptions{
		HTTPClient: h.client, HTTPHeader: h.cfg.Header, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && greeted.Load() {
			err = cause
		}
		got := dialling
		if greeted.Load() {
			got = handshaking
		}
		return nil, classify(t, err, response, got)
	}
	conn.SetReadLimit(int64(h.cfg.ReadLimit))
	return conn, nil
}
