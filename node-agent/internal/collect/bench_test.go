package collect

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// BenchmarkTick is one sampling of eight GPUs, from the schedule's tick to the published frame: the agent's own
// cost, with nothing of a driver's. Everything on every tick is what the schedule spares.
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
	source := &fakeSource{}
	for i := range 8 {
		source.boards = append(source.boards, quietBoard{newBoard(i)})
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
		Source: source, Store: snapshot.NewStore(299*time.Second, 1<<24), Rows: rows, Metrics: NewMetrics(prometheus.NewRegistry()),
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

// quietBoard answers at once, and with nothing.
type quietBoard struct{ *fakeBoard }

func (quietBoard) Sample(context.Context, time.Time, device.Groups, *device.Sample) error { return nil }
