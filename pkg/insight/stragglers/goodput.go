package stragglers

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Goodput is how much of a job's time brought it forward.
type Goodput struct {
	Ratio      *float64      // time in steps that were new, of the time since the job first said anything; nil when not known
	Productive time.Duration // in such steps
	Wall       time.Duration
	Restarts   int           // resets of the step counter, and times without a word from which the job came back
	Down       time.Duration // without a word
	LostSteps  *float64      // done again after restarts; nil when it is not known
	Text       string
	Missing    []string
}

// goodput follows the job's step counter. Where there is none the rate of steps tells less, and the times alone least.
func (c *trial) goodput() {
	g := &c.job.Goodput
	pace := c.furthest(insight.Field{Metric: stepSeconds})
	total := c.furthest(insight.Field{Metric: steps, Of: insight.Total})
	rate := c.furthest(insight.Field{Metric: steps})
	first, last := c.span(pace, total, rate)
	if pace == nil {
		g.Missing = append(g.Missing, stepSeconds)
	}
	if total == nil {
		g.Missing = append(g.Missing, steps)
	}
	if pace == nil || last <= first {
		g.Text = "Not known."
		return
	}
	g.Wall = time.Duration(last-first) * c.step
	down := c.silence(g, first, last, pace, total)
	productive, exact := 0.0, true
	switch {
	case total != nil:
		productive = c.newSteps(g, first, last, pace, total)
	case rate != nil:
		lately := carried(pace)
		for t := first + 1; t <= last; t++ {
			if s := lately[t]; plausible(rate[t]) && plausible(s) {
				productive += min(rate[t]*s, 1) * c.step.Seconds()
			}
		}
	default:
		exact = false
		writing := 0.0
		if c.job.Checkpoint.Most != nil {
			writing = *c.job.Checkpoint.Most
		}
		productive = (g.Wall - down).Seconds() * max(1-writing, 0)
	}
	if !plausible(productive) {
		g.Text = "Not known."
		return
	}
	ratio := min(productive/g.Wall.Seconds(), 1)
	g.Ratio = pointer(ratio)
	g.Productive = time.Duration(ratio * float64(g.Wall))
	g.Text = percent(ratio) + " of the time went into steps"
	switch {
	case total != nil:
		g.Text += " that were new"
	case exact:
		g.Text += "; steps that were done again after a restart count as new"
	default:
		g.Text = "At most " + g.Text + ": how many steps there were is not known"
	}
	if g.Restarts > 0 {
		g.Text += fmt.Sprintf("; %d restarts", g.Restarts)
		if g.Restarts == 1 {
			g.Text = g.Text[:len(g.Text)-1]
		}
	}
	if g.Down > 0 {
		g.Text += fmt.Sprintf("; nothing was heard for %.3g minutes", g.Down.Minutes())
	}
	if g.LostSteps != nil && *g.LostSteps > 0 {
		g.Text += fmt.Sprintf("; %.0f steps were done again", *g.LostSteps)
	}
	g.Text += "."
	if ratio < c.limits.Goodput {
		c.find(insight.Reason{
			ID: Goodless, Severity: insight.Info, Text: "Goodput: " + g.Text,
			Evidence: []insight.Evidence{{Metric: stepSeconds, Value: ratio, Unit: gpu.Ratio, Limit: c.limits.Goodput, Text: percent(ratio) + ", below " + percent(c.limits.Goodput)}},
			Action:   insight.Action{Text: "See what the rest went into: restarts, checkpoints, evaluation, loading at the start.", Who: gpu.XIDUser},
		})
	}
}

// furthest is the highest value of any rank, step by step; nil without any.
func (c *trial) furthest(field insight.Field) []float64 {
	var out []float64
	for _, row := range c.work.rows(field, c.ranks) {
		for t, v := range row {
			if !plausible(v) {
				continue
			}
			if out == nil {
				out = c.blank()
			}
			if !(out[t] >= v) {
				out[t] = v
			}
		}
	}
	return out
}

// span is from the first word of the job to its last, or to the last of its devices, which it still has then.
func (c *trial) span(rows ...[]float64) (first, last int) {
	first, last = -1, -1
	for t := range c.steps {
		for _, row := range rows {
			if row != nil && plausible(row[t]) {
				if last = t; first < 0 {
					first = t
				}
			}
		}
	}
	if first < 0 {
		return first, last
	}
	for _, d := range c.team.devices {
		for _, metric := range [...]string{utilization, smActive, power} {
			column := c.gpus[insight.Field{Metric: metric}]
			if column == nil {
				continue
			}
			row := column[d]
			for t := len(row) - 1; t > last; t-- {
				if plausible(row[t]) {
					last = t
				}
			}
		}
	}
	return first, last
}

// silence adds up times without a word, and counts those from which the job came back.
func (c *trial) silence(g *Goodput, first, last int, rows ...[]float64) time.Duration {
	quiet := 0
	for t := first; t <= last; t++ {
		heard := false
		for _, row := range rows {
			heard = heard || row != nil && plausible(row[t])
		}
		if !heard {
			quiet++
		}
		if heard || t == last {
			if float64(quiet) >= c.limits.LateSteps && quiet > 0 {
				g.Down += time.Duration(quiet) * c.step
				if heard {
					g.Restarts++
				}
			}
			quiet = 0
		}
	}
	return g.Down
}

// newSteps is the time in steps that the job had not done before, in seconds.
func (c *trial) newSteps(g *Goodput, first, last int, pace, total []float64) float64 {
	furthest, before, productive, lost := math.NaN(), math.NaN(), 0.0, 0.0
	quiet, lately := 0, carried(pace)
	for t := first; t <= last; t++ {
		v := total[t]
		if !plausible(v) {
			quiet++
			continue
		}
		if v < before {
			lost += before - v
			if float64(quiet) < c.limits.LateSteps || quiet == 0 {
				g.Restarts++ // one after silence has been counted
			}
		}
		if s := lately[t]; v > furthest && plausible(s) {
			// No more than the time that there was.
			productive += min((v-furthest)*s, float64(quiet+1)*c.step.Seconds())
		}
		if !(furthest >= v) {
			furthest = v
		}
		before, quiet = v, 0
	}
	g.LostSteps = pointer(lost)
	return productive
}

// carried puts the last value before in the place of those that are not there.
func carried(values []float64) []float64 {
	if values == nil {
		return nil
	}
	out, last := make([]float64, len(values)), math.NaN()
	for t, v := range values {
		if plausible(v) {
			last = v
		}
		out[t] = last
	}
	return out
}
