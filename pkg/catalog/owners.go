package catalog

// OwnerLabels are the labels of one way in which series name the workload that has a GPU.
type OwnerLabels struct{ Pod, Namespace, Container string }

// OwnerLabels lists the ways in which series name a workload, the most trusted first: the first whose pod is set counts.
func (c *Catalog) OwnerLabels() []OwnerLabels {
	families := make([]OwnerLabels, len(c.labels.Owner))
	for i, family := range c.labels.Owner {
		families[i] = OwnerLabels(family)
	}
	return families
}

// JobLabels are the labels that a batch job may be in, the most trusted first. The slice is shared and must not be changed.
func (c *Catalog) JobLabels() []string { return c.labels.Job }

// ExporterPods is the regular expression of pods that are exporters and no workloads.
func (c *Catalog) ExporterPods() string { return c.exporters.String() }
