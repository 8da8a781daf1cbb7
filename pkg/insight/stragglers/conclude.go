package stragglers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// conclude says what ranks and GPUs together tell.
func (c *trial) conclude(ranks *outcome, h *hardware) {
	c.idle()
	j := c.job
	switch {
	case ranks != nil:
		j.Basis, j.Skew = ranks.basis, ranks.skew
	case h.compared >= 2:
		j.Basis = "clock, power and activity of GPUs"
	}
	c.cost(ranks, h)
	switch {
	case ranks != nil && len(ranks.suspects) > 0:
		c.agree(ranks.suspects, h)
		c.name(ranks.suspects, confidenceOf(ranks))
	case ranks != nil && c.sustained(ranks.uneven) && ranks.ongoing(ranks.uneven):
		c.uneven(ranks)
	case len(h.suspects) > 0 && ranks != nil && ranks.inner:
		c.keepsPace(ranks, h)
	case len(h.suspects) > 0:
		confidence := insight.Low
		if h.profiled && !h.weak {
			confidence = insight.Medium
		}
		c.name(h.suspects, confidence)
	case ranks != nil:
		c.calm(ranks)
	case h.uneven:
		j.ID, j.Severity, j.Confidence = Uneven, insight.Info, insight.Low
		j.Text = "Clocks differ between so many of the job's GPUs that none stands out."
	case h.compared >= 2:
		if j.Confidence = insight.Low; h.profiled {
			j.Confidence = insight.Medium
		}
		if len(h.past) > 0 {
			c.over(h.past)
			break
		}
		j.ID, j.Severity = Even, insight.OK
		j.Text = fmt.Sprintf("The %d GPUs that can be compared are alike in clock and power; whether ranks keep pace is not known.", h.compared)
	case len(c.ranks) <= 1 && len(c.team.devices) <= 1:
		j.ID, j.Severity, j.Text = Alone, insight.OK, "One rank alone has no peers."
	default:
		j.Text = "There is nothing by which the job's ranks or GPUs can be compared."
	}
}

// name blames suspects.
func (c *trial) name(suspects []Suspect, confidence insight.Confidence) {
	j := c.job
	j.ID, j.Severity, j.Confidence, j.Suspects = Straggler, insight.Warning, confidence, suspects
	first := suspects[0]
	j.Text = c.blame(first)
	if n := len(suspects) - 1; n > 0 {
		j.Text += fmt.Sprintf(", and so %s %d more", verb(first, n), n)
	}
	j.Text += "."
	reason := insight.Reason{ID: Straggler, Severity: insight.Warning, Text: j.Text, Since: first.Since, Evidence: first.Evidence, Action: action(first)}
	for _, s := range suspects {
		reason.Since = min(reason.Since, s.Since)
	}
	c.find(reason)
}

// blame says what a suspect does, without a full stop.
func (c *trial) blame(s Suspect) string {
	switch s.Evidence[0].Metric {
	case stepSeconds, smClock:
		return fmt.Sprintf("%s is slower than its peers, by %s", c.who(s), percent(s.Ratio-1))
	case exchangeSeconds:
		return c.who(s) + " keeps the others waiting"
	case power:
		return c.who(s) + " differs from its peers in power"
	default:
		return c.who(s) + " does less than its peers"
	}
}

// verb is how "and so … 2 more" goes on.
func verb(first Suspect, n int) string {
	does := first.Evidence[0].Metric != stepSeconds && first.Evidence[0].Metric != smClock
	switch {
	case does && n == 1:
		return "does"
	case does:
		return "do"
	case n == 1:
		return "is"
	default:
		return "are"
	}
}

// action depends on whether the GPU itself is slow.
func action(s Suspect) insight.Action {
	a := insight.Action{Who: gpu.XIDOperator}
	switch {
	case s.slowClock:
		a.Text = "See what holds its clock down: heat, power brake, a power limit of its own. Drain it, and replace it in the job."
	case s.Kind == "node":
		a.Text = "Look at what the node's ranks share: CPU, memory, storage, network cards. Take the node out of the job and check it alone."
	default:
		a.Text = "Look at the host beside the GPU: CPU, data loading, network. Run a check of the node alone; replace it if it stays slow."
	}
	return a
}

// agree looks whether the GPUs of slow ranks differ as well.
func (c *trial) agree(suspects []Suspect, h *hardware) {
	for i := range suspects {
		s := &suspects[i]
		rows := s.deviceRows
		if len(rows) == 0 && s.Node != "" {
			for _, d := range c.team.devices {
				if c.pass.devices.Subjects[d].Node == s.Node {
					rows = append(rows, d)
				}
			}
		}
		for _, d := range rows {
			other := h.byDevice[d]
			if other == nil || !other.hardware {
				continue
			}
			s.hardware, s.slowClock = true, s.slowClock || other.slowClock
			if s.Kind == "rank" && s.Device < 0 {
				s.Device = d
			}
			s.Evidence = append(s.Evidence, other.Evidence...)
			break
		}
	}
}

func confidenceOf(ranks *outcome) insight.Confidence {
	switch {
	case ranks.present == 2:
		return insight.Low
	case ranks.suspects[0].hardware:
		return insight.High
	default:
		return insight.Medium
	}
}

// uneven says that too many are slow, and where they are.
func (c *trial) uneven(ranks *outcome) {
	j := c.job
	j.ID, j.Severity, j.Confidence = Uneven, insight.Info, insight.Medium
	j.Text = fmt.Sprintf("%d of %d ranks are slower than the others, too many to name one.", ranks.many, ranks.present)
	nodes, all := map[string]bool{}, true
	for i, n := range ranks.slowers {
		if 2*n < ranks.uneven.count {
			continue
		}
		nodes[c.nodes[i]] = true
		all = all && c.nodes[i] != ""
	}
	names := make([]string, 0, len(nodes))
	for n := range nodes {
		names = append(names, n)
	}
	slices.Sort(names)
	if all && len(names) > 0 && len(names) < c.job.Nodes {
		const shown = 4
		more := ""
		if len(names) > shown {
			more = fmt.Sprintf(" and %d more", len(names)-shown)
			names = names[:shown]
		}
		j.Text += " They are on " + strings.Join(names, ", ") + more + "."
	}
	c.find(insight.Reason{
		ID: Uneven, Severity: insight.Info, Text: j.Text, Since: c.time(ranks.uneven.from),
		Evidence: []insight.Evidence{{
			Metric: ranks.metric, Value: ranks.uneven.ratio(), Unit: gpu.Ratio, Limit: math.NaN(),
			Text: fmt.Sprintf("%s: the slowest takes %.2f times the median", ranks.basis, ranks.uneven.ratio()),
		}},
		Action: insight.Action{Text: "Compare what the two groups have in common: model of GPU, stage of the pipeline, rack, switch, size of their share.", Who: gpu.XIDUser},
	})
}

// keepsPace is a slow GPU whose rank is not slow.
func (c *trial) keepsPace(ranks *outcome, h *hardware) {
	c.calm(ranks)
	c.find(insight.Reason{
		ID: LowClock, Severity: insight.Info, Since: h.suspects[0].Since, Evidence: h.suspects[0].Evidence,
		Text:   c.who(h.suspects[0]) + " differs from its peers, but no rank is slow.",
		Action: insight.Action{Text: "Nothing now; look at its clock and temperature when there is time.", Who: gpu.XIDOperator},
	})
}

// calm is when nobody is slow now.
func (c *trial) calm(ranks *outcome) {
	j := c.job
	j.Confidence = insight.Medium
	if ranks.inner {
		j.Confidence = insight.High
	}
	if by, since, slowed := c.slowed(ranks); slowed {
		j.ID, j.Severity = Slowed, insight.Info
		j.Text = fmt.Sprintf("All ranks take %.2f times as long as before, so none stands out.", by)
		c.find(insight.Reason{
			ID: Slowed, Severity: insight.Info, Text: j.Text, Since: since,
			Evidence: []insight.Evidence{{
				Metric: ranks.metric, Value: by, Unit: gpu.Ratio, Limit: c.limits.SlowedBy, Above: true,
				Text: fmt.Sprintf("%s: the median is %.2f times the job's own best, limit %.2f", ranks.basis, by, c.limits.SlowedBy),
			}},
			Action: insight.Action{Text: "See what changed: sequence length, batch, storage, network, power limits of all.", Who: gpu.XIDUser},
		})
		return
	}
	switch {
	case len(ranks.past) > 0:
		c.over(ranks.past)
	case ranks.moments > 0:
		j.ID, j.Severity = Momentary, insight.Info
		j.Text = fmt.Sprintf("%d of %d ranks were slower than their peers for moments, none for %g minutes.", ranks.moments, ranks.present, c.limits.SustainedMinutes)
	default:
		j.ID, j.Severity = Even, insight.OK
		j.Text = fmt.Sprintf("All %d ranks keep pace: the slowest takes %.2f times the median at most.", ranks.present, highestOf(ranks.skew))
		if !ranks.inner {
			j.Text += " In a job that waits for all in every step that proves little."
			j.Confidence = insight.Low
		}
	}
}

// over names who was slow and is not any more.
func (c *trial) over(past []Suspect) {
	j, first := c.job, past[0]
	j.ID, j.Severity, j.Suspects = Past, insight.Info, past
	j.Text = c.who(first) + fmt.Sprintf(" was slower than its peers, by %s, and is not any more.", percent(first.Ratio-1))
	if first.Evidence[0].Metric == exchangeSeconds {
		j.Text = c.who(first) + " kept the others waiting, and does not any more."
	}
	c.find(insight.Reason{ID: Past, Severity: insight.Info, Text: j.Text, Since: first.Since, Evidence: first.Evidence, Action: insight.Action{
		Text: "Nothing now; if it comes again, look at what it had in common.", Who: gpu.XIDOperator,
	}})
}

// slowed reports whether the whole job is slower than it was.
func (c *trial) slowed(ranks *outcome) (by float64, since int64, is bool) {
	if ranks.metric != stepSeconds {
		return 0, 0, false
	}
	window := 0
	if c.step > 0 {
		window = int(math.Ceil(c.limits.SustainedMinutes * 60 / c.step.Seconds()))
	}
	window = max(window, 2)
	from := ranks.latest + 1 - window
	if from < 10 {
		return 0, 0, false
	}
	before, now := sortedOf(ranks.pace[:from]), sortedOf(ranks.pace[from:])
	if len(before) < 10 || 2*len(now) < window {
		return 0, 0, false
	}
	best := before[len(before)/10]
	by = min(now[0]/best, mostOfComparison)
	start := from
	for start > 0 && ranks.pace[start-1] > best*c.limits.SlowedBy {
		start--
	}
	return by, c.time(start), by > c.limits.SlowedBy
}

func sortedOf(values []float64) []float64 {
	out := insight.Present(nil, values)
	slices.Sort(out)
	return out
}

func highestOf(values []float64) float64 {
	most := 1.0
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	return most
}

// idle names the GPUs that take no part.
func (c *trial) idle() {
	if len(c.job.Idle) == 0 {
		return
	}
	first := c.pass.devices.Subjects[c.job.Idle[0]].Name()
	text := first + " takes no part in the job."
	if n := len(c.job.Idle); n > 1 {
		text = fmt.Sprintf("%d GPUs take no part in the job, %s among them.", n, first)
	}
	c.find(insight.Reason{
		ID: NoPart, Severity: insight.Info, Text: text,
		Action: insight.Action{Text: "Ask for as many GPUs as there are ranks, or see why these have none.", Who: gpu.XIDUser},
	})
}

// cost is the time that the job's GPUs lost to slow ones.
func (c *trial) cost(ranks *outcome, h *hardware) {
	shares, assumed := h.clockLost, "the job is as slow as its slowest clock, which is the most that can be lost"
	switch {
	case ranks != nil && ranks.share != nil:
		shares, assumed = ranks.share, "without the slowest rank the job would go at the median's pace"
	case ranks != nil && (ranks.metric == exchangeSeconds || len(h.suspects) == 0):
		return
	case ranks == nil && (h.compared < 2 || h.weak || len(h.suspects) > 0 && !h.suspects[0].slowClock):
		return
	}
	if c.job.GPUs == nil {
		return
	}
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	c.job.LostGPUHours = pointer(sum * c.step.Hours() * *c.job.GPUs)
	if sum > 0 {
		c.job.LostAssumed = assumed
	}
}

// who names a suspect for people.
func (c *trial) who(s Suspect) string {
	switch {
	case s.Kind == "node":
		return fmt.Sprintf("Node %s", s.Node)
	case s.Kind == "rank" && s.Device >= 0:
		return fmt.Sprintf("Rank %s (%s)", s.Rank, c.pass.devices.Subjects[s.Device].Name())
	case s.Kind == "rank" && s.Node != "":
		return fmt.Sprintf("Rank %s on %s", s.Rank, s.Node)
	case s.Kind == "rank":
		return "Rank " + s.Rank
	default:
		return c.pass.devices.Subjects[s.Device].Name()
	}
}
