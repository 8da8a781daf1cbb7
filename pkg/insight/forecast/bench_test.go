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
// units that the runner compares with their limits.
func BenchmarkBacktest(b *testing.B) {
	var last, season, worst float64
	for b.Loop() {
		last, season, worst = 0, 0, 0
		for _, r := range seasonal() {
			s, _ := heldOut(r, heldSeeds, 30, int(day/r.step))
			last, season = max(last, s.ours/s.last), max(season, s.ours/s.seasonalNaive())
			worst = max(worst, s.ours/s.naive())
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
}
