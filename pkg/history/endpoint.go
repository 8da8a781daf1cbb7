package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/api"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Endpoint is one Prometheus-compatible server. Endpoints of the same cluster are replicas or shards of each other:
// what they answer is merged by the identity of the GPUs.
type Endpoint struct {
	ID      string // names the endpoint in messages; unique
	Cluster string
	URL     string       // up to, and without, /api/v1
	HTTP    *http.Client // authentication and TLS; nil for a plain client. Redirects to other hosts are never followed.
	Timeout time.Duration
	// Replica is whether the cluster's other replicas hold the same: then one of them is asked, and the others when it
	// is slow, fails or has gaps. Endpoints that are no replicas are always asked.
	Replica bool
	// ReplicaLabels tell replicas apart and are dropped from PromQL results.
	ReplicaLabels []string
	// Concurrency is how many requests run at the same time; the others wait. 0 for DefaultConcurrency.
	Concurrency int
	Compression Compression
	// Permit says why the endpoint must not be asked for a caller, whose context it is given; nil when it may always be.
	Permit func(context.Context) error
}

// endpoint is an Endpoint ready to be asked.
type endpoint struct {
	Endpoint
	client    api.Client // makes the URLs
	http      http.Client
	host      string
	maxAnswer int64
	reading   *budget
	now       func() time.Time
	tenant    func(context.Context) string
	failure   gpu.Severity // of the notice that it failed
	queue     queue
	link      link
	pulse     pulse

	cached *extents // of all endpoints of a History

	background *background // of all endpoints of a History; nil for none

	useGET  atomic.Bool // POST was refused
	hung    atomic.Bool // it did not answer in time when it was last asked
	probing atomic.Bool // it is being asked whether it answers again
	waits   waits
	clock   theirClock
	told    atomic.Pointer[[]Agent] // the agents that it listed when it last answered

	vocabulary cache[vocabulary]
	inventory  cache[*inventory]
	agents     cache[[]Agent]
	maxima     cache[map[target]float64]
	metadata   cache[metadata]
	declared   cache[[]declared]
	resolution cache[*resolution]
}

func newEndpoint(spec Endpoint, o Options) (*endpoint, error) {
	u, err := url.Parse(strings.TrimSpace(spec.URL))
	switch {
	case err != nil:
		return nil, fmt.Errorf("endpoint %q: the URL cannot be read: %w", spec.ID, inner(err))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("endpoint %q: the URL must be like http://host:9090, with http or https", spec.ID)
	}
	u.RawQuery, u.Fragment = "", ""
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/api/v1")
	if spec.Timeout <= 0 {
		spec.Timeout = DefaultTimeout
	}
	client := http.Client{}
	if spec.HTTP != nil {
		client = *spec.HTTP
	}
	client.CheckRedirect = sameServer
	prometheus, err := api.NewClient(api.Config{Address: u.String(), Client: &client})
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: set up its client: %w", spec.ID, err)
	}
	if spec.Concurrency <= 0 {
		spec.Concurrency = DefaultConcurrency
	}
	e := &endpoint{
		Endpoint: spec, client: prometheus, http: client, host: u.Host, maxAnswer: o.MaxAnswerBytes, reading: o.reading, now: o.now,
		tenant: o.Tenant, failure: gpu.Warning, queue: newQueue(spec.Concurrency),
	}
	if o.FailedEndpoint != nil {
		e.failure = *o.FailedEndpoint
	}
	e.link.choice = spec.Compression
	e.link.look(u.Hostname())
	for _, c := range []interface{ setUp(func() time.Time) }{
		&e.vocabulary, &e.inventory, &e.agents, &e.maxima, &e.metadata, &e.declared, &e.resolution,
	} {
		c.setUp(o.now)
	}
	e.maxima.most, e.declared.most = 8*mostEntries, 8*mostEntries // of several for each tenant
	e.vocabulary.empty = func(v vocabulary) bool { return v.series != nil && len(v.series) == 0 }
	e.inventory.empty = func(i *inventory) bool { return len(i.roster) == 0 }
	e.agents.empty = func(known []Agent) bool { return len(known) == 0 }
	return e, nil
}

// sameServer follows redirects within a server only: whoever is elsewhere must not be sent the credentials. A redirect
// that would turn a POST into a GET without its form is not followed either.
func sameServer(req *http.Request, via []*http.Request) error {
	first := via[0]
	if req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme || req.Method != first.Method || len(via) > 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

// query asks path for form and decodes the answer. Every error is an *Error.
func (e *endpoint) query(ctx context.Context, path string, form url.Values) (*answer, error) {
	shared := e.cardfile(ctx)
	return e.queryAs(ctx, path, form, func(w *textWindow) (*answer, error) { return decode(w, shared) })
}

// queryAs is query with an answer that is decoded in a way of the caller's.
func (e *endpoint) queryAs(ctx context.Context, path string, form url.Values, read func(*textWindow) (*answer, error)) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.Timeout, errSlow)
	defer cancel()
	a, err := e.attempt(ctx, path, form, read)
	var failed *Error
	if errors.As(err, &failed) && failed.Kind == KindIncomplete && ctx.Err() == nil {
		a, err = e.attempt(ctx, path, form, read)
	}
	return a, err
}

func (e *endpoint) attempt(ctx context.Context, path string, form url.Values, read func(*textWindow) (*answer, error)) (*answer, error) {
	var a *answer
	err := e.stream(ctx, path, form, func(resp *http.Response, w *textWindow) error {
		var err error
		a, err = read(w)
		switch {
		case err != nil:
			return e.answerError(resp, w.begin(), err)
		case a.Status == "error":
			return e.refusal(resp, a.ErrorType, a.Error)
		case a.Status != "success" || !a.found:
			return e.answerError(resp, w.begin(), nil)
		}
		a.Warnings, a.Infos = citedAll(resp, a.Warnings), citedAll(resp, a.Infos)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// stream asks for something that may be large. What is wrong with the answer is what take says, but where it could not be read to
// its end.
func (e *endpoint) stream(ctx context.Context, path string, form url.Values, take func(*http.Response, *textWindow) error) error {
	var wrong error
	err := e.send(ctx, path, form, func(resp *http.Response, text *limitedBody) error {
		w := &textWindow{from: text, reading: e.reading, size: resp.ContentLength}
		defer w.close()
		wrong = take(resp, w)
		return text.failed
	})
	if err != nil {
		return err
	}
	return wrong
}

// fetch asks for something small, within the endpoint's time limit, and returns the body. Every error is an *Error.
func (e *endpoint) fetch(ctx context.Context, path string, form url.Values) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.Timeout, errSlow)
	defer cancel()
	var answered *http.Response
	var whole []byte
	err := e.send(ctx, path, form, func(resp *http.Response, text *limitedBody) error {
		all, err := e.reading.read(text)
		answered, whole = resp, all.own()
		return err
	})
	return answered, whole, err
}

// send posts a form, or gets it where the server does not allow POST, and has an answer with a good status taken in. It waits for
// its turn when too many requests to the server are running.
func (e *endpoint) send(ctx context.Context, path string, form url.Values, take func(*http.Response, *limitedBody) error) error {
	if e.Permit != nil {
		if err := e.Permit(ctx); err != nil {
			return &Error{Endpoint: e.ID, Kind: KindUnauthorized, Status: http.StatusUnauthorized, Message: err.Error()}
		}
	}
	if err := e.queue.enter(ctx); err != nil {
		return e.crowdedOut(ctx)
	}
	defer e.queue.leave()
	if err := e.blocked(ctx); err != nil {
		return err
	}
	post := !e.useGET.Load() && len(form) > 0
	resp, text, err := e.do(ctx, path, form, post, take)
	if post && resp != nil && (resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode == http.StatusNotImplemented) {
		text.release()
		if resp, text, err = e.do(ctx, path, form, false, take); err == nil && resp.StatusCode/100 == 2 {
			e.useGET.Store(true)
		}
	}
	switch {
	case err == nil:
		e.hung.Store(false)
	case errors.Is(context.Cause(ctx), errSlow):
		e.hung.Store(true)
	}
	switch {
	case err != nil && resp == nil:
		return e.transportError(ctx, err)
	case err != nil && (resp.StatusCode/100 == 2 || ctx.Err() != nil):
		return e.transportError(ctx, begunError{err})
	case resp.StatusCode/100 != 2: // which says enough, even if what it comes with was cut off
		defer text.release()
		failed := e.statusError(resp, text.text)
		if failed.RetryAfter > 0 {
			e.waits.ask(e.tenant(ctx), resp.StatusCode, e.now(), failed.RetryAfter)
		}
		return failed
	}
	return nil
}

func (e *endpoint) do(ctx context.Context, path string, form url.Values, post bool, take func(*http.Response, *limitedBody) error) (*http.Response, body, error) {
	u := e.client.URL(path, nil)
	method, content := http.MethodGet, io.Reader(http.NoBody)
	if post {
		method, content = http.MethodPost, strings.NewReader(form.Encode())
	} else {
		u.RawQuery = form.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, body{}, err
	}
	req.Header.Set("Accept", "application/json")
	if post {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		// A query changes nothing, so the transport may send it again when an idle connection turns out to be closed.
		req.Header["Idempotency-Key"] = nil
	}
	asked := e.now()
	resp, err := e.http.Do(e.link.prepare(req))
	if err != nil {
		return nil, body{}, err
	}
	e.clock.hear(resp.Header, asked)
	text, err := e.read(resp, take)
	return resp, text, err
}

// read has a response taken in and closes it. It returns what a refusal says.
func (e *endpoint) read(resp *http.Response, take func(*http.Response, *limitedBody) error) (body, error) {
	defer func() { _ = resp.Body.Close() }() // everything that is of use has been read
	plain, err := unpacked(resp)
	if err != nil {
		return body{}, err
	}
	whole := &limitedBody{Reader: plain, reading: e.reading, left: e.maxAnswer}
	defer whole.done()
	if resp.StatusCode/100 == 2 {
		return body{}, take(resp, whole)
	}
	whole.Reader = io.LimitReader(plain, min(whole.left, largestRefusal))
	return e.reading.read(whole)
}
