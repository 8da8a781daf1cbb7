package query

// WholeNodes reports whether the scope selects all GPUs of each node that it selects any of.
func (s Scope) WholeNodes() bool {
	for _, list := range [][]string{s.GPUs, s.MIGs, s.Models, s.Namespaces, s.Pods, s.Jobs} {
		if len(list) > 0 {
			return false
		}
	}
	for _, f := range s.filters {
		if d, err := dimensionOf(f.Key); err != nil || d != dimCluster && d != dimNode {
			return false
		}
	}
	return true
}
