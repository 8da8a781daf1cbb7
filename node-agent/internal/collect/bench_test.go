package collect

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/simulate"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// BenchmarkTick is one sampling of eight simulated GPUs, from the schedule's tick to the published frame: the agent's own
// cost, with as little of a driver's as can be. Everything on every tick is what the schedule spares.
func BenchmarkTick(b *testing.B) {
	everything := NewSchedule(device.Deep, map[device.Class]time.Duration{
		device.Fast: time.Second, device.Normal: time.Second, device.Slow: time.Second, device.Static: time.Second,
	})
	b.Run("everything", func(b *testing.B) { benchmarkTick(b, everything) })
	for _, profile := range device.Profiles() {
		b.Run(string(profile), func(b *testing.B) { benchmarkTick(b, NewSchedule(profile, ClassIntervals(time.Second))) })
	}
	b.Run("standard at 10 Hz", func(b *testing.B) {
		benchmarkTick(b, NewSchedule(device.Standard, ClassIntervals(100*time.Millisecond)))
	})
}

func benchmarkTick(b *testing.B, schedule Schedule) {
	model, err := simulate.ModelNamed("H200")
	if err != nil {
		b.Fatal(err)
	}
	source, err := simulate.New(simulate.Options{Node: "n1", GPUs: 8, Model: model, Profile: simulate.Mixed}, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	cat, err := catalog.Load()
	if err != nil {
		b.Fatal(err)
	}
	rows, err := snapshot.LoadRows(cat)
	if err != nil {
		b.Fatal(err)
	}
	c := New(Options{
		Source: source, Store: snapshot.NewStore(300, 1<<20), Rows: rows, Metrics: NewMetrics(prometheus.NewRegistry()),
		Node: snapshot.Node{Name: "n1", Period: schedule.Tick}, Schedule: schedule, Logger: slog.New(slog.DiscardHandler),
		Events: snapshot.NewEventLog(100), Processes: new(snapshot.Latest[snapshot.ProcessList]),
	})
	c.layout()
	found, err := source.Inventory(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	c.apply(report{found: &found})
	at := align(time.Now(), schedule.Tick)
	b.ReportAllocs()
	for b.Loop() {
		at = at.Add(schedule.Tick)
		c.tick(b.Context(), at)
	}
	for _, e := range c.entries {
		e.retire()
	}
	close(c.stopped)
	c.workers.Wait()
}
