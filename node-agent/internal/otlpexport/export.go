package otlpexport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// Options are what an Exporter needs.
type Options struct {
	Config     Config
	Store      *snapshot.Store
	Node       snapshot.Node
	Registerer prometheus.Registerer // takes the export's figures about itself, from New until Run ends
	Logger     *slog.Logger
}

// Exporter sends the newest frame to a collector, again and again.
type Exporter struct {
	o         Options
	transport *http.Transport
	sent      *watched
}

// New prepares the export. It reads the files that the configuration names and dials nobody yet.
func New(o Options) (*Exporter, error) {
	if !o.Config.Enabled() {
		return nil, errors.New("otlp: no endpoint is configured")
	}
	if err := o.Config.Validate(); err != nil {
		return nil, err
	}
	if o.Config.HeadersFile != "" {
		if _, err := readHeaders(o.Config.HeadersFile); err != nil {
			return nil, err
		}
	}
	transport, err := newTransport(o.Config)
	if err != nil {
		return nil, err
	}
	sent := newWatched(o.Logger, headers{file: o.Config.HeadersFile}.hide)
	if o.Registerer != nil {
		for _, c := range sent.own() {
			if err := o.Registerer.Register(c); err != nil {
				return nil, fmt.Errorf("register the figures of the OTLP export: %w", err)
			}
		}
	}
	return &Exporter{o: o, transport: transport, sent: sent}, nil
}

// shutdownTimeout is how long the last export may take when the agent stops.
const shutdownTimeout = 3 * time.Second

// Run exports until ctx ends, and once more then. A collector that does not answer is no error: it is said in the log once
// and counted, and the agent does everything else as before.
func (e *Exporter) Run(ctx context.Context) error {
	defer e.close()
	c := e.o.Config
	if c.InsecureSkipVerify {
		e.o.Logger.Warn("The OTLP export trusts whoever answers, and sends the headers to them: set ca_file instead of insecure_skip_verify",
			"endpoint", c.Endpoint)
	}
	u, err := c.url()
	if err != nil {
		return err
	}
	compression := otlpmetrichttp.GzipCompression
	if c.Compression == "none" {
		compression = otlpmetrichttp.NoCompression
	}
	inner, err := otlpmetrichttp.New(ctx,
		otlpmetrichttp.WithEndpointURL(u.String()),
		otlpmetrichttp.WithHTTPClient(newClient(c, e.transport)),
		otlpmetrichttp.WithHeaders(map[string]string{}), // those of the environment are not meant for this
		otlpmetrichttp.WithTimeout(c.timeout()),
		otlpmetrichttp.WithCompression(compression),
		otlpmetrichttp.WithMaxResponseSize(maxAnswer),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: c.timeout(), MaxElapsedTime: c.timeout(),
		}),
	)
	if err != nil {
		return fmt.Errorf("prepare the OTLP export to %s: %w", c.Endpoint, err)
	}
	e.sent.Exporter = inner
	provider := metric.NewMeterProvider(
		metric.WithResource(e.resource()),
		metric.WithReader(metric.NewPeriodicReader(e.sent,
			metric.WithInterval(c.interval()), metric.WithTimeout(c.timeout()),
			metric.WithProducer(&producer{store: e.o.Store, node: e.o.Node, now: time.Now, start: time.Now()}),
		)),
	)
	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := provider.Shutdown(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("end the OTLP export to %s: %w", c.Endpoint, err)
	}
	return nil
}

func (e *Exporter) close() {
	e.transport.CloseIdleConnections()
	if e.o.Registerer != nil {
		for _, c := range e.sent.own() {
			e.o.Registerer.Unregister(c)
		}
	}
}

// resource is the node, as OpenTelemetry names it.
func (e *Exporter) resource() *resource.Resource {
	n := e.o.Node
	attributes := []attribute.KeyValue{
		semconv.ServiceName("warpwatch-agent"), semconv.ServiceVersion(n.Version), semconv.ServiceInstanceID(n.Epoch), semconv.HostName(n.Name),
	}
	if n.Cluster != "" {
		attributes = append(attributes, attribute.String("warpwatch.cluster", n.Cluster))
	}
	return resource.NewWithAttributes(semconv.SchemaURL, attributes...)
}

// Condition is how the last export went.
func (e *Exporter) Condition() snapshot.Condition { return e.sent.current() }

// watched remembers how exports went. It hands no error on: OpenTelemetry would print each.
type watched struct {
	metric.Exporter
	log     *slog.Logger
	exports *prometheus.CounterVec
	last    prometheus.Gauge
	now     func() time.Time
	hide    func(string) string // takes secrets out of a reason

	mu sync.Mutex
	is snapshot.Condition
}

func newWatched(log *slog.Logger, hide func(string) string) *watched {
	w := &watched{
		log: log, hide: hide, now: time.Now, is: snapshot.Condition{State: snapshot.StateStarting, Since: time.Now()},
		exports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "warpwatch_agent_otlp_exports_total", Help: "Exports to the OTLP endpoint, by how they went.",
		}, []string{"outcome"}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warpwatch_agent_otlp_last_success_timestamp_seconds", Help: "When the OTLP endpoint last took an export, 0 for never.",
		}),
	}
	for _, outcome := range []string{"success", "failure"} {
		w.exports.WithLabelValues(outcome)
	}
	return w
}

func (w *watched) own() []prometheus.Collector { return []prometheus.Collector{w.exports, w.last} }

// Export implements metric.Exporter.
func (w *watched) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if len(rm.ScopeMetrics) == 0 {
		return nil // nothing was measured yet
	}
	w.record(w.Exporter.Export(ctx, rm))
	return nil
}

// longestReason bounds what a collector's answer can put into the log.
const longestReason = 300

func (w *watched) record(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if err == nil {
		w.exports.WithLabelValues("success").Inc()
		w.last.Set(float64(now.UnixMilli()) / 1000)
		if w.is.State != snapshot.StateOK {
			w.log.Info("The OTLP endpoint takes exports")
			w.is = snapshot.Condition{State: snapshot.StateOK, Since: now}
		}
		return
	}
	w.exports.WithLabelValues("failure").Inc()
	reason := w.hide(strings.ToValidUTF8(err.Error(), ""))
	if len(reason) > longestReason {
		reason = strings.ToValidUTF8(reason[:longestReason], "") + "…"
	}
	if w.is.State != snapshot.StateFailed {
		w.log.Warn("The OTLP export fails; it is tried again at every interval", "reason", reason)
		w.is.State, w.is.Since = snapshot.StateFailed, now
	}
	w.is.Reason = reason
}

func (w *watched) current() snapshot.Condition {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.is
}
