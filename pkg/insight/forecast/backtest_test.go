package forecast

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// errors of a forecast and of the naive ones over what came after.
type scores struct {
	ours, last, daily, weekly, inside, count float64
	possible                                 float64 // of who knows the recipe and not the noise to come
}

// naive is the better of repeating the last value, yesterday and last week.
func (s scores) naive() float64 {
	least := s.last
	for _, v := range []float64{s.daily, s.weekly} {
		if v < least {
			least = v
		}
	}
	return least
}

// seasonalNaive is the better of repeating yesterday and last week.
func (s scores) seasonalNaive() float64 { return min(s.daily, s.weekly) }

// heldOut forecasts the last part of each of several series from what was before. The naive methods get the same averages
// over the steps of the answer.
func heldOut(r recipe, firstSeed uint64, seeds, horizonSteps int) (s scores, methods map[Method]int) {
	methods = make(map[Method]int)
	for seed := range uint64(seeds) {
		measured, truth := r.make(seed + firstSeed)
		_, quiet := r.quiet().make(seed + firstSeed)
		cut := len(measured) - horizonSteps
		res := Project(Series{Start: start, Step: r.step, Values: measured[:cut]}, Anything(time.Duration(horizonSteps)*r.step))
		methods[res.Method]++
		k := max(1, int(res.Step/r.step))
		mean := func(values []float64, at int64) float64 {
			i := int((at - start) / r.step.Milliseconds())
			sum, n := 0.0, 0.0
			for j := i; j < i+k && j < len(values); j++ {
				if j >= 0 && !math.IsNaN(values[j]) && values[j] < 1e12 {
					sum, n = sum+values[j], n+1
				}
			}
			return sum / n
		}
		last := math.NaN()
		for j := 1; math.IsNaN(last); j++ {
			last = mean(measured, start+int64(cut-j*k)*r.step.Milliseconds())
		}
		before := func(at, end int64, season time.Duration) float64 {
			back := at - season.Milliseconds()
			for back >= end {
				back -= season.Milliseconds()
			}
			for back >= start {
				if v := mean(measured[:cut], back); !math.IsNaN(v) {
					return v
				}
				back -= season.Milliseconds()
			}
			return last
		}
		end := int64(start) + int64(cut)*r.step.Milliseconds()
		for _, p := range res.Points {
			if !p.Future {
				continue
			}
			actual := mean(truth, p.Time)
			if math.IsNaN(actual) {
				continue
			}
			s.count++
			s.ours += math.Abs(actual - p.Value)
			s.possible += math.Abs(actual - mean(quiet, p.Time))
			s.last += math.Abs(actual - last)
			s.daily += math.Abs(actual - before(p.Time, end, day))
			s.weekly += math.Abs(actual - before(p.Time, end, week))
			if actual >= p.Lower && actual <= p.Upper {
				s.inside++
			}
		}
	}
	return s, methods
}

func TestSeasonalSeriesAreForecastBetterThanByRepetition(t *testing.T) {
	for _, r := range seasonal() {
		t.Run(r.name, func(t *testing.T) {
			s, methods := heldOut(r, 1000, 20, int(day/r.step))
			t.Logf("against last %.2f, against the season %.2f, inside %.2f, %v", s.ours/s.last, s.ours/s.seasonalNaive(), s.inside/s.count, methods)
			assert.Less(t, s.ours, 0.8*s.last)
			assert.Less(t, s.ours, 0.8*s.seasonalNaive())
			assert.InDelta(t, 0.9, s.inside/s.count, 0.1, "the interval holds what it says")
		})
	}
}

func TestSeasonalForecastsComeNearWhatIsPossible(t *testing.T) {
	for _, r := range seasonal() {
		t.Run(r.name, func(t *testing.T) {
			s, _ := heldOut(r, heldSeeds, 30, int(day/r.step))
			var each []float64
			for seed := range uint64(30) {
				one, _ := heldOut(r, heldSeeds+seed, 1, int(day/r.step))
				each = append(each, one.ours/one.seasonalNaive())
			}
			slices.Sort(each)
			t.Logf("against the season %.3f, of which noise alone is %.3f; by seed %.2f to %.2f, half of them below %.2f",
				s.ours/s.seasonalNaive(), s.possible/s.seasonalNaive(), each[0], each[29], each[15])
			assert.Less(t, s.ours, 1.06*s.possible)
		})
	}
}

func TestNoSeriesIsForecastWorseThanByRepetition(t *testing.T) {
	for _, r := range append(others(), seasonal()...) {
		t.Run(r.name, func(t *testing.T) {
			for _, horizon := range []time.Duration{time.Hour, 12 * time.Hour, 3 * day} {
				steps := int(horizon / r.step)
				if float64(horizon) > r.days*float64(day)/3 {
					continue
				}
				seeds := 24
				switch {
				case r.daily > 0 && horizon == time.Hour:
					continue // the season of an hour is its last value's
				case r.daily > 0:
					seeds = 10
				case horizon == time.Hour:
					seeds = 60 // few steps each
				}
				s, methods := heldOut(r, 1000, seeds, steps)
				t.Logf("%s: against the best naive %.2f, inside %.2f, %v", horizon, s.ours/s.naive(), s.inside/s.count, methods)
				assert.LessOrEqual(t, s.ours, 1.05*s.naive()+1e-9, horizon)
			}
		})
	}
}
