package plugin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

func TestResourceMetrics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		status, body := f.resource(t, http.MethodGet, "metrics")
		var metrics []metricInfo
		if err := json.Unmarshal([]byte(body), &metrics); err != nil || status != http.StatusOK {
			t.Fatalf("%d, %v", status, err)
		}
		for _, m := range metrics {
			if m.Name == "" || m.Help == "" || !m.Unit.Valid() || len(m.Aggregations) == 0 {
				t.Errorf("incomplete: %+v", m)
			}
		}
		if len(metrics) != len(f.catalog.Metrics()) {
			t.Errorf("%d metrics", len(metrics))
		}
	})
}

func TestResourceVariables(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		device := func(cluster, node string, index int, uuid, mig string) gpu.Device {
			d := gpu.Device{Identity: gpu.Identity{Cluster: cluster, Node: node, UUID: uuid, GPUInstance: mig}, Index: index, Model: "NVIDIA H200"}
			if mig != "" {
				d.MIGProfile = "1g.18gb"
			}
			return d
		}
		odd := device("south", `ru"n 1`, 0, "GPU-z", "")
		odd.Model = "NVIDIA-L40S"
		f.past.devices = []gpu.Device{
			device("north", "n2", 10, "GPU-a", ""), device("north", "n2", 9, "GPU-b", ""), device("north", "n1", 0, "GPU-c", ""),
			device("north", "n1", 0, "GPU-c", "7"), device("north", "n1", 0, "GPU-c", "11"), odd,
		}
		for _, test := range []struct{ query, values string }{
			{"kind=cluster", "north=north south=south"},
			{"kind=node", `n1=n1 n2=n2 ru"n 1=ru"n 1`},
			{"kind=node&cluster=north", "n1=n1 n2=n2"},
			{"kind=node&cluster=" + url.QueryEscape("$__all"), `n1=n1 n2=n2 ru"n 1=ru"n 1`},
			{"kind=node&cluster=" + url.QueryEscape("/no.*/"), "n1=n1 n2=n2"},
			{"kind=gpu&cluster=north", "GPU-c=n1 · GPU 0 · H200 GPU-b=n2 · GPU 9 · H200 GPU-a=n2 · GPU 10 · H200"},
			{"kind=gpu&node=n1&node=" + url.QueryEscape(`ru"n 1`), `GPU-c=north · n1 · GPU 0 · H200 GPU-z=south · ru"n 1 · GPU 0 · L40S`},
			{"kind=mig", "GPU-c/7=n1 · GPU 0 · MIG 1g.18gb #7 GPU-c/11=n1 · GPU 0 · MIG 1g.18gb #11"},
			{"kind=mig&gpu=GPU-a", ""},
			{"kind=model", "NVIDIA H200=H200 NVIDIA-L40S=L40S"},
		} {
			status, body := f.resource(t, http.MethodGet, "variables?"+test.query)
			var answer variablesAnswer
			if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d, %v", test.query, status, err)
			}
			var got []string
			for _, v := range answer.Values {
				got = append(got, v.Value+"="+v.Text)
			}
			// The names of MIG instances begin with their cluster only where there are several.
			if strings.ReplaceAll(strings.Join(got, " "), "north · n1 · GPU 0 · MIG", "n1 · GPU 0 · MIG") != test.values {
				t.Errorf("%s:\n got %s\nwant %s", test.query, strings.Join(got, " "), test.values)
			}
			if !strings.Contains(body, `"values":[`) || !strings.Contains(body, `"notices":[`) {
				t.Errorf("%s: a list is null: %s", test.query, body)
			}
		}
		for i := range 6000 {
			f.past.devices = append(f.past.devices, device("north", fmt.Sprintf("x%d", i), 0, "GPU", ""))
		}
		if _, body := f.resource(t, http.MethodGet, "variables?kind=node"); !strings.Contains(body, "Showing 1000 of 6003 choices") {
			t.Error("a long list is not cut")
		}
	})
}

// Without Prometheus the agents say what there is.
func TestResourceVariablesFromAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"})
		f.past.devices, f.past.notices = nil, []gpu.Notice{{Severity: gpu.Warning, Text: "endpoint a: refused"}}
		_, body := f.resource(t, http.MethodGet, "variables?kind=gpu")
		if !strings.Contains(body, `{"value":"GPU-n1-1","text":"n1 · GPU 1 · H200"}`) || !strings.Contains(body, `{"severity":"warning","text":"endpoint a: refused"}`) {
			t.Errorf("got %s", body)
		}
	})
}

func TestResourceAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t, agenttest.Options{Node: "n1"}, agenttest.Options{Node: "n2"})
		f.agents[1].Answer(agenttest.Unauthorized)
		f.frames(t, time.Minute, metricQuery())
		status, body := f.resource(t, http.MethodGet, "agents")
		var agents []agentInfo
		if err := json.Unmarshal([]byte(body), &agents); err != nil || status != http.StatusOK || len(agents) != 2 {
			t.Fatalf("%d %s: %v", status, body, err)
		}
		if a := agents[0]; a.State != "connected" || a.Devices != 2 || a.PeriodMs != 1000 || a.Version != "0.9.0" || a.Address != "n1:9847" || a.Error != "" || a.Since == nil {
			t.Errorf("first %+v", a)
		}
		if a := agents[1]; a.State != "refused" || !strings.Contains(a.Error, "credentials") {
			t.Errorf("second %+v", a)
		}
	})
}

// What is asked for wrongly gets a JSON error that says how to ask.
func TestResourceErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		for _, test := range []struct {
			method, url, body string
			status            int
		}{
			{http.MethodGet, "nothing", "metrics, variables, agents, coverage and rules", http.StatusNotFound},
			{http.MethodGet, "metrics/x", "metrics, variables, agents, coverage and rules", http.StatusNotFound},
			{http.MethodPost, "metrics", "only GET", http.StatusMethodNotAllowed},
			{http.MethodGet, "variables", `kind \"\" is not known: use one of cluster, node, gpu, mig, model, profile, namespace, pod, job`, http.StatusBadRequest},
			{http.MethodGet, "variables?kind=rack", `kind \"rack\"`, http.StatusBadRequest},
			{http.MethodGet, "variables?kind=node&rack=1", `parameter \"rack\"`, http.StatusBadRequest},
			{http.MethodGet, "variables?kind=node&cluster=" + url.QueryEscape("/(/"), "clusters", http.StatusBadRequest},
		} {
			status, body := f.resource(t, test.method, test.url)
			var got errorBody
			if err := json.Unmarshal([]byte(body), &got); err != nil || got.Error == "" || status != test.status || !strings.Contains(body, test.body) {
				t.Errorf("%s %s: %d %s", test.method, test.url, status, body)
			}
		}
	})
}
