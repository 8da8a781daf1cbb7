// Package server is the agent's one port: metrics, health, what it knows as JSON, control, and the live stream.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/time/rate"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/node-agent/internal/wish"
)

// Options of a Server.
type Options struct {
	Node    snapshot.Node
	Store   *snapshot.Store
	Empty   *snapshot.Schema // what streams are told before the first sample
	Metrics http.Handler
	Access  *Access     // nil: everybody may read
	TLS     *tls.Config // nil: plain HTTP
	Headers map[string]string
	// MaxSubscribers is how many streams are served at once, MaxPerRemote how many of them to one address; 0 leaves that open.
	MaxSubscribers, MaxPerRemote int
	// MaxRequests is how many other requests are answered at once. 0 means 40.
	MaxRequests int
	Limiter     *rate.Limiter // of all requests but those for liveness; nil for no limit
	Control     Control
	Receive     http.Handler // takes what jobs POST to /v1/metrics; nil takes nothing

	// What is nil is never known.
	Events    *snapshot.EventLog
	Processes *snapshot.Latest[snapshot.ProcessList]
	Owners    *snapshot.Latest[snapshot.OwnerList]
	// Wishes take how often readers want samples; nil hears none.
	Wishes *wish.Book

	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

const (
	headerTimeout = 10 * time.Second
	writeTimeout  = 30 * time.Second // of plain answers; streams have a timeout for each message
	idleTimeout   = 2 * time.Minute
	shutdownGrace = 5 * time.Second
	maxHeader     = 16 << 10
)

// Server serves the agent's port.
type Server struct {
	o       Options
	handler http.Handler
	figures figures

	places chan struct{} // one for each request that is answered
	large  chan struct{} // one for each of those with a large answer

	mu       sync.Mutex
	readers  int
	remotes  map[string]int // readers by address
	streams  sync.WaitGroup
	stopping context.Context
	stop     context.CancelFunc
}

type figures struct {
	subscribers       prometheus.Gauge
	refused, busy     prometheus.Counter
	turnedAway        prometheus.Counter
	dropped, forgot   prometheus.Counter
	messages, payload prometheus.Counter
}

// New prepares a server. Run or Close must be called.
func New(o Options) (*Server, error) {
	s := &Server{
		o: o, figures: newFigures(o.Registerer), places: make(chan struct{}, cmp.Or(o.MaxRequests, defaultRequests)),
		large: make(chan struct{}, largeRequests), remotes: map[string]int{},
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	if o.Wishes != nil {
		o.Registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "warpwatch_agent_wishes", Help: "Readers of the live stream that said how often they want samples.",
		}, func() float64 { return float64(o.Wishes.Count()) }))
	}
	landing, err := landingPage(o.Node)
	if err != nil {
		return nil, fmt.Errorf("build the landing page: %w", err)
	}
	open, closed := http.NewServeMux(), http.NewServeMux()
	open.HandleFunc("GET /-/healthy", s.healthy)
	open.Handle("/", limitRate(o.Limiter, o.Access.protect(closed)))
	for pattern, h := range map[string]http.Handler{
		"GET /-/ready": http.HandlerFunc(s.ready), "GET /{$}": landing,
		"GET /api/v1/inventory": http.HandlerFunc(s.inventory),
		"GET /api/v1/events":    http.HandlerFunc(s.events), "GET /api/v1/processes": http.HandlerFunc(s.processes),
		"GET /api/v1/owners": http.HandlerFunc(s.owners), "POST /v1/metrics": s.receive(),
	} {
		closed.Handle(pattern, s.limitRequests(h))
	}
	closed.Handle("GET /metrics", s.limitLarge(o.Metrics))
	closed.Handle("GET /api/v1/ring", s.limitLarge(http.HandlerFunc(s.ring)))
	closed.HandleFunc("GET /api/v1/stream", s.stream)
	s.controls(closed)
	s.handler = withHeaders(o.Headers, open)
	return s, nil
}

func newFigures(r prometheus.Registerer) figures {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	f := figures{
		subscribers: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warpwatch_agent_subscribers", Help: "Readers of the live stream.",
		}),
		refused:    counter("warpwatch_agent_subscribers_refused_total", "Readers refused because there were as many as may be."),
		busy:       counter("warpwatch_agent_requests_refused_total", "Requests refused because as many as may be were being answered."),
		turnedAway: counter("warpwatch_agent_connections_refused_total", "Connections closed at once because as many as may be were open."),
		dropped:    counter("warpwatch_agent_stream_dropped_ticks_total", "Ticks left out for readers that were too slow."),
		forgot:     counter("warpwatch_agent_stream_dropped_events_total", "Events that were forgotten before a reader came for them."),
		messages:   counter("warpwatch_agent_stream_messages_total", "Messages sent to readers of the live stream."),
		payload:    counter("warpwatch_agent_stream_sent_bytes_total", "Bytes sent to readers of the live stream."),
	}
	r.MustRegister(f.subscribers, f.refused, f.busy, f.turnedAway, f.dropped, f.forgot, f.messages, f.payload)
	return f
}

func landingPage(n snapshot.Node) (http.Handler, error) {
	return web.NewLandingPage(web.LandingConfig{
		Name: "Warpwatch agent", Description: "GPUs of " + n.Name + ", sampled every " + n.Period.String(), Version: n.Version,
		HeaderColor: "#1f2a44", Profiling: "false",
		Links: []web.LandingLinks{
			{Address: "/metrics", Text: "Metrics", Description: "for Prometheus"},
			{Address: "/api/v1/inventory", Text: "Inventory", Description: "GPUs and MIG instances, and how they are"},
			{Address: "/api/v1/events", Text: "Events", Description: "what happened to the GPUs"},
			{Address: "/api/v1/processes", Text: "Processes", Description: "what uses the GPUs"},
			{Address: "/api/v1/owners", Text: "Owners", Description: "whom the GPUs were given to"},
			{Address: "/-/healthy", Text: "Health"},
			{Address: "/-/ready", Text: "Readiness"},
		},
	})
}

func withHeaders(headers map[string]string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Run serves listeners until ctx ends, which is not an error, and then lets answers in flight finish. It closes the
// listeners.
func (s *Server) Run(ctx context.Context, listeners []net.Listener) error {
	// Streams are WebSockets, which need HTTP/1.1: HTTP/2 is never offered.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	hs := &http.Server{
		Handler: s, TLSConfig: s.o.TLS, Protocols: protocols, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug),
	}
	counting := newConnections(s.figures.turnedAway)
	failed := make(chan error, len(listeners))
	var serving sync.WaitGroup
	for _, l := range listeners {
		s.o.Logger.Info("Listening", "address", l.Addr().String(), "tls", s.o.TLS != nil)
		serving.Go(func() {
			if err := serve(hs, limited{l, counting}); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
		})
	}
	var result error
	select {
	case <-ctx.Done():
	case result = <-failed:
	}
	grace, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	s.stop()
	if err := hs.Shutdown(grace); err != nil {
		result = errors.Join(result, fmt.Errorf("stop serving: %w", err), hs.Close())
	}
	s.Close()
	serving.Wait()
	return result
}

func serve(hs *http.Server, l net.Listener) error {
	if hs.TLSConfig != nil {
		return hs.ServeTLS(l, "", "")
	}
	return hs.Serve(l)
}

// Close ends all streams and waits for them.
func (s *Server) Close() {
	s.stop()
	s.streams.Wait()
}
