package timeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const noon = int64(1_793_400_000_000)

func at(ms int64) time.Time { return time.UnixMilli(noon + ms) }

func second(extra ...func(*RowPlan)) RowPlan {
	plan := RowPlan{Plan: Plan{Step: time.Second, Period: time.Second}}
	for _, f := range extra {
		f(&plan)
	}
	return plan
}

func tick(node string, ms int64, devices []gpu.Device, values ...float64) Tick {
	return Tick{Node: node, Time: noon + ms, Devices: devices, Values: values}
}

func TestRowsOfASingleNodeComeAtOnce(t *testing.T) {
	rows := NewRows(second())
	rows.Expect("n1", time.Second)
	devices := []gpu.Device{device("n1", "GPU-a"), device("n1", "GPU-b")}
	for i := range int64(3) {
		got := rows.Add(at(i*1000+305), tick("n1", i*1000+300, devices, float64(i), nan))
		require.Len(t, got, 1)
		require.Equal(t, noon+i*1000, got[0].Time)
		sameValues(t, []float64{float64(i), nan}, got[0].Values)
	}
	require.Equal(t, []Field{{Device: devices[0]}, {Device: devices[1]}}, rows.Fields())
	_, waiting := rows.Deadline()
	require.False(t, waiting)
}

func TestRowsWaitForEveryExpectedNode(t *testing.T) {
	rows := NewRows(second())
	a, b := []gpu.Device{device("n1", "GPU-a")}, []gpu.Device{device("n2", "GPU-b")}
	rows.Expect("n1", time.Second)
	rows.Expect("n2", time.Second)
	require.Empty(t, rows.Add(at(100), tick("n1", 100, a, 1)))
	got := rows.Add(at(400), tick("n2", 350, b, 2))
	require.Len(t, got, 1)
	sameValues(t, []float64{1, 2}, got[0].Values)

	require.Empty(t, rows.Add(at(1100), tick("n1", 1100, a, 3)))
	deadline, waiting := rows.Deadline()
	require.True(t, waiting)
	require.Equal(t, at(4000), deadline, "two periods after the end of the bin")
	require.Empty(t, rows.Advance(deadline.Add(-time.Millisecond)))
	got = rows.Advance(deadline)
	require.Len(t, got, 1)
	sameValues(t, []float64{3, nan}, got[0].Values, "an absent node is a gap")

	require.Empty(t, rows.Add(at(4100), tick("n2", 1350, b, 4)), "its row was handed out")
	require.Equal(t, Dropped{Late: 1}, rows.Dropped())

	require.Empty(t, rows.Add(at(5100), tick("n1", 5100, a, 5)))
	rows.Forget("n2")
	got = rows.Advance(at(5200))
	require.Len(t, got, 1)
	sameValues(t, []float64{5, nan}, got[0].Values)
}

func TestRowsTakeTheLastTickOfABin(t *testing.T) {
	rows := NewRows(RowPlan{Plan: Plan{Step: time.Second, Period: 250 * time.Millisecond}})
	rows.Expect("n1", 250*time.Millisecond)
	devices := []gpu.Device{device("n1", "GPU-a")}
	require.Empty(t, rows.Add(at(0), tick("n1", 0, devices, 1)))
	require.Empty(t, rows.Add(at(250), tick("n1", 250, devices, 2)))
	require.Empty(t, rows.Add(at(500), tick("n1", 500, devices, 3)))
	got := rows.Add(at(750), tick("n1", 750, devices, nan))
	require.Len(t, got, 1, "the next tick is due after the end of the bin")
	sameValues(t, []float64{3}, got[0].Values)
}

func TestRowsDoNotWaitForASlowNodeBetweenItsTicks(t *testing.T) {
	rows := NewRows(second(func(p *RowPlan) { p.Period, p.Aggregation = 3*time.Second, Aggregation{By: ByCluster, Fn: Sum} }))
	fast, slow := []gpu.Device{device("n1", "GPU-a")}, []gpu.Device{device("n2", "GPU-b")}
	rows.Expect("n1", time.Second)
	rows.Expect("n2", 3*time.Second)
	require.Empty(t, rows.Add(at(0), tick("n1", 0, fast, 1)))
	require.Len(t, rows.Add(at(10), tick("n2", 0, slow, 10)), 1)
	got := rows.Add(at(1000), tick("n1", 1000, fast, 1))
	require.Len(t, got, 1)
	sameValues(t, []float64{11}, got[0].Values, "a slow node counts between its ticks")
}

func TestRowsRefuseTheFuture(t *testing.T) {
	rows := NewRows(second())
	rows.Expect("n1", time.Second)
	devices := []gpu.Device{device("n1", "GPU-a")}
	require.Empty(t, rows.Add(at(0), tick("n1", 3_600_000, devices, 1)))
	require.Equal(t, Dropped{Ahead: 1}, rows.Dropped())
	require.Len(t, rows.Add(at(100), tick("n1", 0, devices, 1)), 1, "the stream goes on")
}

func TestRowsHoldABoundedNumberOfBins(t *testing.T) {
	rows := NewRows(second(func(p *RowPlan) { p.MaxBins, p.Wait = 4, time.Hour }))
	rows.Expect("n1", time.Second)
	rows.Expect("silent", time.Second)
	devices := []gpu.Device{device("n1", "GPU-a")}
	var got []Row
	for i := range int64(10) {
		got = append(got, rows.Add(at(i*1000), tick("n1", i*1000, devices, float64(i)))...)
	}
	require.Len(t, got, 6)
	require.Len(t, rows.bins, 4)
}

// C08: a fixed order, columns are only ever added, and what has gone is null.
func TestRowsKeepTheirFields(t *testing.T) {
	a, b, c := device("n1", "GPU-a"), device("n1", "GPU-b"), device("n1", "GPU-c")
	rows := NewRows(second(func(p *RowPlan) { p.Fields = []Field{{Device: b}, {Device: a}} }))
	rows.Expect("n1", time.Second)
	for i, message := range []struct {
		devices []gpu.Device
		values  []float64
		want    []float64
	}{
		{[]gpu.Device{a, b}, []float64{1, 2}, []float64{2, 1}},
		{[]gpu.Device{b, a}, []float64{12, 11}, []float64{12, 11}},
		{[]gpu.Device{a}, []float64{21}, []float64{nan, 21}},
		{[]gpu.Device{c, a, b}, []float64{33, 31, 32}, []float64{32, 31, 33}},
		{[]gpu.Device{a, b}, []float64{41, 42}, []float64{42, 41, nan}},
	} {
		got := rows.Add(at(int64(i)*1000), tick("n1", int64(i)*1000, message.devices, message.values...))
		require.Len(t, got, 1, "message %d", i)
		sameValues(t, message.want, got[0].Values, "message", i)
	}
	require.Equal(t, []Field{{Device: b}, {Device: a}, {Device: c}}, rows.Fields())
}

func TestRowsStartAfterWhatIsShown(t *testing.T) {
	rows := NewRows(second(func(p *RowPlan) { p.After = noon + 1000 }))
	rows.Expect("n1", time.Second)
	devices := []gpu.Device{device("n1", "GPU-a")}
	require.Empty(t, rows.Add(at(1000), tick("n1", 1000, devices, 1)))
	require.Len(t, rows.Add(at(2000), tick("n1", 2000, devices, 2)), 1)
}

// A panel that is refreshed shows what it had streamed: rows are what Build makes of the same ticks.
func TestRowsAreWhatBuildGives(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		plan := Plan{
			Step:        []time.Duration{time.Second, 2 * time.Second, 5 * time.Second}[rng.IntN(3)],
			Period:      []time.Duration{250 * time.Millisecond, time.Second}[rng.IntN(2)],
			Counter:     rng.IntN(2) == 0,
			Keep:        []Keep{KeepLast, KeepMax, KeepMin}[rng.IntN(3)],
			Aggregation: Aggregation{By: By(rng.IntN(4)), Fn: Fn(rng.IntN(4)), Relative: rng.IntN(2) == 0},
		}
		nodes, ticks := randomTicks(rng, plan.Period)
		streamed := stream(plan, nodes, ticks)
		built := plan.Build(nil, recorded(nodes, ticks))

		want := make(map[string]float64)
		for _, s := range built {
			for i, v := range s.Values {
				if !math.IsNaN(v) {
					want[fmt.Sprint(keyOf(s.Device, s.Labels), s.Times[i])] = v
				}
			}
		}
		require.Len(t, streamed, len(want), "seed %d, %+v", seed, plan)
		for name, v := range want {
			require.InDelta(t, v, streamed[name], 1e-6*math.Max(1, math.Abs(v)), "seed %d, %+v, %s", seed, plan, name)
		}
	}
}

// randomTicks are those of three nodes, one of them with MIG, with ticks and readings missing.
func randomTicks(rng *rand.Rand, period time.Duration) (map[string][]gpu.Device, []Tick) {
	nodes := map[string][]gpu.Device{
		"n1": {device("n1", "GPU-a"), device("n1", "GPU-b")},
		"n2": {device("n2", "GPU-c")},
		"n3": {device("n3", "GPU-d"), instance("n3", "GPU-d", "1"), instance("n3", "GPU-d", "2")},
	}
	var ticks []Tick
	for i := range 60_000 / period.Milliseconds() {
		for _, name := range []string{"n1", "n2", "n3"} {
			if rng.IntN(10) == 0 {
				continue
			}
			next := tick(name, i*period.Milliseconds(), nodes[name])
			for range nodes[name] {
				v := float64(i*int64(10+rng.IntN(2))) + rng.Float64()
				if rng.IntN(10) == 0 {
					v = nan
				}
				next.Values = append(next.Values, v)
			}
			ticks = append(ticks, next)
		}
	}
	return nodes, ticks
}

func stream(plan Plan, nodes map[string][]gpu.Device, ticks []Tick) map[string]float64 {
	rows := NewRows(RowPlan{Plan: plan})
	for name := range nodes {
		rows.Expect(name, plan.Period)
	}
	got := make(map[string]float64)
	take := func(emitted []Row) {
		for _, row := range emitted {
			for i, v := range row.Values {
				if f := rows.fields[i]; !math.IsNaN(v) {
					got[fmt.Sprint(keyOf(f.Device, f.Labels), row.Time)] = v
				}
			}
		}
	}
	for _, next := range ticks {
		take(rows.Add(time.UnixMilli(next.Time), next))
	}
	take(rows.Advance(at(3_600_000)))
	return got
}

func recorded(nodes map[string][]gpu.Device, ticks []Tick) []gpu.Series {
	var series []gpu.Series
	for _, name := range []string{"n1", "n2", "n3"} {
		for i, d := range nodes[name] {
			s := gpu.Series{Device: d}
			for _, next := range ticks {
				if next.Node == name {
					s.Times, s.Values = append(s.Times, next.Time), append(s.Values, next.Values[i])
				}
			}
			series = append(series, s)
		}
	}
	return slices.Clip(series)
}

func BenchmarkRows(b *testing.B) {
	var devices []gpu.Device
	for i := range 8 {
		devices = append(devices, device("n1", fmt.Sprint("GPU-", i)))
	}
	rows := NewRows(RowPlan{Plan: Plan{Step: 100 * time.Millisecond, Period: 100 * time.Millisecond}})
	rows.Expect("n1", 100*time.Millisecond)
	values := make([]float64, 8)
	b.ReportAllocs()
	var ms int64
	for b.Loop() {
		if len(rows.Add(at(ms), tick("n1", ms, devices, values...))) != 1 {
			b.Fatal("no row")
		}
		ms += 100
	}
}
