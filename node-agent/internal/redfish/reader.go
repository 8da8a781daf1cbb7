package redfish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stmcginnis/gofish"
	"github.com/stmcginnis/gofish/common"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// Options are what a Reader needs.
type Options struct {
	Config Config
	// Labels are put on every series: the node, the cluster.
	Labels prometheus.Labels
	// Registerer takes the reader's figures about itself, from New until Run ends.
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Reader asks a Redfish service again and again. It is a prometheus.Gatherer of what was answered last.
type Reader struct {
	o        Options
	guard    *guard
	registry *prometheus.Registry
	descs    [numQuantities]*prometheus.Desc
	own      []prometheus.Collector
	requests *prometheus.CounterVec
	last     prometheus.Gauge
	now      func() time.Time

	// Of the goroutine that runs.
	client  *gofish.APIClient // nil when not logged in
	secrets []string          // what no message may hold
	boring  map[string]bool
	cleared time.Time // when boring was

	mu       sync.Mutex
	readings []reading
	at       time.Time // of the readings
	is       snapshot.Condition
}

// staleRounds is how many intervals a reading stays when the service does not answer any more.
const staleRounds = 3

// rediscover is how often a sensor is looked at again that was of no interest.
const rediscover = time.Hour

// New prepares a reader. It reads the files that the configuration names and dials nobody yet.
func New(o Options) (*Reader, error) {
	if !o.Config.Enabled() {
		return nil, errors.New("redfish: no endpoint is configured")
	}
	if err := o.Config.Validate(); err != nil {
		return nil, err
	}
	if _, _, err := o.Config.credentials(); err != nil {
		return nil, err
	}
	g, err := newGuard(o.Config)
	if err != nil {
		return nil, err
	}
	r := &Reader{
		o: o, guard: g, registry: prometheus.NewRegistry(), descs: describe(), now: time.Now, boring: map[string]bool{},
		is: snapshot.Condition{State: snapshot.StateStarting, Since: time.Now()},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "warpwatch_agent_redfish_resources_total", Help: "Resources of the Redfish service that were asked for, by how it went.",
		}, []string{"outcome"}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "warpwatch_agent_redfish_last_success_timestamp_seconds", Help: "When the Redfish service last answered, 0 for never.",
		}),
	}
	if err := prometheus.WrapRegistererWith(o.Labels, r.registry).Register(collector{r}); err != nil {
		return nil, fmt.Errorf("redfish: %w", err)
	}
	r.own = []prometheus.Collector{r.requests, r.last}
	if o.Registerer != nil {
		for _, c := range r.own {
			if err := o.Registerer.Register(c); err != nil {
				return nil, fmt.Errorf("register the figures of the Redfish reader: %w", err)
			}
		}
	}
	return r, nil
}

// logoutTimeout bounds the goodbye: services have few sessions, so one that is left behind is a loss.
const logoutTimeout = 2 * time.Second

// Run reads until ctx ends, and logs out then. A service that does not answer is no error: that is a state, said once.
func (r *Reader) Run(ctx context.Context) error {
	if r.o.Config.InsecureSkipVerify {
		r.o.Logger.Warn("The Redfish reader trusts whoever answers, and sends the credentials to them: set ca_file instead of insecure_skip_verify",
			"endpoint", r.o.Config.Endpoint)
	}
	ticker := time.NewTicker(r.o.Config.interval())
	defer ticker.Stop()
	for ctx.Err() == nil {
		r.Round(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
	defer cancel()
	r.drop(goodbye)
	r.guard.next.CloseIdleConnections()
	if r.o.Registerer != nil {
		for _, c := range r.own {
			r.o.Registerer.Unregister(c)
		}
	}
	return nil
}

// roundTimeout bounds one round. The first takes longest: every sensor is looked at to see what it is.
const roundTimeout = 10 * time.Minute

// Round reads everything once. It is for one goroutine at a time.
func (r *Reader) Round(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	if now := r.now(); now.Sub(r.cleared) >= rediscover {
		clear(r.boring)
		r.cleared = now
	}
	fresh := r.client == nil
	w, err := r.read(bounded)
	if errors.Is(err, errLoggedOut) && !fresh { // the session ended: they do, after a while
		r.client = nil
		w, err = r.read(bounded)
	}
	if ctx.Err() != nil {
		return // cut short by the agent's own end
	}
	r.record(w, err)
}

// read logs in if need be, and goes through the service.
func (r *Reader) read(ctx context.Context) (*walk, error) {
	r.guard.begin(ctx)
	if err := r.connect(); err != nil {
		return &walk{failed: 1}, fmt.Errorf("log in: %w", err)
	}
	w := &walk{client: r.client, boring: r.boring, readings: map[place]map[quantity]float64{}}
	w.all()
	return w, w.first
}

func (r *Reader) connect() error {
	if r.client != nil {
		return nil
	}
	user, password, err := r.o.Config.credentials()
	if err != nil {
		return err
	}
	r.secrets = []string{password, url.QueryEscape(password)}
	u, err := r.o.Config.url()
	if err != nil {
		return err
	}
	// The guard ends requests with the round, so the client itself needs no context.
	client, err := gofish.ConnectContext(context.Background(), gofish.ClientConfig{
		Endpoint: "https://" + u.Host, Username: user, Password: password, HTTPClient: r.guard.client(), BasicAuth: r.o.Config.Auth == authBasic,
	})
	var e *common.Error
	if errors.As(err, &e) && e.HTTPReturnedStatusCode != 0 {
		if e.HTTPReturnedStatusCode == 401 || e.HTTPReturnedStatusCode == 403 {
			return fmt.Errorf("%w: check user and password", errLoggedOut)
		}
		return fmt.Errorf("the service answers %d", e.HTTPReturnedStatusCode)
	}
	if err != nil {
		return err
	}
	if r.o.Config.Auth != authBasic {
		s, err := client.GetSession()
		if err != nil || s.Token == "" {
			return errors.New("the service gave no session: try auth: basic")
		}
		r.secrets = append(r.secrets, s.Token)
	}
	r.client = client
	return nil
}

// drop ends the session.
func (r *Reader) drop(ctx context.Context) {
	if r.client != nil {
		r.guard.begin(ctx)
		r.client.Logout()
		r.client = nil
	}
}

const longestReason = 300

// record keeps what a round brought. Half a tree is better than none: the rest is said in the reason.
func (r *Reader) record(w *walk, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests.WithLabelValues("success").Add(float64(w.answered))
	r.requests.WithLabelValues("failure").Add(float64(w.failed))
	now := r.now()
	is := snapshot.Condition{State: snapshot.StateOK, Since: r.is.Since}
	if err != nil {
		is.Reason = r.reason(err)
		if w.failed > 1 {
			is.Reason += fmt.Sprintf("; %d resources in all", w.failed)
		}
	}
	// The service root is open to everybody, so its answer alone is none.
	if w.answered > 1 && !errors.Is(err, errLoggedOut) {
		r.readings, r.at = w.list(), now
		r.last.Set(float64(now.UnixMilli()) / 1000)
	} else {
		is.State = snapshot.StateFailed
		if errors.Is(err, errLoggedOut) {
			is.State = snapshot.StateNoAccess
		}
		if err == nil {
			is.Reason = "the service has nothing to read"
		}
	}
	if is.State != r.is.State {
		is.Since = now
		if is.State == snapshot.StateOK {
			r.o.Logger.Info("The Redfish service answers", "endpoint", r.o.Config.Endpoint, "readings", len(r.readings))
		} else {
			r.o.Logger.Warn("The Redfish service cannot be read; it is tried again at every interval",
				"endpoint", r.o.Config.Endpoint, "reason", is.Reason)
		}
	}
	r.is = is
}

// reason is an error's text without secrets, whatever the service sent back.
func (r *Reader) reason(err error) string {
	text := strings.ToValidUTF8(err.Error(), "")
	for _, s := range r.secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + "…"
	}
	return text
}

// Condition is how the last round went. OK with a reason means that a part of the service did not answer.
func (r *Reader) Condition() snapshot.Condition {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.is
}

// Gather are the newest readings. It makes the reader a prometheus.Gatherer.
func (r *Reader) Gather() ([]*dto.MetricFamily, error) { return r.registry.Gather() }

// collector shows the readings to Prometheus' library.
type collector struct{ r *Reader }

func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.r.descs {
		to <- d
	}
}

func (c collector) Collect(to chan<- prometheus.Metric) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	if c.r.now().Sub(c.r.at) > staleRounds*c.r.o.Config.interval() {
		return // they say nothing about now
	}
	for _, reading := range c.r.readings {
		to <- reading.metric(c.r.descs[reading.quantity])
	}
}
