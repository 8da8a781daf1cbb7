package redfish

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of what a service may answer.
const (
	maxBody      = 1 << 20
	maxRequests  = 1000 // of one round
	maxRedirects = 3
)

var (
	errElsewhere = errors.New("the service points to another host, which is not followed")
	errTooMuch   = fmt.Errorf("the answer is longer than %d bytes", maxBody)
	errTooMany   = fmt.Errorf("the service has more resources than the %d that are read in one round", maxRequests)
)

// guard keeps requests within bounds, whoever makes them: only the configured host, so many of them, each so long and its
// answer of such a size. Requests end with the round that they belong to.
type guard struct {
	host    string
	timeout time.Duration
	next    *http.Transport

	mu    sync.Mutex
	round context.Context // requests are made by a library, which knows one context for its whole life
	left  int
}

func newGuard(c Config) (*guard, error) {
	u, err := c.url()
	if err != nil {
		return nil, err
	}
	roots, err := c.roots()
	if err != nil {
		return nil, err
	}
	return &guard{host: u.Host, timeout: c.timeout(), round: context.Background(), next: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: c.timeout()}).DialContext,
		TLSHandshakeTimeout: c.timeout(),
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, InsecureSkipVerify: c.InsecureSkipVerify},
		MaxIdleConns:        1,
		IdleConnTimeout:     2 * c.interval(),
	}}, nil
}

// client follows redirects within the host only.
func (g *guard) client() *http.Client {
	return &http.Client{Transport: g, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if !g.allows(r) {
			return errElsewhere
		}
		if len(via) > maxRedirects {
			return fmt.Errorf("the service redirects more than %d times", maxRedirects)
		}
		return nil
	}}
}

func (g *guard) allows(r *http.Request) bool {
	return r.URL.Scheme == "https" && r.URL.Host == g.host && r.URL.User == nil
}

// begin lets requests be made until ctx ends.
func (g *guard) begin(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.round, g.left = ctx, maxRequests
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if !g.allows(r) {
		return nil, refuse(r, errElsewhere)
	}
	g.mu.Lock()
	round := g.round
	g.left--
	left := g.left
	g.mu.Unlock()
	if left < 0 {
		return nil, refuse(r, errTooMany)
	}
	ctx, cancel := context.WithTimeout(round, g.timeout)
	r = r.Clone(ctx)
	r.Close = false // the library asks for a connection of its own for each request, with a handshake each
	r.Header.Del("Connection")
	answer, err := g.next.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	answer.Body = &boundedBody{ReadCloser: answer.Body, left: maxBody, cancel: cancel}
	return answer, nil
}

// refuse ends a request that is not sent.
func refuse(r *http.Request, why error) error {
	if r.Body != nil {
		return errors.Join(why, r.Body.Close())
	}
	return why
}

// boundedBody fails instead of being longer than it may.
type boundedBody struct {
	io.ReadCloser
	left   int
	cancel context.CancelFunc
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *boundedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
