package agentbench

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/export"
	nvmlsource "github.com/warpwatch/warpwatch/node-agent/internal/nvml"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// collection reads eight GPUs, one after the other, and writes the text.
type collection struct {
	machine  *nvmltest.Machine
	boards   []device.Board
	samples  []device.Sample
	schema   *snapshot.Schema
	status   *snapshot.Status
	store    *snapshot.Store
	exporter *export.Exporter
	values   []device.Values
}

func newCollection(tb testing.TB) *collection {
	tb.Helper()
	spec, err := nvmltest.Load("dgx_h200")
	require.NoError(tb, err)
	c := &collection{store: snapshot.NewStore(99*time.Second, 1<<24), status: &snapshot.Status{}}
	c.machine, err = nvmltest.New(spec, nvmltest.Options{})
	require.NoError(tb, err)
	source := nvmlsource.New(c.machine, nvmlsource.Options{
		Proc: tb.TempDir(), Logger: slog.New(slog.DiscardHandler), Now: c.machine.Clock,
	})
	require.NoError(tb, source.Open(tb.Context()))
	tb.Cleanup(func() { require.NoError(tb, source.Close()) })
	found, err := source.Inventory(tb.Context())
	require.NoError(tb, err)
	c.boards = found.Boards
	var devices []gpu.Device
	for _, b := range c.boards {
		devices = append(devices, b.Devices()...)
		c.samples = append(c.samples, device.Sample{Values: make([]device.Values, len(b.Devices()))})
		c.status.Boards = append(c.status.Boards, snapshot.Board{
			Device: b.Devices()[0], Facts: b.Facts(), Condition: snapshot.Condition{State: snapshot.StateOK},
		})
	}
	cat, rows := table(tb)
	node := snapshot.Node{Name: "n1", Version: "bench", Source: "nvml", Epoch: "bench", Period: time.Second}
	c.schema = snapshot.NewSchema(node, found.Driver, devices, device.AllGroups, rows)
	c.exporter, err = export.New(export.Options{Store: c.store, Node: node, Catalog: cat})
	require.NoError(tb, err)
	c.take(tb, nil) // rates need a sample before
	return c
}

// take is one collection, after a second has passed.
func (c *collection) take(tb testing.TB, text []byte) []byte {
	tb.Helper()
	at := c.machine.Advance(time.Second)
	c.values = c.values[:0]
	for i, b := range c.boards {
		if err := b.Sample(tb.Context(), at, device.AllGroups, &c.samples[i]); err != nil {
			tb.Fatal(err)
		}
		c.values = append(c.values, c.samples[i].Values...)
	}
	require.NoError(tb, c.store.Append(&snapshot.Frame{Time: at, Schema: c.schema, Readings: c.schema.Flatten(c.values), Status: c.status}))
	return c.exporter.Append(text, at)
}
