package anomaly

import (
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

const benchGPUs = 1000

// The name in the benchmark runner is insight-baseline. Ours adds an hour of 1,000 GPUs to baselines of 14 days and asks what
// is expected next; the rival makes the baselines anew from all values and asks the same.
func BenchmarkBaseline(b *testing.B) {
	const step = 5 * time.Minute
	g := fleet(benchGPUs, 15, step, 1)
	perHour := int(time.Hour / step)
	known := 14 * 24 * perHour
	all := func(until int) []*Baseline {
		out := make([]*Baseline, benchGPUs)
		for i := range out {
			out[i] = NewBaseline()
			for k, v := range g.Values(power, i)[:until] {
				out[i].Add(g.Times[k], v)
			}
		}
		return out
	}
	ask := func(bs []*Baseline, at int64) (sum float64) {
		for _, one := range bs {
			sum += one.At(at).P50
		}
		return sum
	}
	hours := len(g.Times)/perHour - known/perHour

	b.Run("incremental", func(b *testing.B) {
		bs := all(known)
		ask(bs, g.Times[known-1])
		hour := 0
		for b.Loop() {
			if hour == hours { // a day is done: begin again
				b.StopTimer()
				bs, hour = all(known), 0
				ask(bs, g.Times[known-1])
				b.StartTimer()
			}
			from := known + hour*perHour
			for i, one := range bs {
				values := g.Values(power, i)
				for k := from; k < from+perHour; k++ {
					one.Add(g.Times[k], values[k])
				}
			}
			ask(bs, g.Times[from]+hourMS)
			hour++
		}
	})
	b.Run("recomputed", func(b *testing.B) {
		for b.Loop() {
			ask(all(known+perHour), g.Times[known]+hourMS)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	g := fleet(200, 15, 5*time.Minute, 1)
	for i := range g.Subjects {
		g.Subjects[i].Class = insight.Training
	}
	for _, o := range []Options{{Metric: power.Metric}, {Metric: power.Metric, Against: Model}} {
		set := NewSet(1000)
		b.Run(string(o.against()), func(b *testing.B) {
			for b.Loop() {
				Judge(g, nil, set, o, DefaultLimits())
			}
		})
	}
}
