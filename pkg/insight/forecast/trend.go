package forecast

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Pairs of points that a slope is the median of. Longer series give a sample of their pairs, always the same one.
const maxPairs = 6000

// Points that the test for a trend looks at. It compares every pair.
const maxTested = 180

// slope is a Theil–Sen estimate, per step.
type slope struct {
	perStep      float64
	lower, upper float64 // of the interval
	p            float64 // that a series without trend shows as much, by Mann–Kendall
	significant  bool
}

// Limits of what counts as a trend.
const (
	significance  = 0.005
	smallestTau   = 0.2 // Kendall's: two in five of the pairs agree more than disagree
	slopeCoverage = 0.95
)

// theilSen is the median of the slopes between pairs of points, which up to 29 % of wild points do not move. NaN when there
// are no two points.
func theilSen(y []float64) (perStep float64, slopes []float64) {
	n := len(y)
	if n*(n-1)/2 <= maxPairs {
		slopes = make([]float64, 0, n*(n-1)/2)
		for i := range y {
			if math.IsNaN(y[i]) {
				continue
			}
			for j := i + 1; j < n; j++ {
				if !math.IsNaN(y[j]) {
					slopes = append(slopes, (y[j]-y[i])/float64(j-i))
				}
			}
		}
		return median(slopes), slopes
	}
	source := rand.New(rand.NewPCG(1, 2)) // fixed: the same series has the same slope
	slopes = make([]float64, 0, maxPairs)
	for range maxPairs {
		i, j := source.IntN(n), source.IntN(n)
		if i != j && !math.IsNaN(y[i]) && !math.IsNaN(y[j]) {
			slopes = append(slopes, (y[j]-y[i])/float64(j-i))
		}
	}
	return median(slopes), slopes
}

// trendOf estimates the slope of a series without season, and whether there is one: by Mann–Kendall's test, whose variance
// is corrected for ties and for values that resemble the ones before them.
func trendOf(y []float64) slope {
	perStep, slopes := theilSen(y)
	if math.IsNaN(perStep) {
		return slope{p: 1}
	}
	z, tau, deviation := mannKendall(shorten(y))
	p := 2 * distuv.UnitNormal.Survival(math.Abs(z))
	// Sen's interval: the slopes whose ranks are as far from the middle as the test's statistic may be by chance.
	half := min(0.499, distuv.UnitNormal.Quantile(0.5+slopeCoverage/2)*deviation/2)
	at := func(fraction float64) float64 {
		return selectNth(slopes, min(len(slopes)-1, int(fraction*float64(len(slopes)))))
	}
	return slope{
		perStep: perStep, lower: min(perStep, at(0.5-half)), upper: max(perStep, at(0.5+half)), p: p,
		significant: p < significance && math.Abs(tau) >= smallestTau && perStep != 0,
	}
}

// shorten takes medians of neighbours until at most maxTested are left.
func shorten(y []float64) []float64 {
	width := (len(y) + maxTested - 1) / maxTested
	if width <= 1 {
		return y
	}
	out := make([]float64, 0, maxTested)
	var buffer []float64
	for i := 0; i < len(y); i += width {
		buffer = insight.Present(buffer[:0], y[i:min(len(y), i+width)])
		out = append(out, median(buffer))
	}
	return out
}

// mannKendall is the test's standardised statistic, Kendall's tau, and the standard deviation of tau.
func mannKendall(y []float64) (z, tau, deviation float64) {
	present := make([]float64, 0, len(y))
	places := make([]float64, 0, len(y))
	for i, v := range y {
		if !math.IsNaN(v) {
			present = append(present, v)
			places = append(places, float64(i))
		}
	}
	n := len(present)
	if n < 4 {
		return 0, 0, 1
	}
	s := 0.0
	ties := make(map[float64]int, n)
	for i, v := range present {
		ties[v]++
		for _, w := range present[i+1:] {
			switch {
			case w > v:
				s++
			case w < v:
				s--
			}
		}
	}
	spread := func(k float64) float64 { return k * (k - 1) * (2*k + 5) }
	variance := spread(float64(n))
	tied := 0.0
	for _, count := range ties {
		tied += spread(float64(count)) // whole numbers: the order of the map does not show
	}
	variance = max(0, variance-tied) / 18 * repetition(present, places)
	pairs := float64(n) * float64(n-1) / 2
	if variance == 0 {
		return 0, 0, 1
	}
	switch {
	case s > 0:
		z = (s - 1) / math.Sqrt(variance)
	case s < 0:
		z = (s + 1) / math.Sqrt(variance)
	}
	return z, s / pairs, math.Sqrt(variance) / pairs
}

// repetition says by how much less there is to learn from values each of which resembles the one before it: the inflation
// of a sum's variance, 1 for independent values.
func repetition(present, places []float64) float64 {
	perStep, _ := theilSen(present)
	residuals := make([]float64, len(present))
	mean := 0.0
	for i, v := range present {
		residuals[i] = v - perStep*float64(i)
		mean += residuals[i] / float64(len(present))
	}
	var together, alone float64
	for i, r := range residuals {
		alone += (r - mean) * (r - mean)
		if i > 0 && places[i]-places[i-1] <= 1 {
			together += (r - mean) * (residuals[i-1] - mean)
		}
	}
	if together <= 0 || alone <= 1e-12*float64(len(present)) {
		return 1 // next to the series' own size, which is about 1, that is rounding
	}
	n := float64(len(present))
	// Short series show less of it than there is, the more so as their trend was taken away: by 10/n for a random walk.
	r := min(0.999, together/alone*(1+10/n))
	factor, power := 1.0, 1.0
	for k := 1.0; k < n && power > 1e-4; k++ {
		power *= r
		factor += 2 * (1 - k/n) * power
	}
	return factor
}
