package live

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"

	"github.com/gobwas/ws"
)

// streamPath is where agents have their stream.
const streamPath = "/api/v1/stream"

// answerBytes is what may be read of an answer to a handshake.
const answerBytes = 64 << 10

// access is a way to reach agents.
type access struct {
	dialer    ws.Dialer
	encrypted bool
	proxied   bool // names are resolved elsewhere
}

// accesses are the hub's ways to reach agents: each group's, and that of the others.
type accesses struct {
	groups []access
	others access
}

func newAccesses(cfg Config) accesses {
	a := accesses{others: newAccess(cfg, Group{Header: cfg.Header, TLS: cfg.TLS, Encrypted: cfg.Encrypted, DialContext: cfg.DialContext})}
	for _, g := range cfg.Groups {
		a.groups = append(a.groups, newAccess(cfg, g))
	}
	return a
}

func newAccess(cfg Config, g Group) access {
	return access{dialer: newDialer(cfg, g), encrypted: g.Encrypted, proxied: g.DialContext != nil}
}

// access is how a host is reached.
func (h *Hub) access(host string) access {
	for i, g := range h.cfg.Groups {
		if g.Hosts.Covers(host) {
			return h.accesses.groups[i]
		}
	}
	return h.accesses.others
}

// newDialer makes the dialer of the handshakes. It follows no redirects, uses no proxy from the environment, and connects
// only to what the allow-list has.
func newDialer(cfg Config, g Group) ws.Dialer {
	dial := g.DialContext
	if dial == nil {
		dial = guardedDial(cfg.Allow)
	}
	encryption := g.TLS.Clone()
	if encryption == nil {
		encryption = &tls.Config{}
	}
	encryption.MinVersion = max(encryption.MinVersion, tls.VersionTLS12)
	return ws.Dialer{
		NetDial: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
			defer cancel()
			return dial(ctx, network, address)
		},
		TLSConfig: encryption, Header: ws.HandshakeHeaderHTTP(g.Header),
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
				return allow.checkAt(host, at.Port(), func(l *AllowList) error { return l.checkAddress(host, at.Addr()) })
			},
		}
		return dialer.DialContext(ctx, network, address)
	}
}

// permit says how a target is reached, or why it must not be. Nothing is sent for it.
func (h *Hub) permit(t Target) (access, *Error) {
	host, port, err := t.hostPort()
	if err != nil {
		return access{}, &Error{
			Target: t, Kind: KindDenied, What: err.Error(), Err: err,
			Remedy: "correct it in the data source's settings, or start the agent with another --web.advertise-address",
		}
	}
	via := h.access(host)
	check := func(l *AllowList) error { return l.CheckHost(host) }
	if via.proxied {
		check = func(l *AllowList) error { return l.CheckProxied(host) }
	}
	if err := h.cfg.Allow.checkAt(host, port, check); err != nil {
		return access{}, classify(t, err, nil, dialling)
	}
	if via.encrypted && t.Scheme != "https" {
		return access{}, &Error{
			Target: t, Kind: KindDenied, What: "it is found with the scheme http, where its credentials would be readable on the way",
			Remedy: "let the agent use TLS (--web.config.file), or set the agents' scheme to http in the data source's settings if that is meant",
		}
	}
	return via, nil
}

// dial opens the stream of a target.
func (h *Hub) dial(ctx context.Context, t Target) (*socket, *Error) {
	via, refused := h.permit(t)
	if refused != nil {
		return nil, refused
	}
	address := url.URL{Scheme: "ws", Host: t.Address, Path: streamPath}
	if t.Scheme == "https" {
		address.Scheme = "wss"
	}
	conn, early, response, err := handshake(ctx, via.dialer, address.String())
	if err != nil {
		got := handshaking
		if conn == nil {
			got = dialling
		} else if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, classify(t, err, response, got)
	}
	return newSocket(conn, early, h.cfg.ReadLimit), nil
}

// handshake asks for a WebSocket. Where it fails the connection is closed, and nil if there never was one, and the
// response is what was answered instead of a WebSocket, nil if nothing was.
func handshake(ctx context.Context, d ws.Dialer, address string) (net.Conn, *bufio.Reader, *http.Response, error) {
	var conn net.Conn
	d.WrapConn = func(made net.Conn) net.Conn {
		conn = made
		return &answered{made, answerBytes}
	}
	var response *http.Response
	d.OnStatusError = func(status int, _ []byte, answer io.Reader) {
		var err error
		if response, err = http.ReadResponse(bufio.NewReader(answer), nil); err != nil {
			response = &http.Response{StatusCode: status}
		}
	}
	_, early, _, err := d.Dial(ctx, address)
	return conn, early, response, err
}

// answered is a connection of which only so much is read: the dialer takes lines of any length.
type answered struct {
	net.Conn

	left int
}

func (a *answered) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err := a.Conn.Read(p[:min(len(p), a.left)])
	a.left -= n
	return n, err
}
