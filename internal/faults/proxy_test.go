package faults

import (
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mode is what a proxy does to what goes through it.
type mode int

const (
	passing   mode = iota
	refusing       // connections are reset, and so are new ones
	frozen         // nothing arrives, as in a partition: what was sent arrives when it is over
	swallowed      // connections stand and are heard, but lead nowhere any more
)

// proxy stands between the plugin and an agent.
type proxy struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup

	mu      sync.Mutex
	mode    mode
	changed chan struct{} // closed when mode changes
	delay   time.Duration
	loss    float64 // of pieces, each of which makes those after it wait
	links   map[*link]struct{}
	closed  bool
}

// link is one connection through it.
type link struct {
	proxy *proxy
	near  net.Conn // the plugin's
	far   net.Conn // the agent's, nil when it leads nowhere
	gone  chan struct{}
	once  sync.Once
}

// piece is at most what fits a packet.
type piece struct {
	bytes []byte
	at    time.Time
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, to: to, links: map[*link]struct{}{}, changed: make(chan struct{})}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(near) })
	}
}

func (p *proxy) serve(near net.Conn) {
	l := &link{proxy: p, near: near, gone: make(chan struct{})}
	p.mu.Lock()
	mode, closed := p.mode, p.closed
	p.links[l] = struct{}{}
	p.mu.Unlock()
	defer func() {
		l.cut()
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	if closed || mode == refusing {
		return
	}
	if mode == frozen && !l.pass() {
		return
	}
	if mode == swallowed {
		l.swallow()
		return
	}
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	p.mu.Lock()
	l.far, mode = far, p.mode
	p.mu.Unlock()
	if mode == swallowed {
		l.strand()
	}
	select {
	case <-l.gone: // since before there was anything to cut
		_ = far.Close()
		return
	default:
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(near, far) })
	both.Go(func() { l.carry(far, near) })
	both.Wait()
	if l.isSwallowed() {
		l.swallow()
	}
}

func (l *link) isSwallowed() bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	select {
	case <-l.gone:
		return false
	default:
		return l.far == nil
	}
}

// swallow hears what the plugin sends until it gives up.
func (l *link) swallow() {
	buffer := make([]byte, 4096)
	_ = l.near.SetReadDeadline(time.Time{})
	for {
		if _, err := l.near.Read(buffer); err != nil {
			return
		}
	}
}

// cut resets the connection.
func (l *link) cut() {
	l.once.Do(func() {
		close(l.gone)
		if c, ok := l.near.(*net.TCPConn); ok {
			_ = c.SetLinger(0)
		}
		_ = l.near.Close()
		l.proxy.mu.Lock()
		far := l.far
		l.proxy.mu.Unlock()
		if far != nil {
			_ = far.Close()
		}
	})
}

// pass waits while the proxy is frozen. It is false when the connection ended.
func (l *link) pass() bool {
	for {
		l.proxy.mu.Lock()
		mode, changed := l.proxy.mode, l.proxy.changed
		l.proxy.mu.Unlock()
		if mode != frozen {
			return true
		}
		select {
		case <-changed:
		case <-l.gone:
			return false
		}
	}
}

// carry moves what comes from one side to the other, as late as the proxy makes it.
func (l *link) carry(from, to net.Conn) {
	pieces := make(chan piece, 1024)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 1460)
			n, err := from.Read(buffer)
			if n > 0 {
				select {
				case pieces <- piece{buffer[:n], time.Now()}:
				case <-l.gone:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	for p := range pieces {
		l.proxy.mu.Lock()
		delay, loss := l.proxy.delay, l.proxy.loss
		l.proxy.mu.Unlock()
		due := p.at.Add(delay)
		if loss > 0 && rand.Float64() < loss {
			due = due.Add(delay + 200*time.Millisecond) // it is sent again, and those after it wait
		}
		if wait := time.Until(due); wait > 0 {
			select {
			case <-time.After(wait):
			case <-l.gone:
			}
		}
		if !l.pass() {
			break
		}
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	if !l.isSwallowed() {
		l.cut()
	}
	for range pieces { // its reader may wait to hand over
	}
	reading.Wait()
}

func (p *proxy) become(m mode) {
	p.mu.Lock()
	p.mode = m
	close(p.changed)
	p.changed = make(chan struct{})
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		switch m {
		case refusing:
			l.cut()
		case swallowed:
			l.strand()
		case passing, frozen:
		}
	}
}

// strand takes the agent's side away and lets the plugin's stand.
func (l *link) strand() {
	l.proxy.mu.Lock()
	far := l.far
	l.far = nil
	l.proxy.mu.Unlock()
	if far != nil {
		_ = far.Close()
		_ = l.near.SetReadDeadline(time.Now()) // who carries from it ends
	}
}

// reset breaks the connections there are.
func (p *proxy) reset() {
	p.become(refusing)
	p.become(passing)
}

// slow delays what goes through from now on.
func (p *proxy) slow(delay time.Duration, loss float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay, p.loss = delay, loss
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.become(refusing)
	p.running.Wait()
}
