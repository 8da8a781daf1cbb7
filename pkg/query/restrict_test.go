package query

import (
	"encoding/json"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

func restricted(t *testing.T, expr, scope string) Prepared {
	t.Helper()
	raw, err := json.Marshal(expr)
	require.NoError(t, err)
	return prepared(t, `{"expr":`+string(raw)+`,"injectScope":true,`+scope+`}`)
}

// What is in a comment neither places the scope nor is a mistake.
func TestMacrosInCommentsAreNone(t *testing.T) {
	const want = `gpu_power_watts{node=~"n1"}`
	for _, expr := range []string{
		"gpu_power_watts # $__gpu_filter", "# use $__gpu_filter and $__nothing\ngpu_power_watts", "gpu_power_watts # ${__gpu_filter} ' \"",
	} {
		require.Equal(t, want, restricted(t, expr, `"nodes":["n1"]`).Text)
	}
	text, err := macros(t, Scope{}).Expand("x{a=\"#\"} # $__interval \"\n+ y[$__interval] `# \n` + $__range_s")
	require.NoError(t, err)
	require.Equal(t, "x{a=\"#\"} # $__interval \"\n+ y[1m] `# \n` + 3600", text)
}

// Others name series like ours. Matchers for labels that they do not have would leave an empty panel without a word.
func TestOnlySeriesOfKnownGPUsAreRestricted(t *testing.T) {
	for _, name := range []string{
		"gpu_power_usage", "gpu_edge_temperature", "gpu_used_vram", "amd_gpu_power_usage", "container_gpu_memory_used_bytes", "igpu_power_watts",
		"nvidia_gpu_duty_cycle", "node_drm_gpu_busy_percent", "mysql_used_percentage", "cpu_mhz", "disk_mib", "irq_hw_errors_total",
		"vllm:num_requests_running", "serve_requests_running", "gpu:power_watts:sum_by_job", "gpu:power_watts:avg_by_cluster",
	} {
		p := restricted(t, name, `"nodes":["n1"]`)
		require.Equal(t, name, p.Text)
		require.Contains(t, p.Notices[len(p.Notices)-1].Text, "not known to be series of GPUs: "+name+".")
	}
	for _, name := range []string{
		"gpu_power_watts", "gpu_power_window_max_watts", "gpu_clock_event_reasons_window", "gpu_info", "gpu_owner_info", "gpu_events_total",
		"gpu:power_watts:max_by_device", "gpu:power_watts:sum_by_node",
	} {
		require.Equal(t, name+`{node=~"n1"}`, restricted(t, name, `"nodes":["n1"]`).Text)
	}
	require.Equal(t, `gpu_memory_used_MiB{hostname=~"n1"}`, restricted(t, "gpu_memory_used_MiB", `"nodes":["n1"]`).Text)
	require.Equal(t, `my_DCGM_FI_DEV_NEW{Hostname=~"n1|",hostname=~"n1|"}`, restricted(t, "my_DCGM_FI_DEV_NEW", `"nodes":["n1"]`).Text)
	// What a node's rule does not tell apart.
	require.Equal(t, "gpu:power_watts:sum_by_node", restricted(t, "gpu:power_watts:sum_by_node", `"gpus":["GPU-1"]`).Text)
	require.Equal(t, `gpu:power_watts:max_by_device{gpu_uuid=~"GPU-1"}`, restricted(t, "gpu:power_watts:max_by_device", `"gpus":["GPU-1"]`).Text)
}

func TestInstancesOfSeveralGPUsAreNotMixed(t *testing.T) {
	require.Equal(t, `(gpu_sm_active_ratio{gpu_uuid=~"GPU-1|GPU-3",mig_id=~"7|7"} or gpu_sm_active_ratio{gpu_uuid=~"GPU-2",mig_id=~"8"})`,
		restricted(t, "gpu_sm_active_ratio", `"migs":["GPU-1/7","GPU-2/8","GPU-3/7"]`).Text)
	require.Equal(t, `gpu_sm_active_ratio{gpu_uuid=~"GPU-1",gpu_uuid=~"GPU-1|GPU-2",mig_id=~"7"}`,
		restricted(t, "gpu_sm_active_ratio", `"migs":["GPU-1/7"],"gpus":["GPU-1","GPU-2"]`).Text)
	require.Equal(t, `gpu_sm_active_ratio`, restricted(t, "gpu_sm_active_ratio", `"migs":["/GPU-1/.*/"]`).Text)
}

// The flags of one regular expression do not reach the next, and the node that is added to a UUID is in no label.
func TestRegularExpressionsOfAScopeAreOnTheirOwn(t *testing.T) {
	require.Equal(t, `gpu_power_watts{model=~"(?:(?i)h100)|(?:.*[ -])?A100"}`, restricted(t, "gpu_power_watts", `"models":["/(?i)h100/","A100"]`).Text)
	require.Equal(t, `gpu_power_watts{gpu_uuid=~"(?:(?i)gpu-1)|GPU-2"}`, restricted(t, "gpu_power_watts", `"gpus":["/(?i)gpu-1/","GPU-2"]`).Text)
	require.Equal(t, `gpu_power_watts{gpu_uuid=~"gpu0"}`, restricted(t, "gpu_power_watts", `"gpus":["gpu0@n1"]`).Text)
}

func TestAFilterOfSeveralValuesKeepsTheEmptyOne(t *testing.T) {
	for operator, want := range map[string]string{"=|": `up{pod=~"a|b|"}`, "!=|": `up{pod!~"a|b|"}`} {
		require.Equal(t, want, prepared(t, `{"expr":"up","adhocFilters":[{"key":"pod","operator":"`+operator+`","values":["","b","a"]}]}`).Text)
	}
}

// Nodes whose host label is of no use are called by their address, and are found by it.
func TestNodesAreFoundByTheirAddress(t *testing.T) {
	text := restricted(t, "DCGM_FI_DEV_GPU_UTIL", `"nodes":["10.9.0.11","n1"]`).Text
	for host, want := range map[string]bool{"n1": true, "n2": false, "localhost": false, "": false, "dcgm-exporter-zz9x1": false, "10.9.0.11": true} {
		for _, address := range []string{"10.9.0.11:9400", "10.9.0.12:9400"} {
			for _, label := range []string{"hostname", "Hostname"} {
				atAddress := address == "10.9.0.11:9400" && host != "n2"
				require.Equal(t, want || atAddress, selects(t, text, map[string]string{label: host, "instance": address}), "%s=%s at %s: %s", label, host, address, text)
			}
		}
	}
	require.Equal(t, `gpu_power_watts{node=~"n1"}`, restricted(t, "gpu_power_watts", `"nodes":["n1"]`).Text)
}

// selects reports whether one of an expression's selectors takes a series.
func selects(t *testing.T, text string, series map[string]string) bool {
	t.Helper()
	expr, err := parsePromQL(text)
	require.NoError(t, err)
	found := false
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			all := true
			for _, m := range selector.LabelMatchers {
				all = all && (m.Name == "__name__" || m.Matches(series[m.Name]))
			}
			found = found || all
		}
		return nil
	})
	return found
}

// A dashboard's filter for what nobody has says so as a scope does.
func TestFiltersKnowTheUnassigned(t *testing.T) {
	for filter, want := range map[string][2]bool{ // of nobody's device, of p's
		`"operator":"=","value":"unassigned"`:          {true, false},
		`"operator":"!=","value":"unassigned"`:         {false, true},
		`"operator":"=|","values":["unassigned","p"]`:  {true, true},
		`"operator":"=|","values":["unassigned","q"]`:  {true, false},
		`"operator":"!=|","values":["unassigned","q"]`: {false, true},
	} {
		q := mustParse(t, `{"metric":"gpu_power_watts","adhocFilters":[{"key":"pod",`+filter+`}]}`, TypeMetric)
		require.Equal(t, want, [2]bool{q.Scope.MatchesOwner("", "", ""), q.Scope.MatchesOwner("lab", "p", "")}, filter)
	}
}
