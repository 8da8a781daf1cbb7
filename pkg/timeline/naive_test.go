package timeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// naiveJoin is the obvious way to do what Join does, and its rival: a map of times for each series.
func naiveJoin(history, live []gpu.Series) []gpu.Series {
	type points map[int64]float64
	all := make(map[string]points)
	devices := make(map[string]gpu.Device)
	first := make(map[string]int64)
	for _, s := range live {
		name := fmt.Sprintf("%+v", s.Device.Identity)
		all[name], devices[name] = make(points), s.Device
		if len(s.Times) > 0 {
			first[name] = s.Times[0]
		}
		for i, t := range s.Times {
			all[name][t] = s.Values[i]
		}
	}
	for _, s := range history {
		name := fmt.Sprintf("%+v", s.Device.Identity)
		if all[name] == nil {
			all[name], devices[name] = make(points), s.Device
		}
		start, ok := first[name]
		for i, t := range s.Times {
			if !ok || t < start {
				all[name][t] = s.Values[i]
			}
		}
	}
	out := make([]gpu.Series, 0, len(all))
	for name, points := range all {
		s := gpu.Series{Device: devices[name]}
		for t := range points {
			s.Times = append(s.Times, t)
		}
		slices.Sort(s.Times)
		for _, t := range s.Times {
			s.Values = append(s.Values, points[t])
		}
		out = append(out, s)
	}
	return out
}

func TestJoinIsWhatTheNaiveWayGives(t *testing.T) {
	history, live := fleet(30, 40, 15_000, 0), fleet(35, 20, 1_000, 590_000)
	want, got := naiveJoin(history, live), Join(history, live)
	sortSeries(want)
	sortSeries(got)
	require.Equal(t, want, got)
}
