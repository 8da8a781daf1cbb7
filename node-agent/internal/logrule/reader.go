package logrule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// Options are what a Reader needs.
type Options struct {
	Rules []Rule
	// Emit takes the events. It is called from several goroutines, and must not wait.
	Emit func(device.Event)
	// Labels are put on every series: the node, the cluster.
	Labels prometheus.Labels
	// Registerer takes the reader's figures about itself, from New until Run ends.
	Registerer prometheus.Registerer
	Logger     *slog.Logger
	Poll       time.Duration // how often files are looked at; 0 is 1s
}

const defaultPoll = time.Second

// Reader follows logs and applies rules to their lines.
type Reader struct {
	o        Options
	registry *prometheus.Registry // the rules' metrics
	own      *selfMetrics
	files    *follower // nil when no rule reads files
	journals []*journal
}

// New prepares a reader. It opens nothing yet.
func New(o Options) (*Reader, error) { return newReader(o, exec.LookPath) }

func newReader(o Options, lookPath func(string) (string, error)) (*Reader, error) {
	rules, err := compileAll(o.Rules)
	if err != nil {
		return nil, err
	}
	if o.Emit == nil {
		o.Emit = func(device.Event) {}
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	r := &Reader{o: o, registry: prometheus.NewRegistry(), own: newSelfMetrics(rules)}
	var ofFiles []*active
	byJournal := map[string]*journal{}
	for _, c := range rules {
		a := newActive(c, o.Emit, r.own)
		if a.series != nil {
			if err := prometheus.WrapRegistererWith(o.Labels, r.registry).Register(collector{a.series}); err != nil {
				return nil, fmt.Errorf("log_rules: %s: %w", c.Name, err)
			}
		}
		if c.Journal == nil {
			ofFiles = append(ofFiles, a)
			continue
		}
		j, ok := byJournal[c.Journal.key()]
		if !ok {
			j = newJournal(*c.Journal, r.own, o.Logger)
			byJournal[c.Journal.key()] = j
			r.journals = append(r.journals, j)
		}
		j.rules = append(j.rules, a)
	}
	if len(ofFiles) > 0 {
		r.files = newFollower(ofFiles, r.own, o.Logger)
	}
	if len(r.journals) > 0 {
		r.findJournalctl(lookPath)
	}
	if o.Registerer != nil {
		for _, c := range r.own.all() {
			if err := o.Registerer.Register(c); err != nil {
				return nil, fmt.Errorf("register the figures of the log rules: %w", err)
			}
		}
	}
	return r, nil
}

// findJournalctl switches the journal's rules off where there is no such program.
func (r *Reader) findJournalctl(lookPath func(string) (string, error)) {
	path, err := lookPath("journalctl")
	if err != nil {
		r.o.Logger.Warn("The log rules for the journal do nothing, because there is no journalctl here", "reason", err)
		r.journals = nil
		return
	}
	for _, j := range r.journals {
		j.program = path
	}
}

// Gather are the rules' metrics now. It makes the reader a prometheus.Gatherer.
func (r *Reader) Gather() ([]*dto.MetricFamily, error) { return r.registry.Gather() }

// Run follows the logs until ctx ends. A log that cannot be read is no error: it is said, counted and tried again.
func (r *Reader) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if r.files != nil {
		group.Go(func() error { return r.files.run(ctx, r.o.Poll) })
	}
	for _, j := range r.journals {
		group.Go(func() error {
			j.run(ctx)
			return nil
		})
	}
	<-ctx.Done()
	err := group.Wait()
	if r.o.Registerer != nil {
		for _, c := range r.own.all() {
			r.o.Registerer.Unregister(c)
		}
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// collector shows the series of a rule to Prometheus' library.
type collector struct{ *series }

func (c collector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

func (c collector) Collect(to chan<- prometheus.Metric) { c.collect(to, time.Now()) }
