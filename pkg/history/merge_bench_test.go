package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// Size of BenchmarkMerge: GPUs, points of history, and live samples of each.
const (
	mergeSeries = 1000
	mergePoints = 1000
	mergeTail   = 60
	mergeStep   = 15_000
)

// replicaOf is what one of two replicas answers: all GPUs on one grid, without the points of a time when it was down.
func replicaOf(gap int, value float64) []rawSeries {
	var times []int64
	for i := range mergePoints {
		if i < gap || i >= gap+20 {
			times = append(times, t0*1000/mergeStep*mergeStep+int64(i)*mergeStep)
		}
	}
	all := make([]rawSeries, mergeSeries)
	for i := range all {
		values := make([]float64, len(times))
		for k := range values {
			values[k] = value + float64(i)
		}
		all[i] = rawSeries{Times: times, Values: values, Labels: labelSet{own: []label{
			{"__name__", "gpu_power_watts"}, {"gpu", fmt.Sprint(i % 8)}, {"gpu_uuid", fmt.Sprintf("GPU-%08x-0a00-4a00-8b00-%012x", i, i)},
			{"instance", fmt.Sprintf("10.9.0.%d:9847", i/8)}, {"job", "warpwatch-agent"}, {"model", "NVIDIA H200"}, {"node", fmt.Sprintf("node-%04d", i/8)},
		}}}
	}
	return all
}

// The name in the benchmark runner is history-merge.
func BenchmarkMerge(b *testing.B) {
	replicas := [2][]rawSeries{replicaOf(200, 100), replicaOf(700, 100)}
	h := openAt(b, Endpoint{ID: "a", Cluster: "north", URL: "http://a", Replica: true}, Endpoint{ID: "b", Cluster: "north", URL: "http://b", Replica: true})
	m, _ := h.catalog.Metric("gpu_power_watts")
	p := h.plan(vocabulary{series: map[string]bool{"gpu_power_watts": true}}, m)
	from := time.UnixMilli(t0 * 1000 / mergeStep * mergeStep)
	w := query.Window{From: from, To: from.Add((mergePoints - 1) * mergeStep * time.Millisecond), Step: mergeStep * time.Millisecond, ScrapeInterval: 15 * time.Second}
	join := w.To.UnixMilli() - 10*mergeStep
	live := make([]gpu.Series, mergeSeries)
	var tail []int64
	for i := range mergeTail {
		tail = append(tail, join+int64(i)*mergeStep)
	}
	for i, s := range replicas[0] {
		id, _ := h.catalog.Resolve(s.Labels)
		id.Device.Cluster = "north"
		values := make([]float64, mergeTail)
		for k := range values {
			values[k] = 100 + float64(i)
		}
		live[i] = gpu.Series{Device: id.Device, Times: tail, Values: values}
	}
	scope, err := query.Scope{}.Compile() // as those of queries are
	if err != nil {
		b.Fatal(err)
	}
	const length = mergePoints - 11 + mergeTail

	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			all := collected{tallies: tallies{}, found: true}
			for i, answer := range replicas {
				all.candidates = slices.Grow(all.candidates, len(answer))
				for _, s := range answer {
					h.consider(&all, h.endpoints[i], query.Scope{}, p, units{}, s, nil)
				}
			}
			all.roster.complete()
			r := reduced(all, query.Query{Scope: scope}, m, w)
			joined := timeline.Join(r.series(), live)
			if len(joined) != mergeSeries || len(joined[0].Values) != length || slices.ContainsFunc(joined[0].Values, math.IsNaN) {
				b.Fatalf("%d series of %d points", len(joined), len(joined[0].Values))
			}
		}
	})
	b.Run("label-strings", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			merged := map[string]map[int64]float64{}
			add := func(key string, times []int64, values []float64) {
				if merged[key] == nil {
					merged[key] = map[int64]float64{}
				}
				for i, t := range times {
					merged[key][t] = values[i]
				}
			}
			for _, answer := range replicas {
				for _, s := range answer {
					add(labelString(s.Labels), s.Times, s.Values)
				}
			}
			for i, s := range live {
				add(labelString(replicas[0][i].Labels), s.Times, s.Values)
			}
			for _, points := range merged {
				times := make([]int64, 0, len(points))
				for t := range points {
					times = append(times, t)
				}
				slices.Sort(times)
				values := make([]float64, len(times))
				for i, t := range times {
					values[i] = points[t]
				}
				if kept = (rawSeries{Times: times, Values: values}); len(times) != length {
					b.Fatalf("%d points", len(times))
				}
			}
		}
	})
}

// labelString is a label set as people write it: name{a="b", …}.
func labelString(labels labelSet) string {
	parts := make([]string, 0, labels.len())
	for _, l := range labels.all() {
		parts = append(parts, fmt.Sprintf("%s=%q", l.Name, l.Value))
	}
	slices.Sort(parts)
	return "{" + strings.Join(parts, ", ") + "}"
}
