package stragglers

import (
	"cmp"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// settle puts a job's answer in order.
func (c *trial) settle() {
	j := c.job
	slices.SortStableFunc(j.Reasons, func(a, b insight.Reason) int { return cmp.Compare(rank(b.Severity), rank(a.Severity)) })
	for _, r := range j.Reasons {
		if rank(r.Severity) > rank(j.Severity) {
			j.Severity = r.Severity
		}
	}
	if j.LostGPUHours == nil && len(c.ranks)+len(c.team.devices) > 1 {
		c.need(stepSeconds)
	}
	slices.Sort(c.missing)
	j.Missing = slices.Compact(c.missing)
	if j.ID == Unknown {
		j.Confidence = insight.NoConfidence
	}
}

// rank orders severities: what is not known comes before what is only worth knowing.
func rank(s insight.Severity) int {
	switch s {
	case insight.Critical:
		return 4
	case insight.Warning:
		return 3
	case insight.Unknown:
		return 2
	case insight.Info:
		return 1
	default:
		return 0
	}
}

// sortJobs puts the worst first: by severity, then by what is lost, then by name.
func sortJobs(jobs []Job) {
	lost := func(j Job) float64 {
		if j.LostGPUHours == nil {
			return -1
		}
		return *j.LostGPUHours
	}
	slices.SortStableFunc(jobs, func(a, b Job) int {
		return cmp.Or(
			cmp.Compare(rank(b.Severity), rank(a.Severity)), cmp.Compare(lost(b), lost(a)),
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
}
