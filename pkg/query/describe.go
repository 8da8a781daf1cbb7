package query

import (
	"fmt"
	"strings"
)

// namedValues is how many values of a list a description names.
const namedValues = 3

// String describes the selection for people: "nodes n1, n2, n3 and 5 more; models /H.00/". It is empty when all is selected.
func (s Scope) String() string {
	var parts []string
	for _, l := range []struct {
		name   string
		values []string
	}{
		{"clusters", s.Clusters}, {"nodes", s.Nodes}, {"GPUs", s.GPUs}, {"MIG instances", s.MIGs}, {"models", s.Models},
		{"namespaces", s.Namespaces}, {"pods", s.Pods}, {"jobs", s.Jobs},
	} {
		if len(l.values) == 0 {
			continue
		}
		named := make([]string, 0, namedValues)
		for _, v := range l.values[:min(namedValues, len(l.values))] {
			named = append(named, shorten(v))
		}
		text := l.name + " " + strings.Join(named, ", ")
		if more := len(l.values) - len(named); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text)
	}
	for _, f := range s.filters {
		parts = append(parts, f.String())
	}
	return strings.Join(parts, "; ")
}
