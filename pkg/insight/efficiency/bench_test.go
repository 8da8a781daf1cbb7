package efficiency

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

// benchFleet is an hour of a fleet in steps of 5 minutes: nodes of 8 GPUs, one GPU in 16 split, a pod on most.
func benchFleet(gpus int) Input {
	const steps = 12
	var subjects []insight.Subject
	for i := range gpus {
		s := insight.Subject{Device: gpu.Device{
			Identity: gpu.Identity{Cluster: "c", Node: fmt.Sprintf("node-%05d", i/8), UUID: fmt.Sprintf("GPU-%08x-0a00", i)},
			Index:    i % 8, Model: "NVIDIA H100 80GB HBM3",
		}}
		if i%16 == 5 {
			subjects = append(subjects, s)
			for k, profile := range []string{"3g.40gb", "2g.20gb", "1g.10gb"} {
				s.GPUInstance, s.MIGProfile = fmt.Sprint(k+1), profile
				subjects = append(subjects, s)
			}
			continue
		}
		if i%5 > 0 {
			s.Owners = []gpu.Owner{{Namespace: fmt.Sprint("team-", i/8%200), Pod: fmt.Sprint("train-", i/8), Source: "kubelet"}}
		}
		subjects = append(subjects, s)
	}
	from := insighttest.Start
	g := insight.NewGrid(from, from.Add(steps*5*time.Minute), 5*time.Minute, subjects)
	for k, f := range []insight.Field{
		{Metric: smActive}, {Metric: energyTotal, Of: insight.Rise}, {Metric: power}, {Metric: memoryUsed}, {Metric: memoryTotal},
		{Metric: tensorActive}, {Metric: smClock}, {Metric: smClockMax}, {Metric: recovery, Of: insight.Max},
	} {
		scale := [...]float64{1, 200_000, 700, 80 << 30, 80 << 30, 0.6, 1.9e9, 1.98e9, 0}[k]
		for i := range subjects {
			values := make([]float64, steps)
			for t := range values {
				values[t] = scale * float64((i*7+t*3)%10) / 10
			}
			g.Set(f, i, values)
		}
	}
	return Input{Devices: g}
}

// The names in the benchmark runner are insight-efficiency and insight-efficiency-linear.
func BenchmarkEfficiency(b *testing.B) {
	for _, gpus := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(gpus), func(b *testing.B) {
			in := benchFleet(gpus)
			tariff := Tariff{Currency: "EUR", Prices: []Price{{Model: "H100", PerGPUHour: 3}}}
			before := processorTime()
			for b.Loop() {
				Measure(in, DefaultLimits(), tariff, Options{By: []By{ByNamespace}})
			}
			spent := processorTime() - before
			b.ReportMetric(spent.Seconds()*1000/float64(b.N), "cpu-ms")
			b.ReportMetric(spent.Seconds()*1e6/float64(b.N)/float64(gpus), "cpu-µs/GPU")
		})
	}
}

// processorTime is what the process has used so far, the collector's part with it.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
