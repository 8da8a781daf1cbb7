package stragglers

import (
	"fmt"
	"math"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/mig"
)

// locate finds out on which node each rank is.
func (c *trial) locate() {
	c.nodes, c.ofNode = make([]string, len(c.ranks)), make(map[string]int)
	byPod := make(map[string]string)
	names := make(map[string]bool)
	for _, d := range c.team.devices {
		s := c.pass.devices.Subjects[d]
		names[s.Node] = true
		for _, o := range s.Owners {
			if o.Pod != "" {
				byPod[o.Pod] = s.Node
			}
		}
	}
	for i, r := range c.ranks {
		w := c.workloads.Subjects[r]
		c.nodes[i] = w.Node
		if w.Node == "" {
			c.nodes[i] = byPod[w.Pod]
		}
		if c.nodes[i] != "" {
			names[c.nodes[i]] = true
		}
	}
	c.job.Nodes = len(names)
}

// count says how many GPUs the job has.
func (c *trial) count() {
	said := 0.0
	for _, row := range c.work.rows(insight.Field{Metric: trainGPUs}, c.ranks) {
		for _, v := range row {
			if plausible(v) {
				said = max(said, v)
			}
		}
	}
	parts := 0.0
	for _, d := range c.team.devices {
		parts += mig.PartOf(c.pass.devices.Subjects[d].Device).Weight
	}
	switch {
	case said >= 1:
		c.job.GPUs = pointer(said)
	case parts > 0:
		c.job.GPUs = pointer(parts)
	case len(c.ranks) > 0:
		c.job.GPUs = pointer(float64(len(c.ranks)))
		c.need(trainGPUs)
	}
}

// outcome is a comparison with what it was of.
type outcome struct {
	*spread

	basis    string
	metric   string
	suspects []Suspect // of now
	past     []Suspect
	moments  int       // members that were slow for moments
	share    []float64 // by step, what a lost share of pace is of the whole step; nil when that is not known
	inner    bool      // times that do not contain the wait for others
}

// compareRanks holds ranks against each other by the best times that they report; nil without any.
func (c *trial) compareRanks() *outcome {
	step := c.work.rows(insight.Field{Metric: stepSeconds}, c.ranks)
	exchange := c.work.rows(insight.Field{Metric: exchangeSeconds}, c.ranks)
	alone := len(c.ranks) < 2 && len(c.team.devices) < 2
	if measured(step) < 2 && !alone || step == nil {
		c.need(stepSeconds) // the last rank alone says nothing of the others
	}
	if measured(exchange) < 2 && !alone || exchange == nil {
		c.need(exchangeSeconds)
	}
	var o *outcome
	switch {
	case measured(step) >= 2 && covered(step, exchange):
		own := make([][]float64, len(step))
		for i := range step {
			if step[i] != nil {
				own[i] = difference(step[i], exchange[i])
			}
		}
		o = &outcome{basis: "time outside of collectives", metric: stepSeconds, inner: true}
		o.spread = c.compare(comparison{rows: own, limit: c.limits.StepRatio, follow: true})
		o.share = c.shareOf(o.spread, step)
	case measured(step) >= 2:
		o = &outcome{basis: "time of a step", metric: stepSeconds}
		o.spread = c.compare(comparison{rows: step, limit: c.limits.StepRatio, follow: true})
		o.share = o.lost
	case measured(exchange) >= 2:
		o = &outcome{basis: "time in collectives", metric: exchangeSeconds, inner: true}
		o.spread = c.compare(comparison{rows: exchange, low: true, limit: c.limits.CollectiveRatio, follow: true})
	default:
		return nil
	}
	if o.latest < 0 {
		return nil
	}
	for i := range o.members {
		m := &o.members[i]
		switch {
		case c.sustained(m.now) && o.ongoing(m.now):
			o.suspects = append(o.suspects, c.rankSuspect(o, i, m.now, true))
		case m.last.count > 0:
			o.past = append(o.past, c.rankSuspect(o, i, m.last, false))
		case m.slow > 0:
			o.moments++
		}
	}
	o.suspects, o.past = c.collapse(o.suspects, c.nodes), c.collapse(o.past, c.nodes)
	return o
}

// rankSuspect describes a rank that was slow in a run.
func (c *trial) rankSuspect(o *outcome, i int, r run, now bool) Suspect {
	w := c.workloads.Subjects[c.ranks[i]]
	s := Suspect{
		Kind: "rank", Node: c.nodes[i], Rank: w.Rank, Workload: c.ranks[i], Device: c.deviceOf(i), Members: 1,
		Ratio: r.ratio(), Score: 1 / r.ratio(), Z: r.z, Since: c.time(r.from),
	}
	if s.Rank == "" {
		s.Rank = w.Pod + w.Instance
	}
	if o.present == 2 {
		s.Z = 0
	}
	if s.Device >= 0 {
		s.deviceRows = []int{s.Device}
	}
	if !now {
		s.Until = c.time(r.to) + c.step.Milliseconds()
	}
	limit := c.limits.StepRatio
	if o.metric == exchangeSeconds {
		limit = c.limits.CollectiveRatio
	}
	text := fmt.Sprintf("rank %s: %s %.2f times the median, limit %.2f", s.Rank, o.basis, s.Ratio, limit)
	if o.metric == exchangeSeconds {
		text = fmt.Sprintf("rank %s: the median %s is %.2f times its own, limit %.2f: the others wait for it", s.Rank, o.basis, s.Ratio, limit)
	}
	s.Evidence = append(s.Evidence, insight.Evidence{Metric: o.metric, Value: s.Ratio, Unit: gpu.Ratio, Limit: limit, Above: true, Text: text})
	if s.Z > 0 {
		s.Evidence = append(s.Evidence, insight.Evidence{
			Metric: o.metric, Value: s.Z, Unit: gpu.Count, Limit: c.limits.RobustZ, Above: true,
			Text: fmt.Sprintf("robust z %.1f, limit %g", s.Z, c.limits.RobustZ),
		})
	}
	if s.Score < c.limits.Score {
		s.Evidence = append(s.Evidence, insight.Evidence{
			Metric: o.metric, Value: s.Score, Unit: gpu.Ratio, Limit: c.limits.Score,
			Text: fmt.Sprintf("relative score %.2f, below %g: far behind", s.Score, c.limits.Score),
		})
	}
	return s
}

// deviceOf is the device of a rank that is alone with one in its pod or on its node, -1 otherwise.
func (c *trial) deviceOf(i int) int {
	w := c.workloads.Subjects[c.ranks[i]]
	same := 0
	for at, r := range c.ranks {
		other := c.workloads.Subjects[r]
		if w.Pod != "" && other.Pod == w.Pod && other.Namespace == w.Namespace || w.Pod == "" && c.nodes[at] == c.nodes[i] {
			same++
		}
	}
	device, found := -1, 0
	for _, d := range c.team.devices {
		s := c.pass.devices.Subjects[d]
		with := w.Pod == "" && s.Node == c.nodes[i]
		for _, o := range s.Owners {
			with = with || w.Pod != "" && o.Pod == w.Pod
		}
		if with {
			device, found = d, found+1
		}
	}
	if same == 1 && found == 1 {
		return device
	}
	return -1
}

// shareOf turns what the slowest loses of its own time into a share of the whole step.
func (c *trial) shareOf(s *spread, step [][]float64) []float64 {
	share := make([]float64, len(s.lost))
	for t, lost := range s.lost {
		if lost <= 0 {
			continue
		}
		longest := 0.0
		for _, row := range step {
			if row != nil && plausible(row[t]) {
				longest = max(longest, row[t])
			}
		}
		if extra := s.pace[t] * lost / max(1-lost, 1/mostOfComparison); longest >= leastPlausible && plausible(extra) {
			share[t] = min(extra/longest, 1)
		}
	}
	return share
}

func measured(rows [][]float64) int {
	n := 0
	for _, row := range rows {
		if row != nil {
			n++
		}
	}
	return n
}

// covered reports whether whoever has the one has the other.
func covered(rows, by [][]float64) bool {
	if by == nil {
		return false
	}
	for i := range rows {
		if rows[i] != nil && by[i] == nil {
			return false
		}
	}
	return true
}

// difference is a - b where both were measured and it is more than nothing.
func difference(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = math.NaN()
		if plausible(a[i]) && plausible(b[i]) && a[i] > b[i] {
			out[i] = a[i] - b[i]
		}
	}
	return out
}
