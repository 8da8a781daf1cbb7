package plugin

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// found is what a finder of the settings knows, each target with its scheme.
func found(t *testing.T, f *live.Finder, agents settings.Agents) ([]live.Target, []gpu.Notice, error) {
	t.Helper()
	targets, notices, err := f.Targets(t.Context())
	return schemes(agents, nil, targets), notices, err
}

func TestDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lister := &listed{agents: []history.Agent{
			{Cluster: "north", Node: "n1", Address: "n1:9847", Scheme: "http"}, {Cluster: "north", Node: "n2", Address: "n2:9847", Scheme: "gopher"},
		}}
		agents := settings.Agents{
			Discovery: settings.DiscoverPrometheus, Access: settings.Access{Scheme: "https"},
			Static: []settings.StaticAgent{{Cluster: "south", Address: "s1:9847"}},
			Files:  []settings.AgentFile{{Name: "racks", Agents: []settings.StaticAgent{{Node: "n2", Address: "n2:9847", Scheme: "http"}}}},
		}
		f := live.NewFinder(sources(agents, lister, nil))
		defer f.Close()
		want := []live.Target{
			{Cluster: "south", Address: "s1:9847", Scheme: "https", Found: "static"},
			{Cluster: "north", Node: "n2", Address: "n2:9847", Scheme: "http", Found: "racks, prometheus"},
			{Cluster: "north", Node: "n1", Address: "n1:9847", Scheme: "http", Found: "prometheus"},
		}
		check := func(what string, want []live.Target, wantNotices int) {
			t.Helper()
			time.Sleep(prometheusEvery)
			got, notices, err := found(t, f, agents)
			if err != nil || !reflect.DeepEqual(got, want) || len(notices) != wantNotices {
				t.Errorf("%s: %v, %v, %v", what, got, notices, err)
			}
		}
		check("at first", want, 0)
		lister.agents, lister.notices = lister.agents[:1], []gpu.Notice{{Severity: gpu.Warning, Text: "north-b: refused"}}
		want[1].Cluster, want[1].Found = "", "racks"
		check("a server down", want, 1)
		lister.agents, lister.notices = nil, nil
		check("agents gone", want[:2], 0)
	})
	synctest.Test(t, func(t *testing.T) {
		lister := &listed{notices: []gpu.Notice{{Severity: gpu.Warning, Text: "north-b: refused"}}}
		agents := settings.Agents{Discovery: settings.DiscoverPrometheus}
		f := live.NewFinder(sources(agents, lister, nil))
		defer f.Close()
		if _, _, err := found(t, f, agents); err == nil || !strings.Contains(err.Error(), "north-b: refused") {
			t.Errorf("nothing known: %v", err)
		}
	})
	if list := sources(settings.Agents{Discovery: settings.DiscoverOff, Static: []settings.StaticAgent{{Address: "a:1"}}}, nil, nil); len(list) > 0 {
		t.Errorf("off: %v", list)
	}
	if list := sources(settings.Agents{Discovery: settings.DiscoverStatic, DNS: []settings.DNSName{{Name: "dnssrv+_a.b"}}}, nil, nil); len(list) != 1 || list[0].Name != "dnssrv+_a.b" {
		t.Errorf("static: %v", list)
	}
}

// A group's scheme is not a label's to change.
func TestSchemesOfGroups(t *testing.T) {
	dmz, err := live.ParseAllowList([]string{"*.dmz.test"})
	if err != nil {
		t.Fatal(err)
	}
	everywhere, err := live.ParseAllowList([]string{"*"})
	if err != nil {
		t.Fatal(err)
	}
	agents := settings.Agents{Access: settings.Access{Scheme: "http"}, Groups: []settings.AgentGroup{{Access: settings.Access{Scheme: "https"}}, {}}}
	got := schemes(agents, []live.Group{{Hosts: dmz}, {Hosts: everywhere}}, []live.Target{
		{Address: "a.dmz.test:1", Scheme: "http"}, {Address: "b:1", Scheme: "https"}, {Address: "b:1"}, {Address: "bad"},
	})
	for i, want := range []string{"https", "https", "http", "http"} {
		if got[i].Scheme != want {
			t.Errorf("%v, want %s", got[i], want)
		}
	}
}

func TestScrapedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := scraped(&listed{})(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
