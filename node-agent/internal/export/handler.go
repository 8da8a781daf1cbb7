package export

import (
	"bytes"
	"compress/gzip"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// HandlerOptions say what /metrics is made of.
type HandlerOptions struct {
	Exporter *Exporter
	// Own are the agent's figures about itself.
	Own *prometheus.Registry
	// Gatherers and Appenders bring what others measure. Names that begin with gpu_ or warpwatch_, and names that are there
	// already, are left out and counted; whoever comes first keeps a name.
	Gatherers []prometheus.Gatherer
	Appenders []Appender
	Logger    *slog.Logger
}

// maxComplaints bounds how many different things are said in the log about others' metrics.
const maxComplaints = 100

// handler answers scrapes.
type handler struct {
	o        HandlerOptions
	format   expfmt.Format
	buffers  sync.Pool
	writers  sync.Pool
	left     prometheus.Counter
	failures prometheus.Counter

	mu         sync.Mutex
	complaints map[string]bool
}

// Handler answers scrapes with all of it. It answers in the text format 0.0.4 whatever is asked for, which every server
// accepts.
func Handler(o HandlerOptions) http.Handler {
	h := &handler{
		o: o, format: expfmt.NewFormat(expfmt.TypeTextPlain), complaints: map[string]bool{},
		buffers: sync.Pool{New: func() any { return new([]byte) }},
		writers: sync.Pool{New: func() any {
			// A scrape is read once, by a neighbour: the processor's time is worth more than a few bytes.
			w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for levels that do not exist
			return w
		}},
		left: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_metrics_left_out_total",
			Help: "Families of jobs, scripts and readers that were left out of a scrape, because of their name.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "warpwatch_agent_metrics_failures_total", Help: "Figures that could not be gathered for a scrape.",
		}),
	}
	o.Own.MustRegister(h.left, h.failures)
	return h
}

// ServeHTTP answers one scrape.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	buffer := h.buffers.Get().(*[]byte)
	defer h.buffers.Put(buffer)
	*buffer = h.append((*buffer)[:0], time.Now())
	w.Header().Set("Content-Type", string(h.format))
	if !acceptsGzip(r) {
		// A scraper that went away gets no message: there is nobody to tell.
		_, _ = w.Write(*buffer)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := h.writers.Get().(*gzip.Writer)
	defer h.writers.Put(z)
	z.Reset(w)
	_, _ = z.Write(*buffer)
	_ = z.Close()
}

// append writes everything. What fails is left out: the rest is worth having.
func (h *handler) append(dst []byte, now time.Time) []byte {
	dst = h.o.Exporter.Append(dst, now)
	j := &joiner{taken: map[string]bool{}, refused: h.leaveOut}
	dst = h.gathered(dst, h.o.Own, j, func(string) bool { return true })
	if len(h.o.Gatherers) > 0 {
		dst = h.gathered(dst, prometheus.Gatherers(h.o.Gatherers), j, func(name string) bool { return !reserved(name) })
	}
	var text []byte
	for _, a := range h.o.Appenders {
		text = a.Append(text[:0])
		dst = j.add(dst, text)
	}
	return dst
}

func (h *handler) gathered(dst []byte, from prometheus.Gatherer, j *joiner, mayBe func(name string) bool) []byte {
	families, err := from.Gather()
	if err != nil {
		h.failures.Inc()
		h.complain("Some figures could not be gathered", "err", err.Error())
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, h.format)
	for _, f := range families {
		if !mayBe(f.GetName()) {
			h.leaveOut(f.GetName())
			continue
		}
		if !j.claim(f.GetName(), kindOf(f)) {
			continue
		}
		before := text.Len()
		if err := encoder.Encode(f); err != nil {
			text.Truncate(before)
			h.failures.Inc()
			h.complain("A figure could not be written", "err", err.Error())
		}
	}
	return append(dst, text.Bytes()...)
}

func kindOf(f *dto.MetricFamily) string { return strings.ToLower(f.GetType().String()) }

// leaveOut notes a family that is not shown.
func (h *handler) leaveOut(name string) {
	h.left.Inc()
	h.complain("Metrics were left out: the name is the agent's own, or somebody else's already", "metric", name)
}

// complain says something once.
func (h *handler) complain(message, key, value string) {
	h.mu.Lock()
	known := h.complaints[message+value] || len(h.complaints) >= maxComplaints
	if !known {
		h.complaints[message+value] = true
	}
	h.mu.Unlock()
	if !known {
		h.o.Logger.Warn(message, key, value)
	}
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == "gzip" {
			return strings.ReplaceAll(quality, " ", "") != "q=0"
		}
	}
	return false
}
