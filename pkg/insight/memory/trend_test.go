package memory

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Half an hour of memory that is used in many ways, none of which ends full: growth is hardly ever seen.
func TestWhatIsNoGrowth(t *testing.T) {
	const steps, tries, slowly = 30, 2000, "up and down slowly"
	for name, series := range map[string]func(r *rand.Rand) func(i int) float64{
		"noise": func(r *rand.Rand) func(int) float64 {
			return func(int) float64 { return 0.9 + 0.03*r.NormFloat64() }
		},
		slowly: func(r *rand.Rand) func(int) float64 {
			x := 0.0
			return func(int) float64 {
				x = 0.8*x + 0.01*r.NormFloat64()
				return 0.9 + x
			}
		},
		"one step": func(r *rand.Rand) func(int) float64 {
			at, by := r.IntN(steps), 0.1*r.Float64()
			return func(i int) float64 {
				if i >= at {
					return 0.86 + by + 0.001*r.NormFloat64()
				}
				return 0.86 + 0.001*r.NormFloat64()
			}
		},
		"evaluation now and then": func(r *rand.Rand) func(int) float64 {
			start, every := r.IntN(10), 5+r.IntN(6)
			return func(i int) float64 {
				if (i+start)%every < 2 {
					return 0.95
				}
				return 0.88
			}
		},
		"release": func(r *rand.Rand) func(int) float64 {
			return func(i int) float64 { return 0.97 - 0.003*float64(i) + 0.005*r.NormFloat64() }
		},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		seen := 0
		for range tries {
			if next := series(r); grows(next, steps) {
				seen++
			}
		}
		limit := 0.015
		if name == slowly { // a good part of the window passes before it turns
			limit = 0.03
		}
		assert.LessOrEqual(t, float64(seen)/tries, limit, name)
	}
}

// Growth of all kinds is seen.
func TestWhatIsGrowth(t *testing.T) {
	const steps, tries = 30, 2000
	for name, series := range map[string]func(r *rand.Rand) func(i int) float64{
		"a leak": func(r *rand.Rand) func(int) float64 {
			slope := 0.002 + 0.003*r.Float64()
			return func(i int) float64 { return 0.86 + slope*float64(i) + 0.003*r.NormFloat64() }
		},
		"in pieces": func(r *rand.Rand) func(int) float64 {
			every, start := 2+r.IntN(3), r.IntN(4)
			return func(i int) float64 { return 0.86 + 0.01*float64((i+start)/every) + 0.0005*r.NormFloat64() }
		},
		"longer and longer": func(r *rand.Rand) func(int) float64 {
			return func(i int) float64 { return 0.86 + 0.0001*float64(i*i) + 0.001*r.NormFloat64() }
		},
	} {
		r := rand.New(rand.NewPCG(3, 4))
		seen := 0
		for range tries {
			if next := series(r); grows(next, steps) {
				seen++
			}
		}
		assert.GreaterOrEqual(t, float64(seen)/tries, 0.95, name)
	}
}

func grows(next func(i int) float64, steps int) bool {
	values := make([]float64, steps)
	for i := range values {
		values[i] = next(i)
	}
	return growth(values, 0, DefaultLimits().TrendChance).growing
}

func TestGrowthOfLittle(t *testing.T) {
	assert.False(t, growth(nil, 0, 0.01).growing)
	assert.False(t, growth([]float64{1, 2, 3, 4, 5, 6, 7}, 0, 0.01).growing, "too few")
	flat := make([]float64, 30)
	assert.False(t, growth(flat, 0, 0.01).growing)
	for i := range flat {
		flat[i] = math.NaN()
	}
	assert.False(t, growth(flat, 0, 0.01).growing)
	line := make([]float64, 30)
	for i := range line {
		line[i] = 0.5 + 0.01*float64(i)
	}
	got := growth(line, 0, 0.01)
	assert.True(t, got.growing)
	assert.InDelta(t, 21, got.untilOne, 1e-6)
}
