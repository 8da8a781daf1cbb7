package frames_test

import (
	"fmt"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func instant(count int) []gpu.Series {
	all := make([]gpu.Series, count)
	for i := range all {
		d := board("north", fmt.Sprintf("node-%05d", i/8), i)
		d.Index = i % 8
		all[i] = gpu.Series{Device: d, Times: []int64{start}, Values: []float64{float64(i%700) + 0.25}}
	}
	return all
}

// Ten times the rows take ten times as long.
func BenchmarkLatest(b *testing.B) {
	for _, count := range []int{1_000, 10_000, 100_000} {
		all := instant(count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				frames.Latest(all, frames.Options{Metric: "gpu_power_watts", Unit: gpu.Watts})
			}
		})
	}
}

func BenchmarkSort(b *testing.B) {
	for _, count := range []int{1_000, 10_000, 100_000} {
		all := instant(count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				frames.Sort(all)
			}
		})
	}
}

func BenchmarkWideOfMany(b *testing.B) {
	for _, count := range []int{1_000, 10_000, 100_000} {
		all := instant(count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				frames.Wide(all, frames.Options{Metric: "gpu_power_watts", Unit: gpu.Watts})
			}
		})
	}
}
