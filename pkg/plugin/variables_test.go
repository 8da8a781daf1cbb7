package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

func (f *fakePast) Members(context.Context, query.Scope, time.Time, time.Time) ([]history.Member, []gpu.Notice, error) {
	return membersOf(f.devices), f.notices, f.err
}

// populated is a Prometheus that knows workloads.
type populated struct {
	*fakePast
	members []history.Member
	ranges  []time.Duration // that members were asked for
}

func (p *populated) Members(_ context.Context, _ query.Scope, from, to time.Time) ([]history.Member, []gpu.Notice, error) {
	p.ranges = append(p.ranges, to.Sub(from))
	return p.members, p.notices, p.err
}

// Workloads and MIG profiles can be chosen from, within a time range and what was chosen before.
func TestVariablesOfWorkloads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		member := func(node, uuid, profile, namespace, pod, job string) history.Member {
			d := gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: node, UUID: uuid}, Model: "NVIDIA H200"}
			if profile != "" {
				d.GPUInstance, d.MIGProfile = "7", profile
			}
			return history.Member{Device: d, Owner: catalog.Owner{Namespace: namespace, Pod: pod, Job: job}}
		}
		past := &populated{fakePast: f.past}
		f.history = past
		past.members = []history.Member{
			member("n2", "GPU-a", "", "lab", "train-1", ""), member("n2", "GPU-b", "", "lab", "train-0", ""),
			member("n3", "GPU-c", "1g.18gb", "web", "serve", ""), member("n4", "GPU-d", "", "", "", "4711"), member("n5", "GPU-e", "", "", "", ""),
		}
		end := time.Now().Add(-2 * time.Hour)
		before := fmt.Sprintf("&from=%d&to=%d", end.Add(-time.Hour).UnixMilli(), end.UnixMilli())
		for _, test := range []struct{ query, values string }{
			{"kind=namespace", "lab=lab web=web"},
			{"kind=pod", "train-0=lab / train-0 train-1=lab / train-1 serve=web / serve"},
			{"kind=pod&namespace=lab", "train-0=train-0 train-1=train-1"},
			{"kind=pod&search=RAIN", "train-0=lab / train-0 train-1=lab / train-1"},
			{"kind=job", "4711=4711"},
			{"kind=profile" + before, "1g.18gb=1g.18gb"},
			{"kind=node&namespace=lab", "n2=n2"},
			{"kind=node" + before, "n2=n2 n3=n3 n4=n4 n5=n5"},
			{"kind=gpu&pod=train-0" + before, "GPU-b=n2 · GPU 0 · H200"},
			{"query=" + url.QueryEscape(`pods(namespace="lab")`), "train-0=train-0 train-1=train-1"},
			{"query=" + url.QueryEscape(` pod ( namespace =~ "/la./" , node=n2 )`), "train-0=train-0 train-1=train-1"},
			{"query=profiles" + before, "1g.18gb=1g.18gb"},
		} {
			status, body := f.resource(t, http.MethodGet, "variables?"+test.query)
			var answer variablesAnswer
			if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d, %s", test.query, status, body)
			}
			var got []string
			for _, v := range answer.Values {
				got = append(got, v.Value+"="+v.Text)
			}
			if strings.Join(got, " ") != test.values {
				t.Errorf("%s:\n got %s\nwant %s", test.query, strings.Join(got, " "), test.values)
			}
		}
		if len(past.ranges) != 2 {
			t.Errorf("Prometheus was asked %d times for two ranges: %v", len(past.ranges), past.ranges)
		}
		time.Sleep(rosterAge)
		f.past.notices = []gpu.Notice{{Severity: gpu.Warning, Text: "endpoint b: refused"}}
		for range 2 {
			time.Sleep(partAge)
			if _, body := f.resource(t, http.MethodGet, "variables?kind=job"); !strings.Contains(body, "endpoint b: refused") {
				t.Errorf("got %s", body)
			}
		}
		if len(past.ranges) != 4 {
			t.Errorf("an answer that lacks a part was kept for long: %d", len(past.ranges))
		}
	})
}

func TestVariableQueryErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		for given, want := range map[string]string{
			"kind=node&from=yesterday":                           `parameter \"from\": \"yesterday\" is no time; write Unix milliseconds`,
			"kind=node&to=1000":                                  `parameter \"from\" must be before \"to\"`,
			"kind=node&from=2000&to=1000":                        `parameter \"from\" must be before \"to\"`,
			"query=racks":                                        `\"racks\" lists nothing: write clusters, nodes`,
			"query=" + url.QueryEscape("nodes(rack=1)"):          `is not name=value with one of the names cluster, node`,
			"query=" + url.QueryEscape("nodes(cluster=a"):        `has no closing bracket`,
			"query=" + url.QueryEscape(`nodes(cluster="a)`):      `the quotes of`,
			"query=" + url.QueryEscape(`nodes(cluster="a" "b")`): `a comma is missing before`,
		} {
			status, body := f.resource(t, http.MethodGet, "variables?"+given)
			if status != http.StatusBadRequest || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s", given, status, body)
			}
		}
	})
}

func FuzzShorthand(f *testing.F) {
	for _, seed := range []string{"nodes", `gpus(node="a b", cluster=x)`, "pods(", `pod(namespace="\"")`, "gpu(node=~$node)", "s", "(=,=)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, parents, err := parseShorthand(text)
		if err == nil && (kind == "" || parents == nil) {
			t.Errorf("%q is read as %q, %v", text, kind, parents)
		}
	})
}
