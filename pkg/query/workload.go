package query

import "github.com/warpwatch/warpwatch/pkg/catalog"

// MatchesWorkload reports whether the scope selects a server of models or a process of a training job. The list of models
// is compared with the model that is served. Lists and filters that are about GPUs do not count, because a workload names
// none: see SelectsGPUs.
func (s Scope) MatchesWorkload(w catalog.Workload) bool {
	m := s.matchers()
	return m.clusters.match(w.Cluster) && m.nodes.match(w.Node) && (m.models.all() || w.Model != "" && m.models.match(w.Model)) &&
		m.namespaces.matchOwner(w.Namespace) && m.pods.matchOwner(w.Pod) && m.jobs.matchOwner(w.Job) &&
		matchWorkload(m.conditions, w)
}

// SelectsGPUs reports whether the scope selects by what only GPUs have.
func (s Scope) SelectsGPUs() bool {
	if len(s.GPUs) > 0 || len(s.MIGs) > 0 {
		return true
	}
	for _, c := range s.matchers().conditions {
		if c.ofGPU() {
			return true
		}
	}
	return false
}

func (d dimension) ofGPU() bool {
	return d == dimIndex || d == dimUUID || d == dimMIG || d == dimMIGProfile
}

func matchWorkload(conditions []condition, w catalog.Workload) bool {
	for _, c := range conditions {
		if c.ofGPU() {
			continue
		}
		value := map[dimension]string{
			dimCluster: w.Cluster, dimNode: w.Node, dimModel: w.Model, dimNamespace: w.Namespace, dimPod: w.Pod, dimJob: w.Job,
		}[c.dimension]
		if !c.filter.matches(value, c.re) {
			return false
		}
	}
	return true
}
