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
	said := make([]told, len(managers))
	var wg sync.WaitGroup
	for i, m := range managers {
		wg.Go(func() { said[i] = m.ask(ctx) })
	}
	wg.Wait()
	return merge(said)
}

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
	wg.Go(func() {
		alerts, errAlerts = m.get(ctx, "/api/v2/alerts?active=true&silenced=true&inhibited=true&unprocessed=true")
	})
	wg.Go(func() { silences, errSilences = m.get(ctx, "/api/v2/silences") })
	wg.Wait()
	if errAlerts == nil {
		out.alerts, errAlerts = decodeAlerts(alerts)
	}
	if errSilences == nil {
		out.silences, errSilences = decodeSilences(silences)
	}
	switch {
	case errAlerts != nil:
		out.err = fmt.Errorf("%s: %w", m.ID, errAlerts)
	case errSilences != nil:
		out.err = fmt.Errorf("%s: %w", m.ID, errSilences)
	}
	cut := func(n, most int, what string) {
		if n > most {
			out.leftOut = append(out.leftOut, fmt.Sprintf("%s has %d %s, of which %d are read", m.ID, n, what, most))
		}
	}
	cut(len(out.alerts), maxAlerts, "alerts")
	cut(len(out.silences), maxSilences, "silences")
	out.alerts, out.silences = out.alerts[:min(len(out.alerts), maxAlerts)], out.silences[:min(len(out.silences), maxSilences)]
	for i := range out.alerts {
		if out.alerts[i].Cluster == "" {
			out.alerts[i].Cluster = m.Cluster
		}
		out.alerts[i].From = []string{m.ID}
	}
	for i := range out.silences {
		out.silences[i].Cluster, out.silences[i].From = m.Cluster, []string{m.ID}
	}
	return out
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
