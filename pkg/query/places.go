package query

// SelectsNodes reports whether the scope selects by node.
func (s Scope) SelectsNodes() bool {
	if len(s.Nodes) > 0 {
		return true
	}
	for _, c := range s.matchers().conditions {
		if c.dimension == dimNode {
			return true
		}
	}
	return false
}

// SelectsModels reports whether the scope selects by model.
func (s Scope) SelectsModels() bool {
	if len(s.Models) > 0 {
		return true
	}
	for _, c := range s.matchers().conditions {
		if c.dimension == dimModel {
			return true
		}
	}
	return false
}
