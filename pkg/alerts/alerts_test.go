package alerts

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const oneAlert = `[{"annotations":{"summary":"GPU 3\n of n1"},"endsAt":"2026-11-30T10:05:00.000Z","fingerprint":"f1","receivers":[{"name":"x"}],
	"startsAt":"2026-11-30T09:00:00.000Z","status":{"inhibitedBy":[],"silencedBy":[%s],"mutedBy":[],"state":"active"},"updatedAt":"2026-11-30T10:00:00.000Z",
	"generatorURL":"http://p/graph","labels":{"alertname":"GpuXidCritical","node":"n1","severity":"critical"}}]`

const oneSilence = `[{"id":"s1","status":{"state":"active"},"updatedAt":"2026-11-30T09:30:00Z","comment":"replace riser","createdBy":"ada",
	"startsAt":"2026-11-30T09:30:00Z","endsAt":"%s","matchers":[{"name":"node","value":"n[12]","isRegex":true,"isEqual":true},{"name":"severity","value":"info","isRegex":false,"isEqual":false}]}]`

// manager serves an Alertmanager. Paths that are not given are not there.
func manager(t *testing.T, id string, answers map[string]string) Manager {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, known := answers[r.URL.Path]
		switch {
		case !known:
			http.NotFound(w, r)
		case strings.HasPrefix(text, "HTTP "):
			var code int
			_, _ = fmt.Sscanf(text, "HTTP %d", &code)
			w.Header().Set("Location", "http://elsewhere.example.com/login?secret=1")
			w.WriteHeader(code)
		case text == "hang":
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(server.Close)
	return Manager{ID: id, URL: server.URL, HTTP: server.Client(), Timeout: 10 * time.Second, Cluster: "north"}
}

func TestTheSameOfSeveralCountsOnce(t *testing.T) {
	a := manager(t, "a", map[string]string{"/api/v2/alerts": fmt.Sprintf(oneAlert, `"s1"`), "/api/v2/silences": fmt.Sprintf(oneSilence, "2026-11-30T12:00:00Z")})
	b := manager(t, "b", map[string]string{"/api/v2/alerts": fmt.Sprintf(oneAlert, ""), "/api/v2/silences": fmt.Sprintf(oneSilence, "2026-11-30T11:00:00Z")})
	got := Ask(t.Context(), []Manager{a, b})
	require.Empty(t, got.Failed)
	require.Len(t, got.Alerts, 1)
	alert := got.Alerts[0]
	assert.Equal(t, []any{"GpuXidCritical", "north", "GPU 3 of n1", "", []string{"a", "b"}}, []any{alert.Name, alert.Cluster, alert.Summary, alert.Suppressed, alert.From})
	assert.Equal(t, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), alert.Starts)
	require.Len(t, got.Silences, 1)
	silence := got.Silences[0]
	assert.Equal(t, "ada: replace riser, 11", silence.By+": "+silence.Comment+fmt.Sprint(", ", silence.Ends.Hour()))
	assert.Equal(t, `node=~"n[12]"`, silence.Matchers[0].String())
	for value, want := range map[string]bool{"n1": true, "n12": false, "": false} {
		assert.Equal(t, want, silence.Matchers[0].Matches(value), value)
	}
	assert.True(t, silence.Matchers[1].Matches("critical"))
	assert.False(t, silence.Matchers[1].Matches("info"))

	one := Ask(t.Context(), []Manager{a})
	assert.Equal(t, "silenced", one.Alerts[0].Suppressed)
}

// One that fails takes nothing away from the others, and says what to change without quoting what it answered.
func TestFailures(t *testing.T) {
	good := manager(t, "good", map[string]string{"/api/v2/alerts": fmt.Sprintf(oneAlert, ""), "/api/v2/silences": "[]"})
	closed := manager(t, "closed", nil)
	closed.URL = "http://127.0.0.1:1"
	slow := manager(t, "slow", map[string]string{"/api/v2/alerts": "hang", "/api/v2/silences": "[]"})
	slow.Timeout = time.Millisecond
	both := func(text string) map[string]string {
		return map[string]string{"/api/v2/alerts": text, "/api/v2/silences": text}
	}
	for _, c := range []struct {
		m    Manager
		want string
	}{
		{closed, "closed: it cannot be reached"},
		{slow, "slow: it does not answer in time"},
		{manager(t, "m", nil), "m: it has no API of version 2 (HTTP 404)"},
		{manager(t, "m", both("HTTP 401")), "m: it refuses (HTTP 401): check its credentials"},
		{manager(t, "m", both("HTTP 302")), "m: it redirects (HTTP 302)"},
		{manager(t, "m", both("HTTP 503")), "m: it answers with HTTP 503"},
		{manager(t, "m", both("<html>secret</html>")), "m: what answers is no Alertmanager"},
		{manager(t, "m", both("["+strings.Repeat(" ", maxBody)+"]")), "m: its answer is larger than 16 MiB"},
	} {
		got := Ask(t.Context(), []Manager{good, c.m})
		require.Len(t, got.Failed, 1, c.want)
		require.ErrorContains(t, got.Failed[0], c.want)
		assert.NotContains(t, got.Failed[0].Error(), "secret")
		assert.Len(t, got.Alerts, 1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Ask(ctx, []Manager{good}).Failed[0], context.Canceled)
}

func TestTooMany(t *testing.T) {
	var many []string
	for i := range maxAlerts + 5 {
		many = append(many, fmt.Sprintf(`{"fingerprint":"%d","startsAt":"2026-11-30T09:00:00Z","labels":{"alertname":"A"}}`, i))
	}
	got := Ask(t.Context(), []Manager{manager(t, "m", map[string]string{"/api/v2/alerts": "[" + strings.Join(many, ",") + "]", "/api/v2/silences": "[]"})})
	assert.Len(t, got.Alerts, maxAlerts)
	assert.Equal(t, []string{"m has 20005 alerts, of which 20000 are read"}, got.LeftOut)
}

// Silences of before there were negative matchers, and ones that nobody could have meant.
func TestOddSilences(t *testing.T) {
	all, _, err := decodeSilences([]byte(`[
		{"id":"old","startsAt":"2026-11-30T09:00:00Z","endsAt":"2026-11-30T10:00:00Z","matchers":[{"name":"node","value":"n1"}]},
		{"id":"broken","startsAt":"2026-11-30T09:00:00Z","endsAt":"2026-11-30T10:00:00Z","matchers":[{"name":"node","value":"n(","isRegex":true}]},
		{"id":"empty","startsAt":"2026-11-30T09:00:00Z","endsAt":"2026-11-30T09:00:00Z"},{"id":"undated"}]`))
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.True(t, all[0].Matchers[0].Matches("n1"))
	assert.False(t, all[1].Matchers[0].Matches("n("))
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(oneAlert, "")))
	f.Add([]byte(fmt.Sprintf(oneSilence, "2026-11-30T12:00:00Z")))
	f.Add([]byte(`[null,{}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		alerts, _, errAlerts := decodeAlerts(body)
		silences, _, errSilences := decodeSilences(body)
		got := merge([]told{{alerts: alerts, silences: silences}, {alerts: slices.Clone(alerts), silences: slices.Clone(silences)}})
		if errAlerts == nil && len(got.Alerts) > len(alerts) || errSilences == nil && len(got.Silences) > len(silences) {
			t.Fatal("what is told twice counts twice")
		}
		for _, s := range got.Silences {
			for _, m := range s.Matchers {
				m.Matches("x")
			}
		}
	})
}
