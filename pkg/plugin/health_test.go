package plugin

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

func (f *fleet) health(t *testing.T) (backend.HealthStatus, string, string) {
	t.Helper()
	began := time.Now()
	result, err := f.CheckHealth(t.Context(), &backend.CheckHealthRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > healthTimeout {
		t.Errorf("took %s", took)
	}
	var details struct{ Message, VerboseMessage string }
	if err := json.Unmarshal(result.JSONDetails, &details); err != nil {
		t.Fatal(err)
	}
	return result.Status, result.Message, details.VerboseMessage
}

func (f *fleet) healthDetails(t *testing.T) healthDetails {
	t.Helper()
	result, err := f.CheckHealth(t.Context(), &backend.CheckHealthRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var details healthDetails
	if err := json.Unmarshal(result.JSONDetails, &details); err != nil {
		t.Fatal(err)
	}
	return details
}

func TestCheckHealth(t *testing.T) {
	ok := history.EndpointStatus{ID: "north-a", Cluster: "north", Version: "3.8.0", Latency: 12 * time.Millisecond, Replica: true,
		Dialects: []string{"warpwatch", "dcgm"}, Hints: []string{"No exporter measures gpu_power_watts."}}
	failed := history.EndpointStatus{ID: "north-b", Cluster: "north", Err: errors.New("endpoint north-b: it refuses connections: check that it runs")}
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
		f.settings.Unknown = []string{"agents.alow"}
		f.past.status = []history.EndpointStatus{ok}
		time.Sleep(2 * time.Second)
		status, message, verbose := f.health(t)
		if want := "Prometheus north-a 3.8.0 ok (12 ms), agents 2/2 connected, 4 GPUs"; status != backend.HealthStatusOk || message != want {
			t.Errorf("%s: %q, want %q", status, message, want)
		}
		for _, part := range []string{"cluster north, a replica, metrics of warpwatch, dcgm\n", "north-a: No exporter measures gpu_power_watts.", "0.9.0 on 2 nodes", "agents.alow"} {
			if !strings.Contains(verbose, part) {
				t.Errorf("%q is not in %q", part, verbose)
			}
		}

		details := f.healthDetails(t)
		if got, want := details.Servers, []serverHealth{{ID: "north-a", Cluster: "north", Replica: true, Flavour: "Prometheus", Version: "3.8.0", LatencyMs: 12,
			Exporters: []string{"warpwatch", "dcgm"}, Next: []string{"No exporter measures gpu_power_watts."}}}; !reflect.DeepEqual(got, want) {
			t.Errorf("servers %+v, want %+v", got, want)
		}
		if a := details.Agents; a == nil || a.Known != 2 || a.Connected != 2 || a.GPUs != 4 || len(a.Tried) != 2 || a.Tried[0].Version != "0.9.0" || len(a.Notes) == 0 {
			t.Errorf("agents %+v", a)
		}

		f.agents[0].Stop()
		f.agents[1].Stop()
		f.past.status = []history.EndpointStatus{ok, failed}
		time.Sleep(time.Minute)
		status, message, verbose = f.health(t)
		if want := "Prometheus north-a 3.8.0 ok (12 ms), Prometheus north-b failed, agents 0/2 connected, 0 GPUs: endpoint north-b: it refuses connections: check that it runs"; status != backend.HealthStatusError || message != want {
			t.Errorf("%s: %q, want %q", status, message, want)
		}
		if got := f.healthDetails(t); len(got.Servers) != 2 || got.Servers[1].Error != failed.Err.Error() || got.Agents.Connected != 0 || got.Agents.Tried[0].Error == "" {
			t.Errorf("details of failures: %+v", got)
		}
		if !strings.Contains(verbose, "north-b") || !strings.Contains(verbose, "n1 (n1:9847)") {
			t.Errorf("details %q", verbose)
		}
	})
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		f.past.status = []history.EndpointStatus{ok}
		if status, message, verbose := f.health(t); status != backend.HealthStatusOk || !strings.HasSuffix(message, "no agents found") || !strings.Contains(verbose, "install warpwatch-agent") {
			t.Errorf("without agents: %s %q %q", status, message, verbose)
		}
		f.settings.Agents.Discovery = settings.DiscoverOff
		if status, message, _ := f.health(t); status != backend.HealthStatusOk || !strings.HasSuffix(message, "agents off") {
			t.Errorf("agents off: %s %q", status, message)
		}
		if got := f.healthDetails(t).Agents; got != nil {
			t.Errorf("agents off: %+v", got)
		}
	})
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.agents[0].Answer(agenttest.Silent)
		if status, message, _ := f.health(t); status != backend.HealthStatusError || !strings.HasPrefix(message, "agents 0/1 connected") {
			t.Errorf("a silent agent and nothing else: %s %q", status, message)
		}
	})
}
