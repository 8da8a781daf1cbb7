package plugin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// alertmanager serves alerts and silences.
func alertmanager(t *testing.T, alerts, silences string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v2/alerts":
			_, _ = w.Write([]byte(alerts))
		case "/api/v2/silences":
			_, _ = w.Write([]byte(silences))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func clockAt(second int) string {
	return recordedAt.Add(time.Duration(second) * time.Second).UTC().Format(time.RFC3339)
}

func firing(fingerprint, labels string, since int) string {
	return fmt.Sprintf(`{"fingerprint":%q,"labels":{%s},"annotations":{"summary":"look at it"},"startsAt":%q,"endsAt":%q,"status":{"silencedBy":[]}}`,
		fingerprint, labels, clockAt(since), clockAt(3600))
}

// withAlerts is a data source with three GPUs on two nodes, an alert of Prometheus on n1, and an Alertmanager.
func withAlerts(t *testing.T, alerts, silences string) *Datasource {
	t.Helper()
	url := alertmanager(t, alerts, silences)
	s := &promtest.Store{}
	defaultFields(s, "n1", 0, 0.9, "pod", "train-0", "namespace", "ml", "container", "main")
	defaultFields(s, "n1", 1, 0.9)
	defaultFields(s, "n2", 0, 0.9)
	rule := func(name, node string, from, to int) {
		s.Add(map[string]string{"__name__": "ALERTS", "alertname": name, "alertstate": "firing", "node": node, "gpu": "0", "severity": "critical"},
			every15s(func(second int) float64 {
				if second < from || second > to {
					return promtest.Stale()
				}
				return 1
			})...)
	}
	rule("GpuXidCritical", "n1", 120, 900)
	rule("GpuHot", "n2", 60, 180)
	rule("DiskFull", "db-7", 0, 900)
	stored := fmt.Sprintf(`{"clusters":[{"name":"north","endpoints":[{"id":"a","url":%q}]}],"agents":{"discovery":"off"},"scrapeInterval":"15s",
		"alertmanagers":[{"id":"am","url":%q}]}`, promtest.Serve(t, s), url)
	d := openDatasource(t, backend.DataSourceInstanceSettings{JSONData: []byte(stored)})
	d.now = func() time.Time { return recordedAt.Add(10 * time.Minute) }
	return d
}

func TestAlertsAndSilences(t *testing.T) {
	silence := func(id, matchers string) string {
		return fmt.Sprintf(`{"id":%q,"status":{"state":"active"},"createdBy":"ada","comment":"replace riser","startsAt":%q,"endsAt":%q,"matchers":[%s]}`, id, clockAt(60), clockAt(7200), matchers)
	}
	d := withAlerts(t, "["+strings.Join([]string{
		firing("f1", `"alertname":"GpuXidCritical","node":"n1","gpu":"0","severity":"critical","prometheus":"a"`, 125),
		firing("f2", `"alertname":"NodeDown","instance":"n2.example.com:9100","severity":"page"`, 300),
		firing("f3", `"alertname":"BackupFailed","host":"db-7"`, 300),
		firing("f4", `"alertname":"WarpwatchAgentDown","job":"agents"`, 400),
	}, ",")+"]", "["+strings.Join([]string{
		silence("s1", `{"name":"node","value":"n1","isRegex":false,"isEqual":true}`),
		silence("s2", `{"name":"node","value":"db-.*","isRegex":true,"isEqual":true}`),
		silence("s3", `{"name":"alertname","value":"GpuHot","isRegex":false,"isEqual":true}`),
		silence("s4", `{"name":"node","value":"n1","isRegex":false,"isEqual":true},{"name":"gpu","value":"1","isRegex":false,"isEqual":true}`),
	}, ",")+"]")
	all := answerTo(t, d, `{"queryType":"events","kinds":["alert"]}`)
	got := cellTexts(t, all[0], "time", "title", "node", "gpu", "origin", "detail")
	want := []string{
		"22:41:00|Alert GpuHot|n2|0|history|GpuHot: critical; resolved after",
		"22:42:05|Alert GpuXidCritical|n1|0|alertmanager|GpuXidCritical: critical, look at it; still firing after 7m55s",
		"22:45:00|Alert NodeDown|n2||alertmanager|NodeDown: page, look at it; still firing after 5m0s",
		"22:46:40|Alert WarpwatchAgentDown|||alertmanager|WarpwatchAgentDown: alert, look at it; still firing after 3m20s",
	}
	if len(got) != len(want) {
		t.Fatalf("got %q: %s", got, noticeTexts(all))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
	if asked := all[0].Meta.ExecutedQueryString; !strings.Contains(asked, "ALERTS") {
		t.Errorf("asked %s", asked)
	}
	regions := answerTo(t, d, `{"queryType":"events","kinds":["silence"]}`)[0]
	wantCells(t, regions, "time,timeEnd,title,cluster,node,gpu,detail",
		`22:41:00|00:40:00|Silence|north|||alertname="GpuHot", by ada: replace riser`, `22:41:00|00:40:00|Silence|north|n1||node="n1", by ada: replace riser`,
		`22:41:00|00:40:00|Silence|north|n1|1|node="n1", gpu="1", by ada: replace riser`)
}

// Alerts of a job are those of its GPUs, of their nodes as a whole, and those that name its pods.
func TestAlertsOfAJob(t *testing.T) {
	d := withAlerts(t, "["+strings.Join([]string{
		firing("f1", `"alertname":"GpuHot","node":"n1","gpu":"1"`, 60), firing("f2", `"alertname":"NodeDown","node":"n1"`, 90),
		firing("f3", `"alertname":"GpuIdle","namespace":"ml","pod":"train-0"`, 120), firing("f4", `"alertname":"GpuIdle","namespace":"ml","pod":"other-0"`, 120),
	}, ",")+"]", "[]")
	all := answerTo(t, d, `{"queryType":"events","kinds":["alert"],"pods":["train-0"]}`)
	if got := cellTexts(t, all[0], "title"); !slices.Equal(got, []string{"Alert NodeDown", "Alert GpuIdle", "Alert GpuXidCritical"}) {
		t.Errorf("got %q", got)
	}
	all = answerTo(t, d, `{"queryType":"events","kinds":["alert"],"gpus":["GPU-n1-1"]}`)
	if got := cellTexts(t, all[0], "title"); !slices.Equal(got, []string{"Alert GpuHot"}) {
		t.Errorf("got %q", got)
	}
}

// A rule that counts events does not count alerts, its own among them, unless it names them.
func TestRulesDoNotCountAlerts(t *testing.T) {
	d := withAlerts(t, "["+firing("f1", `"alertname":"GpuHot","node":"n1","gpu":"1"`, 60)+"]", "[]")
	wantCells(t, askedAlert(t, d, `{"queryType":"events"}`)[0], "events", "0")
	wantCells(t, askedAlert(t, d, `{"queryType":"events","kinds":["alert"],"nodes":["n1"]}`)[0], "gpu,kind,events", "0|alert|1", "1|alert|1")
}

// Without an Alertmanager, or with one that is down, there is the rest and a word.
func TestAlertmanagersThatDoNotAnswer(t *testing.T) {
	d := withAlerts(t, "<html>login</html>", "[]")
	all := answerTo(t, d, `{"queryType":"events","kinds":["alert"]}`)
	if text := noticeTexts(all); !strings.Contains(text, "warning: Alertmanager am: what answers is no Alertmanager") || strings.Contains(text, "login") || all[0].Rows() != 2 {
		t.Errorf("%d rows, %s", all[0].Rows(), text)
	}
	health, err := d.CheckHealth(t.Context(), &backend.CheckHealthRequest{})
	if err != nil || health.Status != backend.HealthStatusOk || !strings.Contains(string(health.JSONDetails), "Alertmanager am: what answers is no Alertmanager") {
		t.Errorf("%v %s", err, health.JSONDetails)
	}
	none := exported(t, func(s *promtest.Store) { defaultFields(s, "n1", 0, 0.9) })
	if text := noticeTexts(answerTo(t, none, `{"queryType":"events","kinds":["silence"]}`)); !strings.Contains(text, "Silences are not known: list Alertmanagers") {
		t.Error(text)
	}
}

// Nothing that is meant for Prometheus, and nobody's identity, is sent to an Alertmanager.
func TestAlertmanagersAreSentNothingOfOthers(t *testing.T) {
	headers := make(chan http.Header, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Clone()
		_, _ = w.Write([]byte("[]"))
	}))
	t.Cleanup(server.Close)
	stored := fmt.Sprintf(`{"clusters":[{"name":"north","endpoints":[{"id":"a","url":%q}]}],"agents":{"discovery":"off"},"oauthPassThru":true,"httpHeaderName1":"X-Secret",
		"alertmanagers":[{"id":"am","url":%q,"auth":"bearer","headers":["X-Own"]}]}`, promtest.Serve(t, &promtest.Store{}), server.URL)
	d := openDatasource(t, backend.DataSourceInstanceSettings{JSONData: []byte(stored), BasicAuthEnabled: true, BasicAuthUser: "prom", DecryptedSecureJSONData: map[string]string{
		"httpHeaderValue1": "prometheus-secret", "basicAuthPassword": "prometheus-password", "alertmanager_am_token": "am-token", "alertmanager_am_header_X-Own": "own",
	}})
	d.now = func() time.Time { return recordedAt.Add(10 * time.Minute) }
	_, err := d.QueryData(t.Context(), &backend.QueryDataRequest{
		Headers: map[string]string{backend.OAuthIdentityTokenHeaderName: "Bearer adas-token", "Cookie": "session=ada"},
		Queries: []backend.DataQuery{{
			RefID: "A", JSON: []byte(`{"queryType":"events"}`), QueryType: "events", TimeRange: backend.TimeRange{From: recordedAt, To: recordedAt.Add(10 * time.Minute)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(headers) != 2 {
		t.Fatalf("%d requests", len(headers))
	}
	for range 2 {
		got := fmt.Sprint(<-headers)
		if !strings.Contains(got, "Bearer am-token") || !strings.Contains(got, "X-Own:[own]") || strings.Contains(got, "prometheus-") || strings.Contains(got, "ada") {
			t.Errorf("sent %s", got)
		}
	}
}

// What belongs together is one row, under what is behind it.
func TestGroupedEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
		for _, a := range f.agents {
			a.SetOwners()
		}
		one, two := boards("n1", 2)[0], boards("n2", 2)[0]
		f.agents[0].SetOwners(gpu.Ownership{Device: one, Owner: gpu.Owner{Namespace: "ml", Pod: "train-0"}})
		f.agents[1].SetOwners(gpu.Ownership{Device: two, Owner: gpu.Owner{Namespace: "ml", Pod: "train-1"}})
		f.agents[0].Event(gpu.Event{Kind: gpu.KindXID, XID: 79, Origin: "kernel", Device: one})
		time.Sleep(5 * time.Second)
		f.agents[0].Event(gpu.Event{Kind: gpu.KindLost, Origin: "agent", Device: one})
		f.agents[1].Event(gpu.Event{Kind: gpu.KindXID, XID: 45, Origin: "kernel", Device: two})
		time.Sleep(40 * time.Minute)
		f.agents[1].Event(gpu.Event{Kind: gpu.KindXID, XID: 31, Origin: "kernel", Device: two})
		time.Sleep(40 * time.Second)
		all := f.frames(t, time.Hour, `{"queryType":"events","options":{"group":true}}`)
		wantCells(t, all[0], "title,severity,scope,node,job,with,events,gpus,nodes",
			"XID 79: GPU has fallen off the bus|critical|job|n1|ml/train|XID 45, lost|3|2|n1, n2",
			"XID 31: GPU memory page fault|warning|gpu|n2|||1|1|n2")
		for i, name := range []string{"time", "timeEnd", "title", "text", "tags"} {
			if all[0].Fields[i].Name != name {
				t.Errorf("column %d is %q", i, all[0].Fields[i].Name)
			}
		}
		answer := f.ask(t, time.Hour, map[string]string{"FromAlert": "true"}, map[string]string{
			"A": `{"queryType":"events","options":{"group":true}}`, "B": `{"queryType":"events","options":{"windowMinutes":3}}`, "C": `{"queryType":"events","options":{"grouped":true}}`,
		})
		wantCells(t, answer["A"].Frames[0], "severity,groups", "critical|1", "warning|1", "info|0")
		for ref, want := range map[string]string{"B": `field "options": windowMinutes: it is of events that are put together`, "C": `field "options": "grouped" is not known; use group or windowMinutes`} {
			if err := answer[ref].Error; err == nil || !strings.Contains(err.Error(), want) || answer[ref].Status != 400 {
				t.Errorf("%s: %v", ref, err)
			}
		}
	})
}
