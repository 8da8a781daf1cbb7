package forecast

import (
	"math"
	"math/rand/v2"
	"time"
)

// start is a Monday, 2026-01-05 00:00 UTC.
const start = 1767571200000

// recipe is a synthetic series.
type recipe struct {
	name     string
	step     time.Duration
	days     float64
	base     float64
	daily    float64 // amplitude
	weekend  float64 // added on Saturdays and Sundays
	perDay   float64 // trend
	noise    float64
	echo     float64 // of the noise in the next step's
	walk     float64 // step of a random walk
	shift    float64 // added from the middle on
	gaps     float64 // share of the values that are missing, in runs
	sentinel float64 // share of the values that are garbage
}

// quiet is the recipe without noise.
func (r recipe) quiet() recipe {
	r.noise = 0
	return r
}

// make writes a series and what it would have been without gaps and garbage.
func (r recipe) make(seed uint64) (measured, truth []float64) {
	source := rand.New(rand.NewPCG(seed, 7))
	n := int(r.days * float64(day) / float64(r.step))
	measured, truth = make([]float64, n), make([]float64, n)
	perDay := float64(day / r.step)
	phase := source.Float64() * 2 * math.Pi
	noise, walk, gap := 0.0, 0.0, 0
	for i := range n {
		d := float64(i) / perDay
		noise = r.echo*noise + source.NormFloat64()*r.noise*math.Sqrt(1-r.echo*r.echo)
		walk += source.NormFloat64() * r.walk
		v := r.base + r.daily*(math.Sin(2*math.Pi*d+phase)+0.4*math.Sin(4*math.Pi*d+2*phase)) + r.perDay*d + noise + walk
		if int(d)%7 >= 5 {
			v += r.weekend
		}
		if i >= n/2 {
			v += r.shift
		}
		truth[i], measured[i] = v, v
		if gap > 0 {
			gap--
			measured[i] = math.NaN()
		} else if source.Float64() < r.gaps/20 {
			gap = 20
		}
		if source.Float64() < r.sentinel {
			measured[i] = 1.8e19
		}
	}
	return measured, truth
}

func seasonal() []recipe {
	return []recipe{
		{name: "daily", step: 5 * time.Minute, days: 15, base: 40, daily: 10, noise: 3},
		{name: "daily, gaps and garbage", step: 5 * time.Minute, days: 15, base: 40, daily: 10, noise: 3, gaps: 0.15, sentinel: 0.01},
		{name: "daily with trend", step: 5 * time.Minute, days: 15, base: 40, daily: 8, perDay: 1, noise: 3},
		{name: "daily and weekly", step: 15 * time.Minute, days: 29, base: 500, daily: 60, weekend: -120, noise: 25, echo: 0.5},
		{name: "daily and weekly, gaps", step: 15 * time.Minute, days: 29, base: 500, daily: 60, weekend: -120, noise: 25, gaps: 0.1},
		{name: "hourly, daily and weekly, trend", step: time.Hour, days: 36, base: 0.4, daily: 0.1, weekend: -0.1, perDay: 0.005, noise: 0.04},
	}
}

func others() []recipe {
	return []recipe{
		{name: "noise", step: 5 * time.Minute, days: 15, base: 60, noise: 2},
		{name: "echoing noise", step: 5 * time.Minute, days: 15, base: 60, noise: 2, echo: 0.98},
		{name: "random walk", step: 15 * time.Minute, days: 15, base: 60, walk: 1},
		{name: "line", step: 15 * time.Minute, days: 15, base: 100, perDay: 3, noise: 5},
		{name: "level shift", step: 15 * time.Minute, days: 15, base: 100, shift: 40, noise: 3},
		{name: "level shift in seasons", step: 15 * time.Minute, days: 15, base: 100, daily: 10, shift: 30, noise: 3},
		{name: "constant", step: 15 * time.Minute, days: 15, base: 80},
		{name: "short", step: time.Minute, days: 0.2, base: 80, noise: 1, walk: 0.3},
	}
}
