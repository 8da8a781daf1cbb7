package promtest

// declaration is what a target declares one of its series to be.
type declaration struct {
	Target map[string]string `json:"target"`
	Metric string            `json:"metric"`
	Type   string            `json:"type"`
	Help   string            `json:"help"`
	Unit   string            `json:"unit"`
}

// Declare adds the HELP and TYPE of a series, as the target with these labels has them.
func (s *Store) Declare(target map[string]string, metric, kind, help string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metadata = append(s.metadata, declaration{Target: target, Metric: metric, Type: kind, Help: help})
}

// meanings are the different declarations of each series.
func (s *Store) meanings() map[string][]map[string]string {
	all := map[string][]map[string]string{}
	seen := map[[3]string]bool{}
	for _, d := range s.metadata {
		if key := [3]string{d.Metric, d.Type, d.Help}; !seen[key] {
			seen[key] = true
			all[d.Metric] = append(all[d.Metric], map[string]string{"type": d.Type, "help": d.Help, "unit": d.Unit})
		}
	}
	return all
}

// declared are the targets' own declarations of one series.
func (s *Store) declared(metric string) []declaration {
	found := []declaration{}
	for _, d := range s.metadata {
		if d.Metric == metric {
			found = append(found, d)
		}
	}
	return found
}
