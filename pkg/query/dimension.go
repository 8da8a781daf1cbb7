package query

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// dimension is what an ad-hoc filter may compare of a device or of its owner.
type dimension string

const (
	dimCluster    dimension = "cluster"
	dimNode       dimension = "node"
	dimIndex      dimension = "gpu"
	dimUUID       dimension = "gpu_uuid"
	dimModel      dimension = "model"
	dimMIG        dimension = "mig_id"
	dimMIGProfile dimension = "mig_profile"
	dimNamespace  dimension = "namespace"
	dimPod        dimension = "pod"
	dimJob        dimension = "job"
)

// dimensions in the order that messages list them, each with the words that exporters have for it, in lower case. "gpu" is
// the index in all of them.
func dimensions() []struct {
	dimension
	words string
} {
	return []struct {
		dimension
		words string
	}{
		{dimCluster, "cluster"},
		{dimNode, "node hostname kubernetes_node nodename k8s.node.name k8s_node_name host.name host"},
		{dimIndex, "gpu index minor_number"},
		{dimUUID, "gpu_uuid uuid gpu.uuid"},
		{dimModel, "model modelname model_name gpu_name"},
		{dimMIG, "mig_id gpu_i_id gpu_instance_id"},
		{dimMIGProfile, "mig_profile gpu_i_profile"},
		{dimNamespace, "namespace exported_namespace pod_namespace"},
		{dimPod, "pod exported_pod pod_name"},
		{dimJob, "job hpc_job slurm_job_id slurm_job"},
	}
}

// dimensionOf finds the dimension that a label names.
func dimensionOf(key string) (dimension, error) {
	var names []string
	for _, d := range dimensions() {
		for word := range strings.FieldsSeq(d.words) {
			if strings.EqualFold(word, key) {
				return d.dimension, nil
			}
		}
		names = append(names, string(d.dimension))
	}
	return "", fmt.Errorf(`field "adhocFilters": %q is no dimension of GPUs, so only PromQL queries can be filtered by it; use %s`, shorten(key), oneOf(names))
}

// condition is a filter on a dimension, ready to be checked.
type condition struct {
	dimension
	filter Filter
	re     *regexp.Regexp
}

// match compares a value; a model goes by its full and its short name.
func (c condition) match(value string) bool {
	matches := c.filter.matches(value, c.re)
	if c.dimension != dimModel || matches != c.filter.negative() {
		return matches
	}
	return c.filter.matches(gpu.ShortModel(value), c.re)
}

func compileFilters(filters []Filter) ([]condition, error) {
	var conditions []condition
	for _, f := range filters {
		d, err := dimensionOf(f.Key)
		if err != nil {
			return nil, err
		}
		re, err := f.compile()
		if err != nil {
			return nil, fmt.Errorf(`field "adhocFilters": %s: %w`, shorten(f.Key), err)
		}
		conditions = append(conditions, condition{d, f, re})
	}
	return conditions, nil
}

// ofOwner reports whether the dimension belongs to who has the device and not to the device.
func (d dimension) ofOwner() bool { return d == dimNamespace || d == dimPod || d == dimJob }

// of is a device's value of a dimension, "" when it has none; false for a dimension of owners.
func (d dimension) of(device gpu.Device) (string, bool) {
	switch d {
	case dimCluster:
		return device.Cluster, true
	case dimNode:
		return device.Node, true
	case dimIndex:
		if device.Index < 0 {
			return "", true
		}
		return strconv.Itoa(device.Index), true
	case dimUUID:
		return device.UUID, true
	case dimModel:
		return device.Model, true
	case dimMIG:
		return device.GPUInstance, true
	case dimMIGProfile:
		return device.MIGProfile, true
	}
	return "", false
}

// matchDevice reports whether a device fulfils the conditions that are about devices.
func matchDevice(conditions []condition, device gpu.Device) bool {
	for _, c := range conditions {
		if value, ok := c.of(device); ok && !c.match(value) {
			return false
		}
	}
	return true
}

// matchPlace reports whether devices at a place may fulfil the conditions. An empty node stands for a whole cluster.
func matchPlace(conditions []condition, cluster, node string) bool {
	for _, c := range conditions {
		if c.dimension == dimCluster && !c.match(cluster) || c.dimension == dimNode && node != "" && !c.match(node) {
			return false
		}
	}
	return true
}

// matchOwner reports whether an owner fulfils the conditions that are about owners.
func matchOwner(conditions []condition, namespace, pod, job string) bool {
	for _, c := range conditions {
		matches := true
		switch c.dimension {
		case dimNamespace:
			matches = c.match(namespace)
		case dimPod:
			matches = c.match(pod)
		case dimJob:
			matches = c.match(job)
		}
		if !matches {
			return false
		}
	}
	return true
}

// restrict moves the filters that a list of the scope can hold there, so that servers are asked for no more than
// needed, and keeps the others as conditions.
func (s Scope) restrict(filters []Filter) (Scope, []Filter, error) {
	var kept []Filter
	for _, f := range filters {
		d, err := dimensionOf(f.Key)
		if err != nil {
			return Scope{}, nil, err
		}
		if d.ofOwner() {
			f = f.withoutUnassigned()
		}
		lists := map[dimension]*[]string{
			dimCluster: &s.Clusters, dimNode: &s.Nodes, dimUUID: &s.GPUs, dimModel: &s.Models,
			dimNamespace: &s.Namespaces, dimPod: &s.Pods, dimJob: &s.Jobs,
		}
		list, ok := lists[d]
		values, plain := f.asList()
		if !ok || !plain || len(*list) > 0 {
			kept = append(kept, f)
			continue
		}
		*list = values
	}
	s.filters = kept
	return s, kept, nil
}

// withoutUnassigned has the empty value for what a scope calls unassigned.
func (f Filter) withoutUnassigned() Filter {
	if f.Operator == opMatch || f.Operator == opNotMatch || !slices.Contains(f.Values, Unassigned) {
		return f
	}
	values := slices.Clone(f.Values)
	for i, value := range values {
		if value == Unassigned {
			values[i] = ""
		}
	}
	f.Values = normal(values)
	return f
}

// asList is the filter as a list of a scope, false where a list cannot say the same: lists hold no negations and no
// empty values, some exact values would be taken for expressions there, and expressions of owners never match nobody.
func (f Filter) asList() ([]string, bool) {
	switch f.Operator {
	case opEqual, opOneOf:
		for _, value := range f.Values {
			if _, isRegex := pattern(value); isRegex || value == "" {
				return nil, false
			}
		}
		return f.Values, true
	case opMatch:
		re, err := f.compile()
		return []string{"/" + f.Values[0] + "/"}, err == nil && !re.MatchString("")
	}
	return nil, false
}
