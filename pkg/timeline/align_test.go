package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestAlign(t *testing.T) {
	for _, tc := range []struct {
		name         string
		step, period time.Duration
		times        []int64
		values       []float64
		wantTimes    []int64
		want         []float64
	}{
		{name: "empty", step: time.Second},
		{
			name: "the last of each bin", step: time.Second, period: 250 * time.Millisecond,
			times: []int64{1000, 1250, 1500, 1750, 2000, 2250}, values: []float64{1, 2, 3, 4, 5, 6},
			wantTimes: []int64{1000, 2000}, want: []float64{4, 6},
		},
		{
			name: "an absent last reading does not hide the one before", step: time.Second,
			times: []int64{1000, 1500, 2000}, values: []float64{1, nan, nan},
			wantTimes: []int64{1000, 2000}, want: []float64{1, nan},
		},
		{
			name: "a hole stays a hole", step: time.Second, period: time.Second,
			times: []int64{1003, 2003, 6003}, values: []float64{1, 2, 6},
			wantTimes: []int64{1000, 2000, 6000}, want: []float64{1, 2, 6},
		},
		{
			name: "one missed sample is missing", step: time.Second, period: time.Second,
			times: []int64{1003, 3003}, values: []float64{1, 3},
			wantTimes: []int64{1000, 3000}, want: []float64{1, 3},
		},
		{
			name: "a sample that came a little early", step: time.Second, period: time.Second,
			times: []int64{1001, 1998, 3001}, values: []float64{1, 2, 3},
			wantTimes: []int64{1000, 2000, 3000}, want: []float64{2, 2, 3},
		},
		{
			name: "a period longer than the step", step: time.Second, period: 5 * time.Second,
			times: []int64{0, 5000, 10000}, values: []float64{1, 2, 3},
			wantTimes: []int64{0, 5000, 10000}, want: []float64{1, 2, 3},
		},
		{
			name: "before 1970", step: time.Second,
			times: []int64{-1500, -1}, values: []float64{1, 2},
			wantTimes: []int64{-2000, -1000}, want: []float64{1, 2},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Align([]gpu.Series{{Times: tc.times, Values: tc.values}}, tc.step, tc.period, KeepLast)
			require.Equal(t, tc.wantTimes, got[0].Times)
			sameValues(t, tc.want, got[0].Values)
		})
	}
}
