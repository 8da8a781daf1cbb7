package history

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync/atomic"
)

// Compression is whether answers may come compressed. Packing and unpacking take longer than decoding, so that it pays
// on slow links only.
type Compression string

// Ways to decide about compression. The zero value is CompressAuto.
const (
	CompressAuto Compression = "auto" // unless the connection ends on loopback or in a private network
	CompressOn   Compression = "on"
	CompressOff  Compression = "off"
)

// link is what is known of the way to a server.
type link struct {
	choice Compression
	near   atomic.Bool // the connection ends on loopback or in a private network
	known  atomic.Bool // near is known
}

// look decides what the host of a URL says by itself. The addresses behind names are known with the first connection.
func (l *link) look(host string) {
	if address, err := netip.ParseAddr(host); err == nil {
		l.found(address)
	} else if name := strings.ToLower(strings.TrimSuffix(host, ".")); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		l.near.Store(true)
		l.known.Store(true)
	}
}

func (l *link) found(address netip.Addr) {
	address = address.Unmap()
	l.near.Store(address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast())
	l.known.Store(true)
}

// plain reports whether answers should come as they are.
func (l *link) plain() bool {
	switch l.choice {
	case CompressOn:
		return false
	case CompressOff:
		return true
	}
	return l.near.Load()
}

// prepare makes a request ask for what the link is good for, and learns where the connection leads.
func (l *link) prepare(req *http.Request) *http.Request {
	if l.plain() {
		// Without this the transport asks for gzip.
		req.Header.Set("Accept-Encoding", "identity")
	}
	if l.choice == CompressOn || l.choice == CompressOff || l.known.Load() {
		return req
	}
	return req.WithContext(l.trace(req.Context()))
}

func (l *link) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if tcp, ok := info.Conn.RemoteAddr().(*net.TCPAddr); ok {
			l.found(tcp.AddrPort().Addr())
		}
	}})
}
