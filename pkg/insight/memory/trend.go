package memory

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// leastPoints is how many values a trend needs.
const leastPoints = 8

// trend is the growth of a share.
type trend struct {
	level    float64 // at the last step, on the line
	perStep  float64
	points   int
	growing  bool    // and that is no chance
	untilOne float64 // steps until the share is 1, when it is growing
}

// growth fits a line to values[from:]. Growth counts when the line is no chance and it is more than one step up: the last third
// must rise, and another one, because an allocator that takes another piece and keeps it is not on the way to the end.
func growth(values []float64, from int, chance float64) trend {
	var x, y []float64
	for i := max(from, 0); i < len(values); i++ {
		if v := values[i]; plausible(v) && v <= 2 {
			x, y = append(x, float64(i)), append(y, v)
		}
	}
	t := trend{points: len(y)}
	if len(y) < leastPoints {
		return t
	}
	at, slope := stat.LinearRegression(x, y, nil, false)
	t.perStep, t.level = slope, at+slope*float64(len(values)-1)
	if !(slope > 0) || !surely(x, y, at, slope, chance) || !keepsRising(y, slope*float64(len(values)-1-int(x[0]))) {
		return t
	}
	until := (1 - t.level) / slope
	if math.IsNaN(until) || until > most {
		return t
	}
	t.growing, t.untilOne = true, max(until, 0)
	return t
}

// explains is the share of the variation from which a line explains so much that it need not be asked what neighbours have in
// common: growth that gains speed bends away from a line, and all of its neighbours do so together.
const explains = 0.92

// surely is the t-test of a slope. Values that go up and down slowly look like growth in a window that is no longer than
// they take, so as much as neighbours have in common, as much less counts the number of values.
func surely(x, y []float64, at, slope, chance float64) bool {
	mean := stat.Mean(x, nil)
	var rest, spread, neighbours, before float64
	for i := range x {
		d := y[i] - at - slope*x[i]
		rest += d * d
		spread += (x[i] - mean) * (x[i] - mean)
		if i > 0 {
			neighbours += d * before
		}
		before = d
	}
	freedom := float64(len(x) - 2)
	if spread <= 0 {
		return false
	}
	deviation := math.Sqrt(rest / freedom / spread)
	if deviation <= slope*1e-9 {
		return true
	}
	n := float64(len(x))
	alike := neighbours / rest
	alike = min(alike+(1+3*alike)/n, 0.95) // a short window makes them look less alike than they are
	if explained := slope * slope * spread; alike > 0 && explained < explains*(explained+rest) {
		fewer := (1 - alike) / (1 + alike)
		deviation /= math.Sqrt(fewer)
		freedom = max(n*fewer-2, 1)
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Survival(slope/deviation) < chance
}

// keepsRising reports whether the last third rises by a good part of what the line says, and at least one of the others.
func keepsRising(y []float64, total float64) bool {
	third := len(y) / 3
	rises := func(part []float64) bool {
		half := len(part) / 2
		before, after := stat.Mean(part[:half], nil), stat.Mean(part[len(part)-half:], nil)
		return after-before > total/24 // a straight line has a sixth
	}
	return rises(y[len(y)-third:]) && (rises(y[:third]) || rises(y[third:len(y)-third]))
}
