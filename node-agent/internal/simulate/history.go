package simulate

import (
	"context"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// historyGroups are what the past has: what dashboards look back on.
var historyGroups = device.ProfileGroups(device.Lean) |
	device.GroupsOf(device.GroupPCIe, device.GroupNVLink, device.GroupEngines)

// batchTicks is how many samples share a message.
const batchTicks = 64

// WriteHistory writes what the node did from a time to another, both included, as length-delimited messages: a Schema and
// then Batches. What a live agent with the same options reads afterwards continues it.
func (s *Source) WriteHistory(ctx context.Context, w io.Writer, node snapshot.Node, rows *snapshot.Rows, from, to time.Time) error {
	var devices []gpu.Device
	for _, b := range s.boards {
		devices = append(devices, b.devices...)
	}
	schema := snapshot.NewSchema(node, driverVersion, devices, historyGroups, rows)
	schema.Wire.ClockUnixMs = to.UnixMilli()
	if err := write(w, &wire.Message{Body: &wire.Message_Schema{Schema: schema.Wire}}); err != nil {
		return err
	}
	encoder := wire.NewEncoder(schema.Wire)
	values := make([]device.Values, len(devices))
	batch := &wire.Batch{}
	seq := uint64(0)
	for at := from; !at.After(to); at = at.Add(node.Period) {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.sampleAll(ctx, at, values)
		seq++
		tick, err := encoder.Encode(wire.Sample{Seq: seq, Time: at, Readings: schema.Flatten(values)})
		if err != nil {
			return err
		}
		if batch.Ticks = append(batch.Ticks, tick); len(batch.Ticks) == batchTicks {
			if err := write(w, &wire.Message{Body: &wire.Message_Batch{Batch: batch}}); err != nil {
				return err
			}
			batch.Ticks = batch.Ticks[:0]
		}
	}
	if len(batch.Ticks) == 0 {
		return nil
	}
	return write(w, &wire.Message{Body: &wire.Message_Batch{Batch: batch}})
}

// sampleAll reads every board; one that is lost has no readings, as it has none live.
func (s *Source) sampleAll(ctx context.Context, at time.Time, values []device.Values) {
	next := 0
	for _, b := range s.boards {
		mine := values[next : next+len(b.devices)]
		next += len(b.devices)
		if err := b.Sample(ctx, at, historyGroups, &device.Sample{Values: mine}); err != nil {
			for i := range mine {
				mine[i].Fill(device.StateOf(err))
			}
		}
	}
}

func write(w io.Writer, m *wire.Message) error {
	if _, err := protodelim.MarshalTo(w, m); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}
