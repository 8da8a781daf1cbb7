package agenttest

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Network is a network in memory: agents listen on it under any address, and its DialContext reaches them. Goroutines
// that wait on its connections are idle to testing/synctest.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	dials     int
}

// NewNetwork makes an empty network.
func NewNetwork() *Network { return &Network{listeners: make(map[string]*listener)} }

// DialContext connects to the agent that listens on the address, or is refused.
func (n *Network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	l, ok := n.listeners[address]
	n.mu.Unlock()
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	ours, theirs := net.Pipe()
	select {
	case l.incoming <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Dials is how often anything was dialled.
func (n *Network) Dials() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}

// Alias is another address that leads to where an agent listens.
func (n *Network) Alias(address, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[address] = n.listeners[to]
}

// Unplug makes an address lead nowhere. Connections stay.
func (n *Network) Unplug(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.listeners, address)
}

func (n *Network) listen(address string) *listener {
	l := &listener{network: n, address: address, incoming: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[address] = l
	return l
}

type listener struct {
	network  *Network
	address  string
	incoming chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.incoming:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		if l.network.listeners[l.address] == l {
			delete(l.network.listeners, l.address)
		}
		l.network.mu.Unlock()
		close(l.closed)
	})
	return nil
}

func (l *listener) Addr() net.Addr { return address(l.address) }

type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }
