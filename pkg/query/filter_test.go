package query

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestFiltersAreRead(t *testing.T) {
	q := mustParse(t, `{"expr":"up","adhocFilters":[
		{"key":"node","operator":"=|","value":"a","values":["b","a","b"],"condition":"","origin":"dashboard"},
		{"key":"pod","operator":"=~","value":"train-.*"},
		{"key":"job","value":"x"},
		{"key":"rack","operator":"!=","value":""},
		{"key":"model","operator":"!=|","values":["only one"]},
		{"key":"","operator":"=","value":"x"},
		{"key":"unfinished","operator":"=|"},
		{"key":"everything","operator":"=~","value":"$__all"}]}`, TypePromQL)
	require.Equal(t, []Filter{
		{"job", "=", []string{"x"}}, {"model", "!=", []string{"only one"}}, {"node", "=|", []string{"a", "b"}},
		{"pod", "=~", []string{"train-.*"}}, {"rack", "!=", []string{""}},
	}, q.Filters)
}

func TestFiltersSayWhatToChange(t *testing.T) {
	for raw, want := range map[string]string{
		`"x"`:      `field "adhocFilters": must be a list of filters, like [{"key": "node", "operator": "=", "value": "gpu-01"}]`,
		`["node"]`: `field "adhocFilters": "node" is no filter; write {"key": "node", "operator": "=", "value": "gpu-01"}`,
		`[{"key":"node","operator":">","value":"1"}]`: `field "adhocFilters": operator ">" of "node" is not known; use =, !=, =~, !~, =| or !=|`,
		`[{"key":"node","operator":"=~","value":"["}]`: "field \"adhocFilters\": node: \"[\" is not a regular expression: error parsing regexp: " +
			"missing closing ]: `[`",
		`[{"key":"rack","operator":"=","value":"r1"}]`: `field "adhocFilters": "rack" is no dimension of GPUs, so only PromQL queries can be ` +
			`filtered by it; use cluster, node, gpu, gpu_uuid, model, mig_id, mig_profile, namespace, pod or job`,
	} {
		_, err := Parse(json.RawMessage(`{"metric":"x","adhocFilters":`+raw+`}`), TypeMetric)
		require.EqualError(t, err, want, raw)
	}
}

func TestFiltersOfMetricsBecomeTheScope(t *testing.T) {
	q := mustParse(t, `{"metric":"x","gpus":["GPU-1"],"adhocFilters":[
		{"key":"Hostname","operator":"=","value":"a"},{"key":"exported_pod","operator":"=~","value":"p.*"},
		{"key":"UUID","operator":"=","value":"GPU-2"},{"key":"model","operator":"!=","value":"H200"}]}`, TypeMetric)
	same := mustParse(t, `{"metric":"x","gpus":["GPU-1"],"nodes":["a"],"pods":["/p.*/"],"adhocFilters":[
		{"key":"model","operator":"!=","value":"H200"},{"key":"UUID","operator":"=","value":"GPU-2"}]}`, TypeMetric)
	require.Equal(t, string(same.Canonical()), string(q.Canonical()))
	require.Equal(t, `nodes a; GPUs GPU-1; pods /p.*/; UUID = "GPU-2"; model != "H200"`, q.Scope.String())
}

func TestFiltersOfMetricsSelectDevices(t *testing.T) {
	device := gpu.Device{
		Identity: gpu.Identity{Cluster: "north", Node: "gpu-01", UUID: "GPU-1"}, Model: "NVIDIA H100 80GB HBM3", Index: 3,
	}
	for filter, want := range map[string]bool{
		`"key":"node","operator":"=","value":"gpu-01"`:                       true,
		`"key":"node","operator":"!=","value":"gpu-01"`:                      false,
		`"key":"node","operator":"!~","value":"gpu"`:                         true, // the whole value
		`"key":"node","operator":"!~","value":"gpu.*"`:                       false,
		`"key":"node","operator":"=","value":"/gpu.*/"`:                      false, // an exact value
		`"key":"cluster","operator":"!=|","values":["north","south"]`:        false,
		`"key":"gpu","operator":"=|","values":["3","4"]`:                     true,
		`"key":"gpu","operator":"=","value":"4"`:                             false,
		`"key":"model","operator":"=","value":"H100 80GB HBM3"`:              true,
		`"key":"model","operator":"!=","value":"H100 80GB HBM3"`:             false,
		`"key":"model","operator":"!=","value":"NVIDIA H100 80GB HBM3"`:      false,
		`"key":"model","operator":"!=","value":"H200"`:                       true,
		`"key":"mig_id","operator":"=","value":""`:                           true, // a whole GPU has none
		`"key":"mig_id","operator":"!=","value":""`:                          false,
		`"key":"mig_profile","operator":"=~","value":"1g.*"`:                 false,
		`"key":"gpu_uuid","operator":"=|","values":["GPU-1","GPU-2","/x/"]`:  true,
		`"key":"gpu_uuid","operator":"!=|","values":["GPU-1","GPU-2","/x/"]`: false,
	} {
		q := mustParse(t, `{"metric":"x","adhocFilters":[{`+filter+`}]}`, TypeMetric)
		require.Equal(t, want, q.Scope.Matches(device), filter)
	}
}

func TestFiltersOfMetricsSelectPlacesAndOwners(t *testing.T) {
	q := mustParse(t, `{"metric":"x","adhocFilters":[
		{"key":"cluster","operator":"!=","value":"south"},{"key":"node","operator":"!~","value":"cpu.*"},
		{"key":"pod","operator":"!=","value":""},{"key":"job","operator":"=","value":""}]}`, TypeMetric)
	require.True(t, q.Scope.MatchesCluster("north"))
	require.False(t, q.Scope.MatchesCluster("south"))
	require.True(t, q.Scope.MatchesNode("north", "gpu-01"))
	require.False(t, q.Scope.MatchesNode("north", "cpu-01"))
	require.True(t, q.Scope.ByOwner())
	require.True(t, q.Scope.MatchesOwner("lab", "p", ""))
	require.False(t, q.Scope.MatchesOwner("lab", "", ""))
	require.False(t, q.Scope.MatchesOwner("lab", "p", "7"))
}
