package anomaly

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

var monday = time.UnixMilli(1767571200000) // 2026-01-05 00:00 UTC

var power = insight.Field{Metric: "gpu_power_watts"}

// fleet is a grid of healthy GPUs whose power has a daily and a weekly pattern, noise that echoes, gaps and sentinels.
func fleet(gpus int, days float64, step time.Duration, seed uint64) *insight.Devices {
	subjects := make([]insight.Subject, gpus)
	for i := range subjects {
		subjects[i] = insight.Subject{Device: gpu.Device{
			Identity: gpu.Identity{Cluster: "c", Node: fmt.Sprintf("n%d", i/8), UUID: fmt.Sprintf("GPU-%d", i)}, Model: "NVIDIA H100 80GB HBM3",
		}}
	}
	g := insight.NewGrid(monday, monday.Add(time.Duration(days*24*float64(time.Hour))), step, subjects)
	for i := range subjects {
		source := rand.New(rand.NewPCG(seed, uint64(i)))
		values := make([]float64, len(g.Times))
		noise, gap := 0.0, 0
		for k, at := range g.Times {
			d := float64(at-monday.UnixMilli()) / 86_400_000
			noise = 0.6*noise + source.NormFloat64()*12
			values[k] = 400 + 120*math.Sin(2*math.Pi*d) + noise
			if int(d)%7 >= 5 {
				values[k] -= 150
			}
			if gap > 0 {
				gap--
				values[k] = math.NaN()
			} else if source.Float64() < 0.002 {
				gap = 10
			}
			if source.Float64() < 0.0005 {
				values[k] = 1e37
			}
		}
		g.Set(power, i, values)
	}
	return g
}

// disturb changes the values of a subject between two times before the end.
func disturb(g *insight.Devices, subject int, from, to time.Duration, change func(v float64) float64) {
	values := g.Values(power, subject)
	n := len(values)
	for k := n - int(from/g.Step); k < n-int(to/g.Step); k++ {
		values[k] = change(values[k])
	}
}
