package live

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Config is what a Hub is made of. Zero durations and sizes are the defaults named here.
type Config struct {
	// Targets finds the agents. It is called in the background while somebody looks at a node, and when it is needed.
	// With an error the targets found before stay. Notices are passed on by Window.
	Targets func(context.Context) ([]Target, []gpu.Notice, error)

	Allow  *AllowList  // nil allows nothing
	Header http.Header // sent to every agent with the handshake: credentials. Never to another host, never logged
	TLS    *tls.Config // for targets with scheme https
	Logger *slog.Logger
	Reader string // who asks, for the agent's log: "warpwatch-plugin/1.2.3"

	// DialContext replaces the dialler, for a proxy that resolves names itself. The allow-list then decides on what is
	// written in the target alone.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	RingBytes    int           // of samples kept for each node: 8 MiB
	Keep         time.Duration // how long samples are kept, and how much is asked of an agent at first: 15 minutes
	Linger       time.Duration // how long a node stays connected after the last one who looked at it: 15 s
	TargetsEvery time.Duration // how often Targets is called: 30 s

	DialTimeout      time.Duration // of the TCP connection: 5 s
	HandshakeTimeout time.Duration // from there to the schema: 10 s
	IdleTimeout      time.Duration // without sample or heartbeat, which comes every 5 s: 15 s

	Parallel   int // connections being made at the same time: 16
	MaxNodes   int // nodes connected to at the same time: 1024
	QueueTicks int // ticks of a node held for a slow subscriber: 64
	ReadLimit  int // largest message accepted: 16 MiB
}

func (c Config) withDefaults() Config {
	setDefault(&c.RingBytes, 8<<20)
	setDefault(&c.Keep, 15*time.Minute)
	setDefault(&c.Linger, 15*time.Second)
	setDefault(&c.TargetsEvery, 30*time.Second)
	setDefault(&c.DialTimeout, 5*time.Second)
	setDefault(&c.HandshakeTimeout, 10*time.Second)
	setDefault(&c.IdleTimeout, 15*time.Second)
	setDefault(&c.Parallel, 16)
	setDefault(&c.MaxNodes, 1024)
	setDefault(&c.QueueTicks, 64)
	setDefault(&c.ReadLimit, 16<<20)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Reader == "" {
		c.Reader = "warpwatch-plugin"
	}
	if c.Targets == nil {
		c.Targets = func(context.Context) ([]Target, []gpu.Notice, error) { return nil, nil, nil }
	}
	return c
}

func setDefault[T int | time.Duration](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}
