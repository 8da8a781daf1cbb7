package anomaly

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Point is a step of an answer.
type Point struct {
	Time     int64 // start of the step, Unix milliseconds
	Value    float64
	Measured bool    // false: Value is 0 and means nothing
	Expected float64 // the median
	Lower    float64 // what is outside of Lower and Upper is odd
	Upper    float64
	Banded   bool    // false: there is nothing to compare with, and Expected, Lower and Upper mean nothing
	Z        float64 // robust z, at most 99 either way
	Flag     bool    // part of an episode
	odd      bool
}

// Episode is a time during which values were odd.
type Episode struct {
	Start, End int64 // Unix milliseconds; End is the end of its last step
	Above      bool
	Value      float64 // the oddest
	Expected   float64 // at its time
	Score      float64 // |z| of it
	Ongoing    bool    // it has not ended within the range
	Text       string
	Evidence   insight.Evidence
}

func (s *Set) keys() []Key {
	return slices.SortedFunc(maps.Keys(s.baselines), func(a, b Key) int { return a.Identity.Compare(b.Identity) })
}

// hold fills in what a value is compared with: its band, its score, and whether it is odd.
func (l Limits) hold(p *Point, e Expected, unit gpu.Unit) {
	p.Banded = true
	p.Expected = e.P50
	change := l.change(unit, e.P50)
	reach := max(l.Z*e.MAD/consistent, change)
	p.Lower, p.Upper = min(e.P50-reach, e.P1), max(e.P50+reach, e.P99)
	if !p.Measured {
		return
	}
	p.Z = score(p.Value, e.P50, max(e.MAD, change*consistent/l.Z))
	p.odd = p.Value < p.Lower || p.Value > p.Upper
}

// gap is how many steps that are not odd, or not measured, may lie within an episode.
const gap = 2

// episodes joins what is odd for long enough, and flags it.
func (l Limits) episodes(points []Point, step time.Duration, metric string, unit gpu.Unit) []Episode {
	need := 2
	if step >= 30*time.Minute {
		need = 1
	} else if step > 0 {
		need = max(need, int(math.Ceil(l.DurationMinutes*float64(time.Minute)/float64(step))))
	}
	var out []Episode
	for i := 0; i < len(points); i++ {
		if !points[i].odd {
			continue
		}
		above := points[i].Value > points[i].Expected
		last, odd := i, 0
		for k := i; k < len(points) && k-last <= gap; k++ {
			if points[k].odd && (points[k].Value > points[k].Expected) == above {
				last = k
				odd++
			}
		}
		if odd >= need {
			out = append(out, l.episode(points, i, last, step, above, metric, unit))
		}
		i = last
	}
	return out
}

func (l Limits) episode(points []Point, from, to int, step time.Duration, above bool, metric string, unit gpu.Unit) Episode {
	worst := from
	for k := from; k <= to; k++ {
		points[k].Flag = points[k].odd
		if points[k].odd && math.Abs(points[k].Z) > math.Abs(points[worst].Z) {
			worst = k
		}
	}
	p := points[worst]
	e := Episode{
		Start: points[from].Time, End: points[to].Time + step.Milliseconds(), Above: above, Value: p.Value, Expected: p.Expected,
		Score: math.Abs(p.Z),
	}
	e.Ongoing = !slices.ContainsFunc(points[to+1:], func(p Point) bool { return p.Measured && p.Banded })
	limit, word := p.Upper, "above"
	if !above {
		limit, word = p.Lower, "below"
	}
	e.Text = fmt.Sprintf("%s where %s is usual: %s %s for %s.", amount(p.Value, unit), amount(p.Expected, unit), word, amount(limit, unit), insight.Span(time.Duration(e.End-e.Start)*time.Millisecond))
	e.Evidence = insight.Evidence{Metric: metric, Value: p.Value, Unit: unit, Limit: limit, Above: above, Text: e.Text}
	return e
}

// amount is a value with its unit, in three digits.
func amount(v float64, unit gpu.Unit) string {
	switch unit {
	case gpu.Ratio:
		return fmt.Sprintf("%.3g %%", v*100)
	case gpu.Celsius:
		return fmt.Sprintf("%.3g °C", v)
	case gpu.Watts:
		return fmt.Sprintf("%.3g W", v)
	case gpu.Bytes:
		return fmt.Sprintf("%.3g GiB", v/(1<<30))
	default:
		return fmt.Sprintf("%.4g", v)
	}
}
