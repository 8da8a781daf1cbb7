package timeline

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// repeated is a line that has each value so many times in a row.
func repeated(values []float64, times ...int) gpu.Series {
	var s gpu.Series
	for i, v := range values {
		for range times[i%len(times)] {
			s.Times = append(s.Times, int64(len(s.Times))*5000)
			s.Values = append(s.Values, v)
		}
	}
	return s
}

func TestStairs(t *testing.T) {
	up := []float64{70, 310, 68, 305, 72, 300, 71}
	for name, test := range map[string]struct {
		line gpu.Series
		want time.Duration
	}{
		"six of each":                 {repeated(up, 6), 30 * time.Second},
		"two or three of each":        {repeated(up, 2, 3), 13 * time.Second},
		"one of each":                 {repeated(up, 1), 0},
		"as it happens":               {repeated(up, 2, 9, 3, 1), 0},
		"few":                         {repeated(up[:4], 6), 0},
		"never changes":               {repeated(up[:1], 60), 0},
		"nothing":                     {gpu.Series{}, 0},
		"a gap cuts a step in pieces": {repeated([]float64{70, 310, math.NaN(), 310, 72, 300, 68, 70, 71, 72}, 4, 4, 4, 2, 4, 4), 20 * time.Second},
	} {
		got, ok := Stairs([]gpu.Series{test.line})
		require.Equal(t, test.want, got, name)
		require.Equal(t, test.want > 0, ok, name)
	}
	_, ok := Stairs(nil)
	require.False(t, ok)
}
