package frames_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

var updateCells = flag.Bool("update-cells", false, "write the vectors of src/shared/testdata/cells.json")

const cellVectors = "../../src/shared/testdata/cells.json"

// wideOf is the frame that a packet of rows stands for.
func wideOf(times []int64, rows [][]float64, width int) *data.Frame {
	series := make([]gpu.Series, width)
	for column := range series {
		series[column] = gpu.Series{Device: board("north", "n1", column), Times: times, Values: make([]float64, len(times))}
		for i := range times {
			series[column].Values[i] = math.NaN()
			if column < len(rows[i]) {
				series[column].Values[i] = rows[i][column]
			}
		}
	}
	return frames.Wide(series, frames.Options{Metric: "gpu_power_watts", Unit: gpu.Watts, Notices: []gpu.Notice{{Text: "a <notice>"}}})
}

func reading() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64(),
		rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-2_000_000, 2_000_000).Draw(t, "n")) / 1000 }),
		rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.Int64().Draw(t, "n")) }),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e-6, 9.99e-7, 1e21, 1e20, 5e-324, math.MaxFloat64, 0.1, 0.001, -0.001, 999999999.999}),
	)
}

// What we write is byte for byte what the SDK writes.
func TestPacketIsWhatTheSDKWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count, width := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 6).Draw(t, "width")
		times, rows := make([]int64, count), make([][]float64, count)
		for i := range times {
			times[i] = start + int64(i)*100
			rows[i] = rapid.SliceOfN(reading(), 0, width).Draw(t, "row")
		}
		frame := wideOf(times, rows, width)
		want, err := data.FrameToJSON(frame, data.IncludeDataOnly)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(frames.AppendRows(nil, times, rows, width)))

		want, err = data.FrameToJSON(frame, data.IncludeAll)
		require.NoError(t, err)
		schema := wideOf(nil, nil, width)
		got, err := frames.AppendPacket(nil, schema, times, rows)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
	})
}

// A stamped packet is the SDK's, too, and its stamp is another one when the meta is.
func TestStamp(t *testing.T) {
	times, rows := []int64{start}, [][]float64{{1, 2}}
	plain := wideOf(times, rows, 2)
	stamped, err := frames.Stamped(plain)
	require.NoError(t, err)
	assert.Len(t, plain.Fields, 3, "the frame stays as it is")
	want, err := data.FrameToJSON(stamped, data.IncludeDataOnly)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(frames.AppendRows(nil, times, rows, 3)))

	name := func(custom any, notices ...data.Notice) string {
		frame := wideOf(nil, nil, 2)
		frame.Meta.Custom, frame.Meta.Notices = custom, notices
		stamped, err := frames.Stamped(frame)
		require.NoError(t, err)
		return stamped.Fields[3].Name
	}
	seen := map[string]bool{}
	for range 2 {
		seen[name(nil)] = true
		seen[name(nil, data.Notice{Text: "a"})] = true
		seen[name(nil, data.Notice{Text: "b"})] = true
		seen[name(map[string]any{"rows": 0, "refused": "full"})] = true
	}
	assert.Len(t, seen, 4)
	for stamp := range seen {
		assert.Contains(t, stamp, frames.StampPrefix)
	}
	_, err = frames.Stamped(&data.Frame{Meta: &data.FrameMeta{Custom: func() {}}})
	require.ErrorContains(t, err, "encode the meta")
}

// Cells are within half a step of the value, absent is no value, and nothing else is.
func TestCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(reading()).Draw(t, "values")
		scaled := rapid.Bool().Draw(t, "scaled")
		var c frames.Cells
		least, most := math.NaN(), math.NaN()
		if scaled {
			least, most = 0, 1
		}
		c.Quantise(values, least, most)
		absent := 0
		for i, v := range values {
			got := c.Value(c.Cells[i])
			if math.IsNaN(v) || math.IsInf(v, 0) {
				absent++
				assert.True(t, math.IsNaN(got))
				continue
			}
			if span := c.Max - c.Min; !math.IsInf(span, 0) && (span == 0 || span > 1e-300) {
				assert.InDelta(t, v, got, span/254/2*1.01+1e-12*math.Abs(v))
			}
		}
		assert.Equal(t, absent, c.Absent)
		if scaled {
			assert.LessOrEqual(t, c.Min, 0.0)
			assert.GreaterOrEqual(t, c.Max, 1.0)
		}
	})
}

type cellVector struct {
	Name   string
	Packet json.RawMessage
	Values []*float64 // null where absent
}

// The browser reads cells as they are meant: its test has the same vectors. go test ./pkg/frames -update-cells writes them.
func TestCellVectors(t *testing.T) {
	var vectors []cellVector
	for _, v := range []struct {
		name        string
		values      []float64
		least, most float64
		stale       int
	}{
		{"nothing", nil, math.NaN(), math.NaN(), 0},
		{"all absent", []float64{math.NaN(), math.Inf(1)}, math.NaN(), math.NaN(), 1},
		{"one value", []float64{71.5}, math.NaN(), math.NaN(), 0},
		{"a ratio", []float64{0, 0.25, math.NaN(), 0.5, 1}, 0, 1, 1},
		{"above its scale", []float64{0.5, 1.25}, 0, 1, 0},
		{"watts", []float64{88, 700, 391.25, math.NaN(), 512}, math.NaN(), math.NaN(), 0},
		{"negative", []float64{-40, 85}, math.NaN(), math.NaN(), 0},
	} {
		c := frames.Cells{Time: start, Layout: "00c0ffee00c0ffee", Stale: v.stale}
		c.Quantise(v.values, v.least, v.most)
		vector := cellVector{Name: v.name, Packet: c.Append(nil), Values: make([]*float64, len(c.Cells))}
		for i, cell := range c.Cells {
			if value := c.Value(cell); !math.IsNaN(value) {
				vector.Values[i] = &value
			}
		}
		vectors = append(vectors, vector)
	}
	text, err := json.MarshalIndent(vectors, "", "  ")
	require.NoError(t, err)
	if *updateCells {
		require.NoError(t, os.MkdirAll("../../src/shared/testdata", 0o755))
		require.NoError(t, os.WriteFile(cellVectors, append(text, '\n'), 0o600))
	}
	kept, err := os.ReadFile(cellVectors)
	require.NoError(t, err)
	assert.JSONEq(t, string(kept), string(text), "run go test ./pkg/frames -update-cells and look at what changed")
}

// A fleet of 100,000 is a packet of less than 150 kB.
func TestFleetPacketIsSmall(t *testing.T) {
	values := fleetValues(100_000)
	var c frames.Cells
	c.Time, c.Layout = start, "00c0ffee00c0ffee"
	c.Quantise(values, math.NaN(), math.NaN())
	packet := c.Append(nil)
	assert.Less(t, len(packet), 150_000)
	var parsed struct{ Data struct{ Values [][]any } }
	require.NoError(t, json.Unmarshal(packet, &parsed))
	assert.Len(t, parsed.Data.Values, len(frames.CellColumns())+1)
}

func fleetValues(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i*7919%700_000) / 1000
		if i%1000 == 17 {
			values[i] = math.NaN()
		}
	}
	return values
}

// BenchmarkLiveFrame makes the packet of one row of 8 nodes of 16 GPUs, and of one value of each of 100,000 GPUs: ours,
// and with the SDK of frames that are there already.
func BenchmarkLiveFrame(b *testing.B) {
	b.Run("row/ours", func(b *testing.B) {
		times, rows := []int64{start}, [][]float64{fleetValues(8 * 16)}
		b.ReportAllocs()
		for b.Loop() {
			frames.AppendRows(nil, times, rows, 8*16)
		}
	})
	b.Run("row/sdk", func(b *testing.B) { benchSDK(b, wideOf([]int64{start}, [][]float64{fleetValues(8 * 16)}, 8*16)) })
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		values := fleetValues(n)
		b.Run(fmt.Sprintf("cells-%d/ours", n), func(b *testing.B) {
			var c frames.Cells
			c.Time, c.Layout = start, "00c0ffee00c0ffee"
			b.ReportAllocs()
			var packet []byte
			for b.Loop() {
				c.Quantise(values, math.NaN(), math.NaN())
				packet = c.Append(nil)
			}
			b.ReportMetric(float64(len(packet)), "B/packet")
		})
		if n == 100_000 {
			b.Run(fmt.Sprintf("cells-%d/sdk", n), func(b *testing.B) {
				column := data.NewFrame("", data.NewField("value", nil, make([]*float64, n)))
				for i := range values {
					if !math.IsNaN(values[i]) {
						column.Fields[0].Set(i, &values[i])
					}
				}
				benchSDK(b, column)
			})
		}
	}
}

func benchSDK(b *testing.B, frame *data.Frame) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := data.FrameToJSON(frame, data.IncludeDataOnly); err != nil {
			b.Fatal(err)
		}
	}
}
