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
)

// streamPath is where agents have their stream.
const streamPath = "/api/v1/stream"

// access is a way to reach agents.
type access struct {
	client    *http.Client
	header    http.Header
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
	return access{client: newClient(cfg, g), header: g.Header, encrypted: g.Encrypted, proxied: g.DialContext != nil}
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

// newClient makes the HTTP client of the handshakes. It keeps no connections, follows no redirects, uses no proxy from
// the environment, and connects only to what the allow-list has.
func newClient(cfg Config, g Group) *http.Client {
	dial := g.DialContext
	if dial == nil {
		dial = guardedDial(cfg.Allow)
	}
	timed := func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
		defer cancel()
		return dial(ctx, network, address)
	}
	encryption := g.TLS.Clone()
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
	address := url.URL{Scheme: "http", Host: t.Address, Path: streamPath}
	if t.Scheme == "https" {
		address.Scheme = "https"
	}
	var greeted atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { greeted.Store(true) }})
	conn, response, err := handshake(traced, via.client, address.String(), via.header)
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
	return newSocket(conn, h.cfg.ReadLimit), nil
}
