package plugin

import (
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// workPlace is where an owner of a device and a rank or server meet.
type workPlace struct{ namespace, pod, job string }

// classes tell what kind of work an owner does.
type classes struct {
	rules []settings.ClassRule
	seen  map[workPlace]insight.Class
}

// classes is what the settings say, and what owners say of themselves by their metrics.
func (g *gathering) classes(workloads *insight.Workloads) classes {
	c := classes{rules: g.settings.Insight.Classes, seen: map[workPlace]insight.Class{}}
	for _, f := range slices.Concat(g.want.workloads, classFields()) {
		class := insight.Inference
		if familyOf(f.Metric) == "train" {
			class = insight.Training
		}
		for i, w := range workloads.Subjects {
			if workloads.Values(f, i) == nil {
				continue
			}
			for _, p := range placesOf(w) {
				if _, known := c.seen[p]; !known {
					c.seen[p] = class
				}
			}
		}
	}
	return c
}

func placesOf(w insight.Workload) []workPlace {
	var places []workPlace
	if w.Pod != "" {
		places = append(places, workPlace{namespace: w.Namespace, pod: w.Pod})
	}
	if w.Job != "" {
		places = append(places, workPlace{job: w.Job})
	}
	return places
}

// of is the class of a device's work: the first rule that fits one of its owners, else what they report of themselves.
func (c classes) of(owners []gpu.Owner) insight.Class {
	for _, rule := range c.rules {
		if slices.ContainsFunc(owners, rule.Matches) {
			return insight.Class(rule.Class)
		}
	}
	for _, o := range owners {
		for _, p := range []workPlace{{namespace: o.Namespace, pod: o.Pod}, {job: o.SlurmJob}} {
			if p == (workPlace{namespace: p.namespace}) {
				continue
			}
			if class, known := c.seen[p]; known {
				return class
			}
		}
	}
	return insight.Unclassified
}
