package plugin

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

type listed struct {
	agents  []history.Agent
	notices []gpu.Notice
}

func (l *listed) Agents(context.Context) ([]history.Agent, []gpu.Notice) { return l.agents, l.notices }

func TestDiscovery(t *testing.T) {
	lister := &listed{agents: []history.Agent{
		{Cluster: "north", Node: "n1", Address: "n1:9847", Scheme: "http"}, {Cluster: "north", Node: "n2", Address: "n2:9847", Scheme: "gopher"},
	}}
	d := &discovery{lister: lister, agents: settings.Agents{
		Discovery: settings.DiscoverPrometheus, Scheme: "https", Static: []settings.StaticAgent{{Cluster: "south", Address: "s1:9847"}},
	}}
	want := []live.Target{
		{Cluster: "south", Address: "s1:9847", Scheme: "https"},
		{Cluster: "north", Node: "n1", Address: "n1:9847", Scheme: "http"}, {Cluster: "north", Node: "n2", Address: "n2:9847", Scheme: "https"},
	}
	check := func(what string, want []live.Target, wantNotices int) {
		t.Helper()
		got, notices, err := d.targets(t.Context())
		if err != nil || !reflect.DeepEqual(got, want) || len(notices) != wantNotices {
			t.Errorf("%s: %v, %v, %v", what, got, notices, err)
		}
	}
	check("at first", want, 0)

	lister.agents, lister.notices = lister.agents[:1], []gpu.Notice{{Severity: gpu.Warning, Text: "north-b: refused"}}
	check("a server down", want[:2], 1)
	lister.agents, lister.notices = nil, nil
	check("agents gone", want[:1], 0)

	d.agents.Discovery = settings.DiscoverStatic
	check("static", want[:1], 0)
	d.agents.Discovery = settings.DiscoverOff
	check("off", nil, 0)

	d.agents.Discovery, d.agents.Static = settings.DiscoverPrometheus, nil
	lister.notices = []gpu.Notice{{Severity: gpu.Warning, Text: "north-b: refused"}}
	if _, _, err := d.targets(t.Context()); err == nil || !strings.Contains(err.Error(), "north-b: refused") {
		t.Errorf("nothing known: %v", err)
	}
}
