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

	// Encrypted refuses targets that are not reached by https: a label must not turn off what protects the credentials.
	Encrypted bool

	// DialContext replaces the dialler, for a proxy that resolves names itself. The allow-list then decides on what is
	// written in the target alone.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)

	// Groups are agents that are reached in a way of their own. The first that covers a target's host counts.
	Groups []Group

	// TargetsChanged says that Targets has more to tell than when it was last called; nil for never.
	TargetsChanged <-chan struct{}

	RingBytes int // of samples kept for each node: 8 MiB
	// TotalRingBytes bounds the samples kept of all nodes: 256 MiB. Agents have rings of their own, so that what was
	// dropped for want of room can be asked for again.
	TotalRingBytes int
	Keep           time.Duration // how long samples are kept, and how much is asked of an agent at most: 15 minutes
	Linger         time.Duration // how long a node stays connected after the last one who looked at it: 15 s
	TargetsEvery   time.Duration // how often Targets is called: 30 s

	DialTimeout      time.Duration // of the TCP connection: 5 s
	HandshakeTimeout time.Duration // from there to the schema: 10 s
	IdleTimeout      time.Duration // without sample or heartbeat, which comes every 5 s: 15 s

	Parallel   int // connections being made at the same time: 64
	MaxNodes   int // nodes connected to at the same time: 16384
	QueueTicks int // ticks of a node held for a slow subscriber: 64
	ReadLimit  int // largest message accepted: 16 MiB
}

// Group is agents that are reached with their own credentials and TLS. It takes nothing over from the Config.
type Group struct {
	// Hosts are the group's, as they are written in targets. Where a name leads does not count, so that nobody gets the
	// group's credentials by his own DNS.
	Hosts       *AllowList
	Header      http.Header
	TLS         *tls.Config
	Encrypted   bool
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

func (c Config) withDefaults() Config {
	setDefault(&c.RingBytes, 8<<20)
	setDefault(&c.TotalRingBytes, 256<<20)
	setDefault(&c.Keep, 15*time.Minute)
	setDefault(&c.Linger, 15*time.Second)
	setDefault(&c.TargetsEvery, 30*time.Second)
	setDefault(&c.DialTimeout, 5*time.Second)
	setDefault(&c.HandshakeTimeout, 10*time.Second)
	setDefault(&c.IdleTimeout, 15*time.Second)
	setDefault(&c.Parallel, 64)
	setDefault(&c.MaxNodes, 16384)
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
