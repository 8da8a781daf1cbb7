package bottleneck

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// fleet is a grid of n GPUs in jobs of eight, with all that our agent measures, and ten kinds of work.
func fleet(n, steps int, step time.Duration) *insight.Devices {
	random := rand.New(rand.NewPCG(1, 2))
	subjects := make([]insight.Subject, n)
	models := []string{"NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA L40S"}
	for i := range subjects {
		subjects[i] = insight.Subject{
			Device: gpu.Device{
				Identity: gpu.Identity{Cluster: "c", Node: fmt.Sprint("node-", i/8), UUID: fmt.Sprint("GPU-", i)},
				Index:    i % 8, Model: models[i/8%3],
			},
			Owners: []gpu.Owner{{SlurmJob: fmt.Sprint(i / 8)}}, Class: insight.Training,
		}
	}
	from := time.Unix(1_700_000_000, 0)
	grid := insight.NewGrid(from, from.Add(time.Duration(steps)*step), step, subjects)
	typical := [columns]float64{
		smActive: 0.8, graphicsActive: 0.95, utilization: 1, tensorActive: 0.5, dramActive: 0.4, occupancy: 0.5, smClock: 1.9e9,
		smClockMax: 1.98e9, thermalSeconds: 0.02, capSeconds: 0.3, memUsed: 70e9, memFree: 15e9, memTotal: 86e9,
		memReserved: 1e9, pcieReceive: 5e9, pcieTransmit: 3e9, nvlinkTransmit: 1e11, nvlinkReceive: 1e11, power: 500, powerLimit: 700,
	}
	for c, s := range sources() {
		if typical[c] == 0 && column(c) != reasons {
			continue
		}
		backing := make([]float64, n*steps)
		for i := range backing {
			backing[i] = typical[c] * (0.1 + 1.1*random.Float64())
			if column(c) == reasons {
				backing[i] = float64([]int{0, 1, 4, 4, 4, 36, 64}[random.IntN(7)])
			}
			backing[i] = min(backing[i], s.most)
		}
		for d := range n {
			grid.Set(s.field, d, backing[d*steps:(d+1)*steps:(d+1)*steps])
		}
	}
	return grid
}

// BenchmarkJudge is one pass over statistics of five minutes, of all GPUs and their jobs.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			grid := fleet(n, 1, 5*time.Minute)
			limits := DefaultLimits()
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				report, err := Judge(grid, nil, limits)
				if err != nil || len(report.Devices) != n || len(report.Jobs) != n/8 {
					b.Fatal(err, len(report.Jobs))
				}
			}
			spent := processorTime(b) - before
			b.ReportMetric(spent.Seconds()*1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/float64(n), "cpu-nanos-each")
		})
	}
}

// processorTime is what the process has used so far, the collector's part with it.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTimeline is a day of a job of 64 GPUs, a verdict a minute.
func BenchmarkTimeline(b *testing.B) {
	grid := fleet(64, 1440, time.Minute)
	limits := DefaultLimits()
	for b.Loop() {
		if _, err := Judge(grid, nil, limits); err != nil {
			b.Fatal(err)
		}
	}
}
