package collect

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/node-agent/internal/simulate"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// BenchmarkTick is one sampling of eight simulated GPUs, from the schedule's tick to the published frame: the agent's own
// cost, with as little of a driver's as can be.
func BenchmarkTick(b *testing.B) {
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
		Node: snapshot.Node{Name: "n1", Period: time.Second}, Logger: slog.New(slog.DiscardHandler),
	})
	c.layout()
	found, err := source.Inventory(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	c.apply(report{found: &found})
	b.ReportAllocs()
	for b.Loop() {
		c.tick(b.Context(), time.Now())
	}
	for _, e := range c.entries {
		e.retire()
	}
	close(c.stopped)
	c.workers.Wait()
}
