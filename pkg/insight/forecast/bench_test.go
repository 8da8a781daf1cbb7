package forecast

import (
	"testing"
	"time"
)

// The name in the benchmark runner is insight-forecast.
func BenchmarkProject(b *testing.B) {
	for _, r := range []recipe{seasonal()[0], seasonal()[2], others()[1]} {
		values, _ := r.make(1)
		values = values[:14*int(day/r.step)]
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Project(Series{Start: start, Step: r.step, Values: values}, Anything(30*day))
			}
		})
	}
}

// heldSeeds are those that no method was made with.
const heldSeeds = 900_000

// The names in the benchmark runner are insight-forecast-last, -season and -worst: errors against those of repetition, in
// units that the runner compares with their limits. Beside them is the error against that of who knows all but the noise to come:
// repeating a season has √2 times that, so that nothing does better than 0.71 of the season but by luck.
func BenchmarkBacktest(b *testing.B) {
	var last, season, worst, possible float64
	for b.Loop() {
		last, season, worst, possible = 0, 0, 0, 0
		for _, r := range seasonal() {
			s, _ := heldOut(r, heldSeeds, 30, int(day/r.step))
			last, season = max(last, s.ours/s.last), max(season, s.ours/s.seasonalNaive())
			worst, possible = max(worst, s.ours/s.naive()), max(possible, s.ours/s.possible)
		}
		for _, r := range others() {
			horizon := min(12*time.Hour, time.Duration(r.days*float64(day)/4))
			if s, _ := heldOut(r, heldSeeds, 60, int(horizon/r.step)); s.naive() > 0 {
				worst = max(worst, s.ours/s.naive())
			}
		}
	}
	b.ReportMetric(last, "against-last")
	b.ReportMetric(season, "against-season")
	b.ReportMetric(worst, "against-best-naive")
	b.ReportMetric(possible, "against-possible")
}
