package history

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/query"
)

// mostGaps is how many holes in what the rules recorded are looked into.
const mostGaps = 4

// Stretch is a part of a range, from its first point to its last.
type Stretch struct{ From, To time.Time }

// Window is the stretch on the grid of the range.
func (s Stretch) Window(w query.Window) query.Window {
	w.From, w.To = s.From, s.To
	return w
}

// gapsOf are the holes in what the rules of a cluster recorded where its exporters have something, as far as some looks at them
// tell. It is false when they are too many.
func (r rollupQuestion) gapsOf(ctx context.Context, e *endpoint, found rollup) ([]Stretch, bool) {
	holes := found.holes(gridOf(false, r.window))
	if len(holes) == 0 {
		return nil, true
	}
	if len(holes) > mostGaps {
		return []Stretch{r.stretch([2]int64{holes[0][0], holes[len(holes)-1][1]})}, false
	}
	words, err := r.history.words(ctx, e)
	if err != nil {
		return []Stretch{r.stretch(holes[0])}, false
	}
	p := r.history.plan(words, r.metric)
	if len(p.names) == 0 {
		return nil, true
	}
	raw := "count(" + p.expr(r.history.pushDown(r.query.Scope, words, r.history.known(ctx, e.Cluster)), r.window) + ")"
	var gaps []Stretch
	for _, hole := range holes {
		for _, at := range slices.Compact([]int64{hole[0], (hole[0] + hole[1]) / 2, hole[1]}) {
			a, err := e.query(ctx, instantPath, url.Values{"query": {raw}, "time": {timestamp(time.UnixMilli(at))}})
			if err != nil || len(a.Series) > 0 && len(a.Series[0].Values) > 0 && a.Series[0].Values[0] > 0 {
				gaps = append(gaps, r.stretch(hole))
				break
			}
		}
	}
	return gaps, true
}

// stretch is a hole with the points beside it, which are of a part of their step only, or of an older value.
func (r rollupQuestion) stretch(hole [2]int64) Stretch {
	step := r.window.Step
	before := step
	if overRules(r.window) == "" {
		before = (lookback + step - 1).Truncate(step)
	}
	from, to := time.UnixMilli(hole[0]).Add(-before), time.UnixMilli(hole[1]).Add(step)
	if from.Before(r.window.Start()) {
		from = r.window.Start()
	}
	if to.After(r.window.End()) {
		to = r.window.End()
	}
	return Stretch{from, to}
}

// together are stretches in the order of time, those that overlap or touch as one.
func together(all []Stretch, step time.Duration) []Stretch {
	slices.SortFunc(all, func(a, b Stretch) int { return a.From.Compare(b.From) })
	var out []Stretch
	for _, s := range all {
		if n := len(out); n > 0 && !s.From.After(out[n-1].To.Add(step)) {
			if s.To.After(out[n-1].To) {
				out[n-1].To = s.To
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

func (r rollupQuestion) unsure(gap Stretch) string {
	return fmt.Sprintf("The recording rules of %s have nothing from %s to %s, where exporters may have: their series were read instead, which takes longer.",
		r.metric.Name, clock(gap.From.UnixMilli()), clock(gap.To.UnixMilli()))
}

// holes are the stretches of the grid where no line has anything.
func (r *rollup) holes(g grid) [][2]int64 {
	var holes [][2]int64
	open := false
	for i, t := range g.times {
		empty := true
		for _, l := range r.lines {
			if l.count[i] > 0 {
				empty = false
				break
			}
		}
		switch {
		case empty && open:
			holes[len(holes)-1][1] = t
		case empty:
			holes = append(holes, [2]int64{t, t})
		}
		open = empty
	}
	return holes
}
