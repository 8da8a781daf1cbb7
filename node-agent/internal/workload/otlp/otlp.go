// Package otlp receives metrics over OTLP/HTTP and puts them into a workload store under Prometheus names and base units.
// The agent is not a collector: what cannot be shown on /metrics is answered as rejected, with the reason.
package otlp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

// Input is the receiver's name in the store.
const Input = "otlp"

// Options are what a receiver needs. Zero numbers are defaults.
type Options struct {
	Store       *workload.Store
	Node        string        // resources on this host get no label host_name
	Lifetime    time.Duration // of a series that is not sent again, 5 min
	BodyBytes   int64         // of a request as it is sent, 2 MiB
	TextBytes   int64         // of a request after decompression, 4 MiB
	Messages    int           // in a request: points, attributes and what else is nested, 100,000
	Concurrency int           // requests at a time, 4; more are told to come again
	Streams     int           // senders' series that are remembered, 20,000
	Now         func() time.Time
	Logger      *slog.Logger
}

// Receiver answers POST /v1/metrics. It is safe for concurrent use.
type Receiver struct {
	o     Options
	slots chan struct{}
	said  *rate.Limiter // messages in the log

	mu      sync.Mutex
	streams *streams
}

// New prepares a receiver.
func New(o Options) (*Receiver, error) {
	if o.Store == nil {
		return nil, errors.New("an OTLP receiver needs a store")
	}
	o.Lifetime = cmp.Or(o.Lifetime, 5*time.Minute)
	o.BodyBytes = cmp.Or(o.BodyBytes, 2<<20)
	o.TextBytes = cmp.Or(o.TextBytes, 4<<20)
	o.Messages = cmp.Or(o.Messages, 100_000)
	o.Concurrency = cmp.Or(o.Concurrency, 4)
	o.Streams = cmp.Or(o.Streams, 20_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Receiver{
		o: o, slots: make(chan struct{}, o.Concurrency), said: rate.NewLimiter(rate.Every(10*time.Second), 5),
		streams: newStreams(o.Streams, o.Lifetime),
	}, nil
}

// readTimeout is how long a sender may take for its body: its slot is one of few.
const readTimeout = 10 * time.Second

// ServeHTTP is of http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send metrics with POST", http.StatusMethodNotAllowed)
		return
	}
	a, err := answererFor(req)
	if err != nil {
		r.fail(w, a, err)
		return
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	default:
		r.fail(w, a, &failure{http.StatusServiceUnavailable, codeUnavailable, workload.TooMany, time.Second,
			"the agent is reading as many requests as it may: send again later"})
		return
	}
	// Not every writer can; then the server's own limits hold.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout))
	data, err := r.decode(w, req, a)
	if err != nil {
		r.fail(w, a, err)
		return
	}
	t := r.take(data, sender(req))
	r.log(t.messages)
	if t.accepted == 0 && t.full > 0 && t.rejected == t.full {
		// Counted already; there may be room when others' series end.
		a.status(w, &failure{http.StatusTooManyRequests, codeExhausted, workload.TooMany, 30 * time.Second, t.message()})
		return
	}
	a.success(w, int64(t.rejected), t.message())
}

// outcome is what became of a request's points.
type outcome struct {
	accepted, rejected, full int // points
	messages                 []string
}

// message is what the sender reads.
func (o outcome) message() string { return strings.Join(o.messages, "; ") }

// take translates a request and merges it into the store.
func (r *Receiver) take(data *metricsData, from string) outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := &translation{now: r.o.Now(), node: r.o.Node, streams: r.streams, refused: map[workload.Reason]int{}}
	t.streams.expire(t.now)
	t.data(data)
	report := r.o.Store.Merge(Input, workload.Batch{
		Sender: from, Families: t.families, Gone: t.gone, Lifetime: r.o.Lifetime,
	})
	out := outcome{accepted: report.Accepted, rejected: report.Refused, full: report.Full}
	for reason, n := range t.refused {
		r.o.Store.Refuse(Input, reason, n)
		out.rejected += n
		if reason == workload.TooMany {
			out.full += n
		}
	}
	for _, m := range t.messages {
		out.messages = append(out.messages, from+": "+m)
	}
	for _, m := range report.Messages {
		out.messages = append(out.messages, m.Text)
	}
	return out
}

// fail answers a request that was refused whole.
func (r *Receiver) fail(w http.ResponseWriter, a answerer, err error) {
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{http.StatusBadRequest, codeInvalid, workload.Syntax, 0, err.Error()}
	}
	r.o.Store.Refuse(Input, f.reason, 1)
	r.log([]string{f.text})
	a.status(w, f)
}

func (r *Receiver) log(messages []string) {
	for _, m := range messages {
		if r.said.AllowN(r.o.Now(), 1) {
			r.o.Logger.Warn("Metrics sent with OTLP were refused", "reason", m)
		}
	}
}

func sender(req *http.Request) string {
	host, _, err := net.SplitHostPort(req.RemoteAddr)
	if err != nil {
		host = "an unnamed sender"
	}
	return fmt.Sprintf("otlp from %s", host)
}
