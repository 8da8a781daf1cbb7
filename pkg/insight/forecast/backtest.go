package forecast

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Backtest says how well a method would have done: it was given the past up to each of several times, and held against
// what came then.
type Backtest struct {
	Folds int // times that it looked ahead from
	Steps int // how far, in steps of the answer
	// Mean absolute errors, in the metric's unit. NaN where there was nothing to compare.
	Error, LastValue, SeasonalNaive float64
}

// Skill is how much smaller the error is than that of the better naive method: 0.3 is 30 %. NaN when not known.
func (b Backtest) Skill() float64 {
	naive := b.LastValue
	if b.SeasonalNaive < naive {
		naive = b.SeasonalNaive
	}
	if naive > 0 {
		return 1 - b.Error/naive
	}
	return math.NaN()
}

const (
	// Folds that look at few steps are more.
	minFolds, maxFolds = 12, 32
	// nearness is how near to the best the line must come for a significant trend to be shown by it.
	nearness = 1.15
)

// caution is what a method must do to be taken instead of a plainer one: what wins by less, in few trials, may have won by
// chance. Folds overlap; they count for as many as fit beside each other.
type caution struct {
	better   float64 // the largest ratio of its error to the plainer one's
	majority float64 // the smallest share of folds that it wins
	apart    float64 // how many folds there are to learn from
}

// clearly is how many standard errors of its mean a gain must be.
const clearly = 1.3

func cautionOf(at []int, ahead int) caution {
	if len(at) == 0 {
		return caution{}
	}
	apart := max(1, min(float64(len(at)), float64(at[len(at)-1]-at[0]+ahead)/float64(ahead)))
	return caution{better: 0.93 - 0.25/apart, majority: 0.6 + 0.3/apart, apart: apart}
}

// trial is what the back-test found of one model.
type trial struct {
	model     model
	folds     int
	error     float64 // mean absolute, of the folds that it took part in
	last      float64 // of the last value in the same folds
	perFold   map[int]float64
	residuals [][]float64 // by how many steps ahead, from 1
}

// ratio is the error against that of the last value; 1 where neither made any.
func (t *trial) ratio() float64 {
	switch {
	case t.folds == 0:
		return math.Inf(1)
	case t.last > 0:
		return t.error / t.last
	case t.error > 0:
		return math.Inf(1)
	default:
		return 1
	}
}

// origins are the numbers of first steps that folds know, and how many steps ahead they look.
func origins(n, horizon, daily int) (at []int, ahead int) {
	ahead = max(1, min(horizon, n/6))
	least := max(4, n*55/100)
	room := n - ahead - least
	if room < 0 {
		return nil, ahead
	}
	folds := max(minFolds, min(maxFolds, 120/ahead))
	stride := max(1, (room+folds-2)/(folds-1))
	if daily > 0 && stride > 1 && stride%daily == 0 {
		stride-- // not always from the same time of day
	}
	for o := n - ahead; o >= least && len(at) < folds; o -= stride {
		at = append(at, o)
	}
	return at, ahead
}

// backtest tries all models on the past of a series. Trials are in the order of the models; the first is the last value.
func (f *forecaster) backtest(all []model, horizon int) (trials []*trial, folds, ahead int, c caution) {
	at, ahead := origins(len(f.w.y), horizon, f.w.period(day))
	slices.Reverse(at)
	for _, m := range all {
		trials = append(trials, &trial{model: m, perFold: make(map[int]float64), residuals: make([][]float64, ahead)})
	}
	for _, origin := range at {
		counted := false
		for i, t := range trials {
			p := f.project(t.model, origin, nil)
			if p == nil {
				if i == 0 {
					break
				}
				continue
			}
			sum, count := 0.0, 0
			for h := 1; h <= ahead; h++ {
				if actual := f.w.y[origin-1+h]; !math.IsNaN(actual) {
					residual := actual - p(h)
					sum += math.Abs(residual)
					count++
					t.residuals[h-1] = append(t.residuals[h-1], residual)
				}
			}
			if count == 0 {
				break
			}
			counted = true
			t.perFold[origin] = sum / float64(count)
			t.folds++
			t.error += t.perFold[origin]
			t.last += trials[0].perFold[origin]
		}
		if counted {
			folds++
		}
	}
	for _, t := range trials {
		if t.folds > 0 {
			t.error /= float64(t.folds)
			t.last /= float64(t.folds)
		}
	}
	return trials, folds, ahead, cautionOf(at, ahead)
}

// choose takes the plainest model that nothing beats clearly, and the line where a trend is significant and the line comes
// near enough to the best.
func choose(trials []*trial, c caution) *trial {
	naive := trials[0]
	for _, t := range trials[1:] {
		if t.model.method == Repeated && t.folds >= 2 && t.ratio() < c.better*naive.ratio() && t.beats(naive, c) {
			naive = t
		}
	}
	best := naive
	var line *trial
	for _, t := range trials {
		if t.model.method == Last || t.model.method == Repeated || t.folds < 2 {
			continue
		}
		if t.ratio() >= c.better*naive.ratio() || !t.beats(naive, c) {
			continue
		}
		if best == naive || t.ratio() < 0.98*best.ratio() {
			best = t
		}
		if t.model.method == Linear && (line == nil || t.ratio() < 0.98*line.ratio()) {
			line = t
		}
	}
	if line != nil && line.ratio() <= nearness*best.ratio() {
		return line
	}
	return best
}

// beats reports whether a trial did better than another, in most of the folds that both took part in and by more than chance
// makes of so few.
func (t *trial) beats(other *trial, c caution) bool {
	wins, both := 0.0, 0.0
	var gains []float64
	for _, origin := range sortedKeys(t.perFold) {
		if against, ok := other.perFold[origin]; ok {
			both++
			// In parts of the larger of the two: a fold with a step of the level in it counts as one, not as all.
			gain := 0.0
			if larger := max(against, t.perFold[origin]); larger > 0 {
				gain = (against - t.perFold[origin]) / larger
			}
			gains = append(gains, gain)
			if against > t.perFold[origin] {
				wins++
			}
		}
	}
	if both < 2 || wins < c.majority*both {
		return false
	}
	mean, deviation := stat.MeanStdDev(gains, nil)
	return mean > clearly*deviation/math.Sqrt(min(c.apart, both))
}

// band is how far above and below a projection values were, by how many steps ahead.
type band struct {
	ends         []int     // of bins of steps ahead: 1, 2, 4, 8, …
	lower, upper []float64 // of each bin; lower is at most 0, upper at least 0, and both only widen
	growth       float64   // power of the distance that the band widens with beyond the last bin
}

// bandOf takes the quantiles of residuals. They are drawn outwards for their small number: k residuals tell less of what is
// rare than they seem to.
func bandOf(residuals [][]float64, folds int, coverage float64) band {
	var b band
	for start := 0; start < len(residuals); {
		end := min(len(residuals), max(start+1, 2*start))
		var pool []float64
		// Single steps have as few residuals as there are folds: the next ones are much like them.
		for h := max(0, start-1); h < min(len(residuals), end+1); h++ {
			pool = append(pool, residuals[h]...)
		}
		low, high := 0.0, 0.0
		if len(pool) > 0 {
			slices.Sort(pool)
			p := (1 + coverage) / 2
			p += (1 - p) * min(1, 4/(float64(folds)*math.Sqrt(float64(end-start))))
			low = min(0, stat.Quantile(1-p, stat.LinInterp, pool, nil))
			high = max(0, stat.Quantile(p, stat.LinInterp, pool, nil))
		}
		if last := len(b.ends) - 1; last >= 0 {
			low, high = min(low, b.lower[last]), max(high, b.upper[last])
		}
		b.ends, b.lower, b.upper = append(b.ends, end), append(b.lower, low), append(b.upper, high)
		start = end
	}
	b.growth = growthOf(b)
	return b
}

// walk widens a band to that of a random walk with the steps that near residuals show: folds that lie on top of each other
// do not show how far it may go.
func (b *band) walk() {
	near := max(0, len(b.ends)-4)
	for i := near + 1; i < len(b.ends); i++ {
		wider := math.Sqrt(float64(b.ends[i]) / float64(b.ends[near]))
		b.lower[i], b.upper[i] = min(b.lower[i], b.lower[near]*wider), max(b.upper[i], b.upper[near]*wider)
	}
	b.growth = 0.5
}

// growthOf is the power by which the band widened between an eighth of the way and its end, between 0 (as values around a
// level do) and 0.5 (as a random walk does).
func growthOf(b band) float64 {
	n := len(b.ends)
	if n < 4 {
		return 0.5
	}
	near, far := b.upper[n-4]-b.lower[n-4], b.upper[n-1]-b.lower[n-1]
	if near <= 0 || far <= near {
		return 0
	}
	return min(0.5, math.Log(far/near)/math.Log(float64(b.ends[n-1])/float64(b.ends[n-4])))
}

// at is the band h steps ahead, relative to the projection.
func (b band) at(h int) (lower, upper float64) {
	n := len(b.ends)
	if n == 0 {
		return 0, 0
	}
	for i, end := range b.ends {
		if h <= end {
			return b.lower[i], b.upper[i]
		}
	}
	wider := math.Pow(float64(h)/float64(b.ends[n-1]), b.growth)
	return b.lower[n-1] * wider, b.upper[n-1] * wider
}
