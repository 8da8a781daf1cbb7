package fuzz

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// What comes from outside has a fuzz target.
func TestEveryInputIsFuzzed(t *testing.T) {
	targets, err := Targets("../..")
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]Target{
		"settings":                              {"./pkg/settings", "FuzzParse"},
		"a file of file_sd_configs":             {"./pkg/settings", "FuzzAgentFile"},
		"exporters that users describe":         {"./pkg/catalog", "FuzzParseDialects"},
		"a query":                               {"./pkg/query", "FuzzParse"},
		"PromQL with macros":                    {"./pkg/query", "FuzzExpand"},
		"PromQL":                                {"./pkg/query", "FuzzPrepare"},
		"a channel":                             {"./pkg/plugin", "FuzzParseChannel"},
		"a channel that runs":                   {"./pkg/plugin", "FuzzRunChannel"},
		"the shorthand of variables":            {"./pkg/plugin", "FuzzShorthand"},
		"a range of Prometheus":                 {"./pkg/history", "FuzzDecode"},
		"an instant of Prometheus":              {"./pkg/history", "FuzzInstant"},
		"what a shared cache holds":             {"./pkg/history", "FuzzDecodeSlab"},
		"a baseline of a shared cache":          {"./pkg/insight/anomaly", "FuzzStoredBaseline"},
		"Alertmanager":                          {"./pkg/alerts", "FuzzDecode"},
		"messages of agents":                    {"./pkg/wire", "FuzzDecode"},
		"a session of an agent":                 {"./pkg/live", "FuzzSession"},
		"frames of WebSockets":                  {"./pkg/live", "FuzzSocket"},
		"names of DNS":                          {"./pkg/live", "FuzzFindByDNSName"},
		"names in the allow-list":               {"./pkg/live", "FuzzAllowListName"},
		"requests to the agent":                 {"./node-agent/internal/server", "FuzzRequest"},
		"parameters of requests to the agent":   {"./node-agent/internal/server", "FuzzQuery"},
		"the agent's configuration":             {"./node-agent/internal/config", "FuzzParseFile"},
		"metrics that workloads send":           {"./node-agent/internal/workload/otlp", "FuzzHandler"},
		"metrics that workloads write, as text": {"./node-agent/internal/workload/textfile", "FuzzParse"},
		"a Redfish service":                     {"./node-agent/internal/redfish", "FuzzWalk"},
		"the kernel's log":                      {"./node-agent/internal/kernlog", "FuzzRecord"},
		"job files":                             {"./node-agent/internal/attribute/slurm", "FuzzJobFile"},
		"the kubelet":                           {"./node-agent/internal/attribute/kubelet", "FuzzNames"},
	} {
		if !slices.Contains(targets, want) {
			t.Errorf("%s is not fuzzed: %s %s is not there", input, want.Package, want.Name)
		}
	}
	for _, target := range targets {
		if strings.Contains(target.Package, "node_modules") || strings.HasPrefix(target.Package, "./tools") {
			t.Errorf("%v is of another module", target)
		}
	}
}

func TestTime(t *testing.T) {
	for text, want := range map[string]time.Duration{"": time.Minute, "20s": 20 * time.Second} {
		if got, err := Time(text); err != nil || got != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "-1s", "soon"} {
		if _, err := Time(text); err == nil || !strings.Contains(err.Error(), "FUZZ_TIME") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
