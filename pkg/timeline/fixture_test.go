package timeline

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

var nan = math.NaN()

func readFixture(t testing.TB, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, into))
}

// matrix is the part of a range query's answer that the fixtures hold.
type matrix struct {
	Data struct {
		Result []struct {
			Metric map[string]string   `json:"metric"`
			Values [][]json.RawMessage `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

func (m matrix) series(t testing.TB) gpu.Series {
	t.Helper()
	s := gpu.Series{Device: gpu.Device{Identity: gpu.Identity{UUID: m.Data.Result[0].Metric["UUID"]}}}
	for _, pair := range m.Data.Result[0].Values {
		var seconds int64
		var text string
		require.NoError(t, json.Unmarshal(pair[0], &seconds))
		require.NoError(t, json.Unmarshal(pair[1], &text))
		v, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		s.Times, s.Values = append(s.Times, seconds*1000), append(s.Values, v)
	}
	return s
}

func device(node, uuid string) gpu.Device {
	return gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: node, UUID: uuid}, Model: "H200"}
}

func instance(node, uuid, id string) gpu.Device {
	d := device(node, uuid)
	d.GPUInstance = id
	return d
}

func line(d gpu.Device, times []int64, values ...float64) gpu.Series {
	return gpu.Series{Device: d, Times: times, Values: values}
}

// sameValues compares with NaN equal to NaN.
func sameValues(t *testing.T, want, got []float64, message ...any) {
	t.Helper()
	require.Len(t, got, len(want), message...)
	for i := range want {
		if math.IsNaN(want[i]) {
			require.True(t, math.IsNaN(got[i]), "value %d is %v, want NaN; %v", i, got[i], message)
			continue
		}
		require.InDelta(t, want[i], got[i], 1e-6*math.Max(1, math.Abs(want[i])), "value %d; %v", i, message)
	}
}
