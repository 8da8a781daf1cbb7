package query

import (
	"testing"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestScopeMatches(t *testing.T) {
	device := gpu.Device{
		Identity: gpu.Identity{Cluster: "north", Node: "gpu-01", UUID: "GPU-1"}, Model: "NVIDIA H100 80GB HBM3",
	}
	mig := device
	mig.GPUInstance = "7"
	for _, tc := range []struct {
		name       string
		scope      Scope
		whole, mig bool
	}{
		{"empty", Scope{}, true, true},
		{"cluster", Scope{Clusters: []string{"north"}}, true, true},
		{"other cluster", Scope{Clusters: []string{"south"}}, false, false},
		{"node", Scope{Nodes: []string{"gpu-02", "gpu-01"}}, true, true},
		{"expression", Scope{Nodes: []string{"/gpu-0[12]/"}}, true, true},
		{"expression matches the whole value", Scope{Nodes: []string{"/gpu/"}}, false, false},
		{"alternatives are anchored too", Scope{Nodes: []string{"/gpu-0|x/"}}, false, false},
		{"exact value is no expression", Scope{Nodes: []string{"gpu-.."}}, false, false},
		{"GPU selects its instances", Scope{GPUs: []string{"GPU-1"}}, true, true},
		{"MIG instance", Scope{MIGs: []string{"GPU-1/7"}}, false, true},
		{"other instance", Scope{MIGs: []string{"GPU-1/8"}}, false, false},
		{"instance expression", Scope{MIGs: []string{"/GPU-1/.*/"}}, false, true},
		{"model", Scope{Models: []string{"NVIDIA H100 80GB HBM3"}}, true, true},
		{"model with dashes", Scope{Models: []string{"NVIDIA-H100-80GB-HBM3"}}, true, true},
		{"short model", Scope{Models: []string{"H100 80GB HBM3"}}, true, true},
		{"model expression", Scope{Models: []string{"/H100.*/"}}, true, true},
		{"other model", Scope{Models: []string{"H200"}}, false, false},
		{"every list must match", Scope{Nodes: []string{"gpu-01"}, GPUs: []string{"GPU-2"}}, false, false},
		{"broken expression selects nothing", Scope{Nodes: []string{"/[/"}}, false, false},
	} {
		if got := tc.scope.Matches(device); got != tc.whole {
			t.Errorf("%s: whole GPU: %v", tc.name, got)
		}
		if compiled, err := tc.scope.Compile(); err == nil && compiled.Matches(mig) != tc.mig {
			t.Errorf("%s: instance: %v", tc.name, !tc.mig)
		}
	}
}

func TestScopeMatchesOwner(t *testing.T) {
	for _, tc := range []struct {
		scope               Scope
		namespace, pod, job string
		want                bool
	}{
		{Scope{}, "", "", "", true},
		{Scope{Namespaces: []string{"lab"}}, "lab", "p", "", true},
		{Scope{Namespaces: []string{"lab"}}, "", "", "", false},
		{Scope{Namespaces: []string{"/.*/"}}, "", "", "", false}, // an expression does not select what has no owner
		{Scope{Namespaces: []string{Unassigned}}, "", "", "", true},
		{Scope{Namespaces: []string{Unassigned}}, "lab", "", "", false},
		{Scope{Namespaces: []string{Unassigned, "lab"}}, "lab", "", "", true},
		{Scope{Pods: []string{"/train-.*/"}, Jobs: []string{"7"}}, "lab", "train-0", "7", true},
		{Scope{Pods: []string{"/train-.*/"}, Jobs: []string{"7"}}, "lab", "train-0", "8", false},
	} {
		if got := tc.scope.MatchesOwner(tc.namespace, tc.pod, tc.job); got != tc.want {
			t.Errorf("%+v of %s/%s/%s: %v", tc.scope, tc.namespace, tc.pod, tc.job, got)
		}
	}
}

func TestScopeMatchesNode(t *testing.T) {
	s := Scope{Clusters: []string{"north"}, Nodes: []string{"/gpu-.*/"}, GPUs: []string{"GPU-1"}}
	if !s.MatchesNode("north", "gpu-01") || s.MatchesNode("south", "gpu-01") || s.MatchesNode("north", "cpu-01") {
		t.Error("MatchesNode must look at clusters and nodes")
	}
}
