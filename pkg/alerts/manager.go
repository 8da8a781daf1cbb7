package alerts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Bounds of what is read of one Alertmanager.
const (
	maxBody     = 16 << 20 // bytes
	maxAlerts   = 20_000
	maxSilences = 20_000
	maxLabels   = 64
	maxMatchers = 64
	maxText     = 1 << 10 // bytes of a label, a comment or a pattern
)

// Manager is one Alertmanager.
type Manager struct {
	ID      string
	Cluster string // of what does not say; "" for any
	URL     string // without the trailing slash and without /api/v2
	HTTP    *http.Client
	Timeout time.Duration
}

// Alert is something that fires, or fired within the last minutes.
type Alert struct {
	Fingerprint string
	Name        string            // the label alertname
	Cluster     string            // of the label cluster, else of the Alertmanager; "" where nobody knows
	Labels      map[string]string // of the alert, alertname included
	Summary     string            // of its annotations: summary, else description, else message
	Starts      time.Time
	Ends        time.Time // when it is taken to be over if nobody repeats it: of what fires it is in the future
	// Suppressed is why nobody is told: by a silence, by another alert; "" when somebody is.
	Suppressed string
	From       []string // ids of the Alertmanagers that tell of it
}

// Silence is a time in which nobody is told of some alerts.
type Silence struct {
	ID           string
	Cluster      string // of the Alertmanager; "" where nobody knows
	State        string // "active", "pending" or "expired"
	By, Comment  string
	Starts, Ends time.Time
	Matchers     []Matcher
	From         []string
}

// Answer is what all of them say together.
type Answer struct {
	Alerts   []Alert   // in the order of their start
	Silences []Silence // in the order of their start
	Asked    int
	Failed   []error // each names an Alertmanager and says what to change
	// LeftOut says what was too much, for people; nil when nothing was.
	LeftOut []string
}

// Ask asks all of them at the same time, and waits for each as long as it may take.
func Ask(ctx context.Context, managers []Manager) Answer {
	return askAll(ctx, managers, Manager.ask)
}

// AskSilences is Ask without alerts, of which there may be many.
func AskSilences(ctx context.Context, managers []Manager) Answer {
	return askAll(ctx, managers, func(m Manager, ctx context.Context) told {
		ctx, cancel := context.WithTimeout(ctx, m.Timeout)
		defer cancel()
		out := told{manager: m}
		out.takeSilences(m.get(ctx, silencesPath))
		return out
	})
}

func askAll(ctx context.Context, managers []Manager, ask func(Manager, context.Context) told) Answer {
	said := make([]told, len(managers))
	var wg sync.WaitGroup
	for i, m := range managers {
		wg.Go(func() { said[i] = ask(m, ctx) })
	}
	wg.Wait()
	return merge(said)
}

const (
	alertsPath   = "/api/v2/alerts?active=true&silenced=true&inhibited=true&unprocessed=true"
	silencesPath = "/api/v2/silences"
)

// told is what one of them said.
type told struct {
	manager  Manager
	alerts   []Alert
	silences []Silence
	leftOut  []string
	err      error
}

func (m Manager) ask(ctx context.Context) told {
	out := told{manager: m}
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	var alerts, silences []byte
	var errAlerts, errSilences error
	var wg sync.WaitGroup
	wg.Go(func() { alerts, errAlerts = m.get(ctx, alertsPath) })
	wg.Go(func() { silences, errSilences = m.get(ctx, silencesPath) })
	wg.Wait()
	out.takeAlerts(alerts, errAlerts)
	out.takeSilences(silences, errSilences)
	return out
}

// takeAlerts reads an answer with alerts, or notes why there is none.
func (t *told) takeAlerts(body []byte, err error) {
	n := 0
	if err == nil {
		t.alerts, n, err = decodeAlerts(body)
	}
	t.failed(err)
	t.cut(n, len(t.alerts), "alerts")
	for i := range t.alerts {
		if t.alerts[i].Cluster == "" {
			t.alerts[i].Cluster = t.manager.Cluster
		}
		t.alerts[i].From = []string{t.manager.ID}
	}
}

// takeSilences reads an answer with silences, or notes why there is none.
func (t *told) takeSilences(body []byte, err error) {
	n := 0
	if err == nil {
		t.silences, n, err = decodeSilences(body)
	}
	t.failed(err)
	t.cut(n, len(t.silences), "silences")
	for i := range t.silences {
		t.silences[i].Cluster, t.silences[i].From = t.manager.Cluster, []string{t.manager.ID}
	}
}

// failed keeps the first error.
func (t *told) failed(err error) {
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("%s: %w", t.manager.ID, err)
	}
}

// cut says so when not all of a list are kept.
func (t *told) cut(n, kept int, what string) {
	if n > kept {
		t.leftOut = append(t.leftOut, fmt.Sprintf("%s has %d %s, of which %d are read", t.manager.ID, n, what, kept))
	}
}

// errLarge is for an answer that is not read to its end.
var errLarge = fmt.Errorf("its answer is larger than %d MiB: let alerts be grouped, or expire silences", maxBody>>20)

// get reads one answer. What is wrong is said without quoting it: it may be a page of somebody else's.
func (m Manager) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL+path, http.NoBody)
	if err != nil {
		return nil, errors.New("its URL cannot be used: correct alertmanagers in the settings")
	}
	req.Header.Set("Accept", "application/json")
	client := *m.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return nil, transport(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return nil, fmt.Errorf("it refuses (HTTP %d): check its credentials in the settings", code)
	case code == http.StatusNotFound:
		return nil, errors.New("it has no API of version 2 (HTTP 404): check its URL; Mimir has it below /alertmanager")
	case code >= 300 && code < 400:
		return nil, fmt.Errorf("it redirects (HTTP %d), maybe to a login page: write the address that it leads to, or credentials", code)
	case code != http.StatusOK:
		return nil, fmt.Errorf("it answers with HTTP %d", code)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, transport(ctx, err)
	case len(body) > maxBody:
		return nil, errLarge
	}
	return body, nil
}

// transport says why there is no answer, without the URL, which may have credentials.
func transport(ctx context.Context, err error) error {
	var dns *net.DNSError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("it does not answer in time: see whether it is up, or set a longer timeout")
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dns):
		return errors.New("its name is not known: check its URL")
	case strings.Contains(err.Error(), "certificate"):
		return errors.New("its certificate is not trusted: enter the authority that signed it, or its serverName")
	}
	return errors.New("it cannot be reached: check its URL, and whether it is up")
}
