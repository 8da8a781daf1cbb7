package server

import (
	"net"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Connections that are open at once, whether anything is asked on them or not. More are closed as soon as they come: who
// opens many takes the places of nobody at another address.
const (
	maxConnections          = 4096
	maxConnectionsOfAddress = 256
)

// connections counts what is open, on all listeners of a server together.
type connections struct {
	most, mostOfAddress int
	refused             prometheus.Counter

	mu        sync.Mutex
	open      int
	byAddress map[string]int
}

func newConnections(refused prometheus.Counter) *connections {
	return &connections{
		most: maxConnections, mostOfAddress: maxConnectionsOfAddress, refused: refused, byAddress: map[string]int{},
	}
}

func (c *connections) enter(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= c.most || c.byAddress[address] >= c.mostOfAddress {
		c.refused.Inc()
		return false
	}
	c.open++
	c.byAddress[address]++
	return true
}

func (c *connections) leave(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.byAddress[address]--; c.byAddress[address] == 0 {
		delete(c.byAddress, address)
	}
}

// limited is a listener whose connections are counted.
type limited struct {
	net.Listener
	connections *connections
}

// Accept implements net.Listener.
func (l limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := hostOf(conn.RemoteAddr().String())
		if l.connections.enter(address) {
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { l.connections.leave(address) })}, nil
		}
		_ = conn.Close() // nothing was read or written
	}
}

// counted is a connection that has a place until it is closed.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
