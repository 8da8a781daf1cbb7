package server

import (
	"io"
	"net"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConnectionsAreBounded(t *testing.T) {
	refused := prometheus.NewCounter(prometheus.CounterOpts{Name: "refused"})
	c := newConnections(refused)
	c.most, c.mostOfAddress = 3, 2
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			conn, err := limited{l, c}.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dial()
	first := <-accepted
	dial()
	second := <-accepted
	_, err = dial().Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF, "it is closed")
	assert.InDelta(t, 1, testutil.ToFloat64(refused), 0)
	require.True(t, c.enter("192.0.2.1"), "another address has places of its own")
	assert.False(t, c.enter("192.0.2.2"), "but not more than all")

	require.NoError(t, first.Close())
	assert.Error(t, first.Close(), "closed twice, and counted once")
	dial()
	require.NoError(t, (<-accepted).Close())
	require.NoError(t, second.Close())
	c.leave("192.0.2.1")
	assert.Zero(t, c.open)
	assert.Empty(t, c.byAddress)
	require.NoError(t, l.Close())
	<-accepted
}
