package stragglers

import (
	"fmt"
	"math"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Share is which part of a step, or of time, something takes: the mean over the range.
type Share struct {
	Value *float64 // mean of ranks; nil when it is not known
	// Least and Most are those of the rank with the least and the most. Of collectives the least is the exchange itself, and the
	// rest of the mean is waiting; of checkpoints the difference is the wait at the barrier.
	Least, Most *float64
	Text        string   // for people
	Missing     []string // canonical metrics
}

// Bubble is the share of a step that stages of a pipeline idle.
type Bubble struct {
	Planned *float64 // (p-1)/(m+p-1), divided by v when interleaved
	// Measured is the share of a step outside of forward and backward, as hosts see them: it has the optimizer, data and
	// exchange in it as well.
	Measured *float64
	Text     string
	Missing  []string
}

func (c *trial) shares() {
	step := c.work.rows(insight.Field{Metric: stepSeconds}, c.ranks)
	c.job.Bubble = c.bubble(step)
	c.job.Exchange = c.shareOfStep(exchangeSeconds, step)
	c.job.Data = c.shareOfStep(dataSeconds, step)
	c.job.Checkpoint = c.checkpoint()

	if e := &c.job.Exchange; e.Value != nil {
		e.Text = fmt.Sprintf("%s of a step in collectives; %s are the exchange itself, the rest is waiting. Only what does not overlap with computing costs time.",
			percent(*e.Value), percent(*e.Least))
		c.flag(Exchange, exchangeSeconds, *e.Value, c.limits.Exchange, percent(*e.Value)+" of a step is spent in collectives.",
			"Let them overlap with computing, exchange larger pieces, and keep the job within one fabric.")
	}
	if d := &c.job.Data; d.Value != nil {
		d.Text = fmt.Sprintf("%s of a step waits for data, %s on the worst rank.", percent(*d.Value), percent(*d.Most))
		c.flag(DataBound, dataSeconds, *d.Most, c.limits.Data, percent(*d.Most)+" of a step waits for data on the worst rank.",
			"Give the loader more workers, fetch ahead, or move the data closer.")
	}
	if w := &c.job.Checkpoint; w.Value != nil {
		w.Text = fmt.Sprintf("%s of the time goes into checkpoints; the slowest rank takes %s more than the fastest, for which it waits.", percent(*w.Most), percent(*w.Most-*w.Least))
		c.flag(Writing, checkpointTime, *w.Most, c.limits.Writing, percent(*w.Most)+" of the time goes into checkpoints.",
			"Write them asynchronously, in shards, to faster storage, or less often.")
	}
}

// flag notes a share that is too large.
func (c *trial) flag(id, metric string, value, limit float64, text, do string) {
	if value <= limit {
		return
	}
	c.find(insight.Reason{
		ID: id, Severity: insight.Info, Text: text,
		Evidence: []insight.Evidence{{Metric: metric, Value: value, Unit: gpu.Ratio, Limit: limit, Above: true, Text: percent(value) + ", limit " + percent(limit)}},
		Action:   insight.Action{Text: do, Who: gpu.XIDUser},
	})
}

// shareOfStep is the part of a step that a time of it is.
func (c *trial) shareOfStep(metric string, step [][]float64) Share {
	rows := c.work.rows(insight.Field{Metric: metric}, c.ranks)
	s := shareOf(step, rows)
	if s.Value == nil {
		if step == nil {
			s.Missing = append(s.Missing, stepSeconds)
		}
		if rows == nil {
			s.Missing = append(s.Missing, metric)
		}
		s.Text = "Not known."
	}
	return s
}

func shareOf(step, rows [][]float64) Share {
	var s Share
	sum, n := 0.0, 0
	for i := range rows {
		if rows[i] == nil || step == nil || step[i] == nil {
			continue
		}
		if part := ratioOfSums(rows[i], step[i]); !math.IsNaN(part) {
			s.take(part)
			sum, n = sum+part, n+1
		}
	}
	if n > 0 {
		s.Value = pointer(sum / float64(n))
	}
	return s
}

func (s *Share) take(v float64) {
	if s.Least == nil || v < *s.Least {
		s.Least = pointer(v)
	}
	if s.Most == nil || v > *s.Most {
		s.Most = pointer(v)
	}
}

// ratioOfSums is the part of the whole over all steps of the grid in which both were measured, 1 at most.
func ratioOfSums(part, whole []float64) float64 {
	a, b := 0.0, 0.0
	for t := range part {
		if plausible(part[t]) && plausible(whole[t]) && whole[t] >= leastPlausible {
			a, b = a+part[t], b+whole[t]
		}
	}
	if b <= 0 {
		return math.NaN()
	}
	return min(a/b, 1)
}

func (c *trial) checkpoint() Share {
	rows := c.work.rows(insight.Field{Metric: checkpointTime}, c.ranks)
	var s Share
	sum, n := 0.0, 0
	for _, row := range rows {
		if mean := meanOf(row); !math.IsNaN(mean) {
			mean = min(mean, 1)
			s.take(mean)
			sum, n = sum+mean, n+1
		}
	}
	if n == 0 {
		s.Missing, s.Text = []string{checkpointTime}, "Not known."
		return s
	}
	s.Value = pointer(sum / float64(n))
	return s
}

func (c *trial) bubble(step [][]float64) Bubble {
	var b Bubble
	if plan := c.options.Pipeline; plan != nil {
		b.Planned = pointer(plan.bubble())
	} else if said := c.means(plannedBubble); !math.IsNaN(said) {
		b.Planned = pointer(min(said, 1))
	} else {
		b.Missing = append(b.Missing, plannedBubble)
	}
	forward := c.work.rows(insight.Field{Metric: forwardSeconds}, c.ranks)
	backward := c.work.rows(insight.Field{Metric: backwardSeconds}, c.ranks)
	for _, needed := range []struct {
		rows [][]float64
		name string
	}{{step, stepSeconds}, {forward, forwardSeconds}, {backward, backwardSeconds}} {
		if needed.rows == nil {
			b.Missing = append(b.Missing, needed.name)
		}
	}
	if step != nil && forward != nil && backward != nil {
		sum, n := 0.0, 0
		for i := range step {
			if step[i] == nil || forward[i] == nil || backward[i] == nil {
				continue
			}
			if there := ratioOfSums(forward[i], step[i]) + ratioOfSums(backward[i], step[i]); !math.IsNaN(there) {
				sum, n = sum+max(1-there, 0), n+1
			}
		}
		if n > 0 {
			b.Measured = pointer(sum / float64(n))
		}
	}
	switch {
	case b.Planned != nil && b.Measured != nil:
		b.Text = fmt.Sprintf("%s by plan, %s measured outside of forward and backward, with optimizer, data and exchange in it.", percent(*b.Planned), percent(*b.Measured))
	case b.Planned != nil:
		b.Text = percent(*b.Planned) + " by plan; what it is, is not measured."
	case b.Measured != nil:
		b.Text = percent(*b.Measured) + " of a step is outside of forward and backward; whether there is a pipeline is not known."
	default:
		b.Text = "Not known."
	}
	return b
}

// means is the mean over ranks and time, NaN without values.
func (c *trial) means(metric string) float64 {
	sum, n := 0.0, 0
	for _, row := range c.work.rows(insight.Field{Metric: metric}, c.ranks) {
		if mean := meanOf(row); !math.IsNaN(mean) {
			sum, n = sum+mean, n+1
		}
	}
	return sum / float64(n)
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }
