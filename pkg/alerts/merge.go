package alerts

import (
	"cmp"
	"slices"
	"strings"
)

// merge makes one answer of several. An alert is the same by its fingerprint, a silence by its id: Alertmanagers of a cluster
// share both. What is suppressed in one of them only is not, for one of them tells somebody.
func merge(all []told) Answer {
	out := Answer{Asked: len(all)}
	alerts, silences := map[string]int{}, map[string]int{}
	for _, t := range all {
		if t.err != nil {
			out.Failed = append(out.Failed, t.err)
		}
		out.LeftOut = append(out.LeftOut, t.leftOut...)
		for _, a := range t.alerts {
			key := cmp.Or(a.Fingerprint, labelsKey(a.Labels))
			i, known := alerts[key]
			if !known {
				alerts[key] = len(out.Alerts)
				out.Alerts = append(out.Alerts, a)
				continue
			}
			have := &out.Alerts[i]
			if a.Starts.Before(have.Starts) {
				have.Starts = a.Starts
			}
			if a.Ends.After(have.Ends) {
				have.Ends = a.Ends
			}
			have.Cluster, have.Summary = cmp.Or(have.Cluster, a.Cluster), cmp.Or(have.Summary, a.Summary)
			if a.Suppressed == "" {
				have.Suppressed = ""
			}
			have.From = append(have.From, a.From...)
		}
		for _, s := range t.silences {
			i, known := silences[s.ID]
			if !known {
				silences[s.ID] = len(out.Silences)
				out.Silences = append(out.Silences, s)
				continue
			}
			have := &out.Silences[i]
			// One of them may not have heard yet that it was ended.
			if s.Ends.Before(have.Ends) {
				have.Ends, have.State = s.Ends, s.State
			}
			if have.Cluster != s.Cluster {
				have.Cluster = ""
			}
			have.From = append(have.From, s.From...)
		}
	}
	slices.SortStableFunc(out.Alerts, func(a, b Alert) int {
		return cmp.Or(a.Starts.Compare(b.Starts), strings.Compare(a.Name, b.Name), strings.Compare(a.Fingerprint, b.Fingerprint))
	})
	slices.SortStableFunc(out.Silences, func(a, b Silence) int { return cmp.Or(a.Starts.Compare(b.Starts), strings.Compare(a.ID, b.ID)) })
	return out
}

func labelsKey(labels map[string]string) string {
	var parts []string
	for name, value := range labels {
		parts = append(parts, name+"\xfe"+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, "\xff")
}
