package catalog

// Workload is what a series of a metric of workloads is of: a server of models, or a process of a training job. What its
// labels do not tell is "".
type Workload struct {
	Cluster, Node, Namespace, Pod string

	Job      string // of a batch system, or what the process calls its own
	Model    string // that is served
	Rank     string // of the process in its job, or of the engine in its server
	Instance string // as it is scraped
}

// ResolveWorkload reads a workload out of a series' labels. It reports false when they name none.
func (c *Catalog) ResolveWorkload(labels Labels) (Workload, bool) {
	l := c.workload
	w := Workload{
		Cluster: first(labels, l.Cluster), Node: first(labels, l.Node),
		Job: first(labels, l.Job), Model: known(first(labels, l.Model)), Rank: first(labels, l.Rank), Instance: first(labels, l.Instance),
	}
	for i, label := range l.Pod {
		pod := known(labels.Get(label))
		if pod == "" || c.exporters.MatchString(pod) {
			continue
		}
		w.Pod = pod
		if i < len(l.Namespace) {
			w.Namespace = labels.Get(l.Namespace[i])
		}
		break
	}
	if w.Namespace == "" && w.Pod == "" {
		w.Namespace = first(labels, l.Namespace)
	}
	return w, w.Pod != "" || w.Job != "" || w.Model != "" || w.Instance != ""
}

// WorkloadLabels are all labels that ResolveWorkload reads, each once: what a query must keep to name workloads.
func (c *Catalog) WorkloadLabels() []string {
	l := c.workload
	return unique(l.Cluster, l.Node, l.Namespace, l.Pod, l.Job, l.Model, l.Rank, l.Instance)
}

// WorkloadPlaces are the labels in which series say one thing of a workload, the most trusted first. The slices are shared
// and must not be changed.
type WorkloadPlaces struct{ Node, Namespace, Pod, Job, Model []string }

// WorkloadPlaces tells which labels a scope's lists are about.
func (c *Catalog) WorkloadPlaces() WorkloadPlaces {
	l := c.workload
	return WorkloadPlaces{Node: l.Node, Namespace: l.Namespace, Pod: l.Pod, Job: l.Job, Model: l.Model}
}
