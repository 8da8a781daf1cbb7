package agentbench

import (
	"bytes"
	"compress/gzip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/export"
	"github.com/warpwatch/warpwatch/node-agent/internal/simulate"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// BenchmarkAgentStreamBytes is how many bytes a tick takes in the stream, and as text: the same readings of eight simulated
// GPUs, whose numbers move like real ones. Each message and each answer is compressed for itself, as a scrape is. An
// operation is a tick.
func BenchmarkAgentStreamBytes(b *testing.B) {
	model, err := simulate.ModelNamed("H200")
	require.NoError(b, err)
	at := time.Unix(1_800_000_000, 0)
	source, err := simulate.New(simulate.Options{Seed: 7, Node: "n1", GPUs: 8, Model: model, Profile: simulate.Mixed}, func() time.Time { return at })
	require.NoError(b, err)
	require.NoError(b, source.Open(b.Context()))
	b.Cleanup(func() { require.NoError(b, source.Close()) })
	found, err := source.Inventory(b.Context())
	require.NoError(b, err)
	var devices []gpu.Device
	for _, board := range found.Boards {
		devices = append(devices, board.Devices()...)
	}
	cat, rows := table(b)
	node := snapshot.Node{Name: "n1", Version: "bench", Source: "simulate", Epoch: "bench", Period: time.Second}
	groups := device.ProfileGroups(device.Standard)
	schema := snapshot.NewSchema(node, found.Driver, devices, groups, rows)
	store := snapshot.NewStore(9*time.Second, 1<<24)
	exporter, err := export.New(export.Options{Store: store, Node: node, Catalog: cat})
	require.NoError(b, err)

	encoder := wire.NewEncoder(schema.Wire)
	z := new(zipped)
	// A reader is told the schema once; here as if it left after a minute.
	message, err := proto.Marshal(&wire.Message{Body: &wire.Message_Schema{Schema: schema.Wire}})
	require.NoError(b, err)
	const minute = 60
	first := float64(z.size(b, message)) / minute
	var stream, plainStream, text, plainText float64
	values := make([]device.Values, len(devices))
	b.ResetTimer()
	for range b.N {
		at = at.Add(time.Second)
		for i, board := range found.Boards {
			require.NoError(b, board.Sample(b.Context(), at, groups, &device.Sample{Values: values[i : i+1]}))
		}
		frame := &snapshot.Frame{Time: at, Schema: schema, Readings: schema.Flatten(values), Status: &snapshot.Status{}}
		require.NoError(b, store.Append(frame))
		tick, err := encoder.Encode(wire.Sample{Seq: frame.Seq, Time: at, Readings: frame.Readings})
		require.NoError(b, err)
		message, err := proto.Marshal(&wire.Message{Body: &wire.Message_Batch{Batch: &wire.Batch{Ticks: []*wire.Tick{tick}}}})
		require.NoError(b, err)
		page := exporter.Append(nil, at)
		stream, plainStream = stream+float64(z.size(b, message))+first, plainStream+float64(len(message))
		text, plainText = text+float64(z.size(b, page)), plainText+float64(len(page))
	}
	n := float64(b.N)
	b.ReportMetric(100*stream/text, "text-percent")
	b.ReportMetric(stream/n, "stream-B/op")
	b.ReportMetric(text/n, "text-B/op")
	b.ReportMetric(plainStream/n, "plain-stream-B/op")
	b.ReportMetric(plainText/n, "plain-text-B/op")
}

// zipped compresses things one by one.
type zipped struct {
	buffer bytes.Buffer
	writer *gzip.Writer
}

func (z *zipped) size(tb testing.TB, data []byte) int {
	tb.Helper()
	z.buffer.Reset()
	if z.writer == nil {
		z.writer = gzip.NewWriter(&z.buffer)
	}
	z.writer.Reset(&z.buffer)
	_, err := z.writer.Write(data)
	require.NoError(tb, err)
	require.NoError(tb, z.writer.Close())
	return z.buffer.Len()
}
