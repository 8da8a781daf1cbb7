package config

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Loader reads the configuration file again while the agent runs. It is safe for concurrent use.
type Loader struct {
	log   *slog.Logger
	apply func(Serve) error

	mu      sync.Mutex
	running Serve // with what cannot change as it was at the start
	success prometheus.Gauge
	at      prometheus.Gauge
}

// NewLoader starts from what Parse gave. apply puts another configuration into effect, and is called by one goroutine at a
// time; its error keeps the one before.
func NewLoader(started Serve, apply func(Serve) error, r prometheus.Registerer, log *slog.Logger) *Loader {
	l := &Loader{
		log: log, apply: apply, running: started,
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warpwatch_agent_config_last_reload_successful", Help: "Whether the configuration was read without a mistake the last time: 1, or 0 and the one before is in effect.",
		}),
		at: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warpwatch_agent_config_last_reload_success_timestamp_seconds", Help: "When the configuration was last read without a mistake.",
		}),
	}
	r.MustRegister(l.success, l.at)
	l.done(nil)
	return l
}

// Running is the configuration in effect.
func (l *Loader) Running() Serve {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

// Reload reads the file again and puts it into effect. After an error everything is as it was. pending are the keys that
// changed and take effect only after a restart.
func (l *Loader) Reload() (pending []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running.flags == nil || l.running.File == "" {
		err = errors.New("there is nothing to read again: the agent was started without --config.file")
		l.log.Warn("The configuration was not changed", "err", err)
		return nil, err // and no reload that failed
	}
	defer func() { l.done(err) }()
	next, err := l.running.flags.resolve()
	if err != nil {
		l.log.Error("The configuration was not changed", "err", err)
		return nil, err
	}
	pending = needRestart(&l.running, &next)
	next.keep(&l.running)
	if err := l.apply(next); err != nil {
		l.log.Error("The configuration was not changed", "err", err)
		return nil, err
	}
	l.running = next
	if len(pending) > 0 {
		l.log.Warn("The configuration was read; some of it takes effect only when the agent is restarted", "keys", strings.Join(pending, ", "))
	} else {
		l.log.Info("The configuration was read")
	}
	return pending, nil
}

// keep leaves what cannot change as it was.
func (s *Serve) keep(was *Serve) {
	s.Source, s.Node, s.Cluster, s.Ring = was.Source, was.Node, was.Cluster, was.Ring
	s.Listen, s.WebConfigFile, s.TokenFile = was.Listen, was.WebConfigFile, was.TokenFile
	s.Advertise, s.MaxSubscribers = was.Advertise, was.MaxSubscribers
	s.Simulate, s.flags = was.Simulate, was.flags
	f, old := &s.Settings, &was.Settings
	timestamps := f.Web.SampleTimestamps
	f.Source, f.NodeName, f.Cluster, f.Ring, f.Web = old.Source, old.NodeName, old.Cluster, old.Ring, old.Web
	f.Web.SampleTimestamps = timestamps
	f.Events, f.Workload.OTLP = old.Events, old.Workload.OTLP
}

// done notes how a reload went.
func (l *Loader) done(err error) {
	if err != nil {
		l.success.Set(0)
		return
	}
	l.success.Set(1)
	l.at.Set(float64(time.Now().UnixMilli()) / 1000)
}
