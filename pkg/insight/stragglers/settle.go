package stragglers

import (
	"cmp"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// settle puts a job's answer in order.
func (c *trial) settle() {
	j := c.job
	slices.SortStableFunc(j.Reasons, func(a, b insight.Reason) int { return cmp.Compare(b.Severity.Rank(), a.Severity.Rank()) })
	for _, r := range j.Reasons {
		if r.Severity.Rank() > j.Severity.Rank() {
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
			cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), cmp.Compare(lost(b), lost(a)),
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		)
	})
}
