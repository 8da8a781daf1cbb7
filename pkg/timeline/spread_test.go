package timeline

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Rows of a spread are what the answer's own bands and heatmap have at the same times.
func TestSpreadContinuesBandsAndHeatmap(t *testing.T) {
	const nodes, seconds = 40, 6
	var series []gpu.Series
	plan := RowPlan{Plan: Plan{Step: time.Second, Period: time.Second}, Fields: []Field{{}, {}, {}, {}, {}, {}, {}, {}}}
	bands, heat := plan, plan
	bands.Spread = &BandSpread{}
	devices := make([][]gpu.Device, nodes)
	names := make([]string, nodes)
	for n := range nodes {
		names[n] = string(rune('a'+n/26)) + string(rune('a'+n%26))
		devices[n] = []gpu.Device{device(names[n], "GPU-0"+names[n]), device(names[n], "GPU-1"+names[n])}
		for _, d := range devices[n] {
			series = append(series, gpu.Series{Device: d})
		}
	}
	value := func(line, s int) float64 {
		if line%7 == 3 && s == 2 {
			return math.NaN()
		}
		return float64((line*37+s*11)%100) + 0.5
	}
	for line := range series {
		for s := range seconds {
			series[line].Times = append(series[line].Times, noon+int64(s)*1000)
			series[line].Values = append(series[line].Values, value(line, s))
		}
	}
	wantBands, wantHeat := BandsOf(series, time.Second, KeepLast), HeatmapOf(series, time.Second, KeepLast, Scale{})
	heat.Spread = &HeatmapSpread{Low: wantHeat.Low, Upper: wantHeat.Upper}
	require.Equal(t, []string{"min", "p5", "p25", "p50", "p75", "p95", "max"}, BandLevels())
	for _, test := range []struct {
		plan  RowPlan
		check func(n int, row Row)
	}{
		{bands, func(n int, row Row) {
			require.Len(t, row.Values, 8)
			for i, level := range wantBands.Levels {
				assert.Equal(t, level.Values[n], row.Values[i], "%s at %d", level.Name, n)
			}
			assert.Equal(t, wantBands.Count[n], row.Values[7])
		}},
		{heat, func(n int, row Row) {
			require.Len(t, row.Values, len(wantHeat.Upper))
			for i := range row.Values {
				assert.Equal(t, wantHeat.Count[i][n], row.Values[i])
			}
		}},
	} {
		rows := NewRows(test.plan)
		for _, name := range names {
			rows.Expect(name, time.Second)
		}
		got := 0
		for s := range seconds {
			for n, name := range names {
				for _, row := range rows.Add(at(int64(s)*1000+500), tick(name, int64(s)*1000, devices[n], value(2*n, s), value(2*n+1, s))) {
					assert.Equal(t, noon+int64(got)*1000, row.Time)
					test.check(got, row)
					got++
				}
			}
		}
		assert.Equal(t, seconds, got)
		assert.Len(t, rows.Fields(), 8, "columns stay as they are")
	}
}

// A spread over groups is over the groups' values, and a row that nobody has a value for holds none.
func TestSpreadOverGroups(t *testing.T) {
	rows := NewRows(RowPlan{
		Plan:   Plan{Step: time.Second, Period: time.Second, Aggregation: Aggregation{By: ByNode, Fn: Sum}},
		Spread: &BandSpread{},
	})
	rows.Expect("a", time.Second)
	rows.Expect("b", time.Second)
	a, b := []gpu.Device{device("a", "GPU-1"), device("a", "GPU-2")}, []gpu.Device{device("b", "GPU-3")}
	assert.Empty(t, rows.Add(at(10), tick("a", 0, a, 1, 2)))
	got := rows.Add(at(10), tick("b", 0, b, 10))
	require.Len(t, got, 1)
	assert.Equal(t, []float64{3, 10, 2}, []float64{got[0].Values[0], got[0].Values[6], got[0].Values[7]})
	rows.Add(at(1010), tick("a", 1000, a, math.NaN(), math.NaN()))
	got = rows.Add(at(1010), tick("b", 1000, b, math.NaN()))
	require.Len(t, got, 1)
	assert.True(t, math.IsNaN(got[0].Values[0]))
	assert.Zero(t, got[0].Values[7])
}

func TestHeatmapSpreadCountsWhatIsOutside(t *testing.T) {
	h := HeatmapSpread{Low: 0, Upper: []float64{1, 2, 3}}
	assert.Equal(t, []float64{3, 0, 2}, h.Row([]float64{-5, 0, 1, 2.5, 99}))
	assert.Equal(t, uint64(2), h.Outside)
	assert.True(t, Rising([]float64{0, 1, 2.5}))
	for _, bad := range [][]float64{{0, 0}, {1, 0}, {0, math.NaN()}, {0, math.Inf(1)}} {
		assert.False(t, Rising(bad), "%v", bad)
	}
}

// A row that waits for many nodes is not looked at from the start with each tick: ten times the nodes are ten times the work.
func BenchmarkRowsOfAFleet(b *testing.B) {
	for _, nodes := range []int{1_250, 12_500} {
		b.Run(strconv.Itoa(nodes), func(b *testing.B) {
			rows := NewRows(RowPlan{Plan: Plan{Step: time.Second, Period: time.Second}, Spread: &BandSpread{}})
			names, devices := make([]string, nodes), make([][]gpu.Device, nodes)
			for n := range nodes {
				names[n] = "node-" + strconv.Itoa(n)
				for g := range 8 {
					devices[n] = append(devices[n], device(names[n], "GPU-"+names[n]+string(rune('0'+g))))
				}
				rows.Expect(names[n], time.Second)
			}
			s := int64(0)
			for b.Loop() {
				for n := range nodes {
					rows.Add(at(s*1000+500), tick(names[n], s*1000, devices[n], 1, 2, 3, 4, 5, 6, 7, float64(n)))
				}
				s++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
		})
	}
}
