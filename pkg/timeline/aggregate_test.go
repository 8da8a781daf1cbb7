package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestAggregate(t *testing.T) {
	input := []gpu.Series{
		line(device("n2", "GPU-c"), []int64{0, 1000}, 10, 20),
		line(device("n1", "GPU-a"), []int64{0, 1000, 2000}, 1, 2, 3),
		line(device("n1", "GPU-b"), []int64{0, 2000}, 3, nan),
	}
	one := func(by By, fn Fn) []gpu.Series { return Aggregate(input, Aggregation{By: by, Fn: fn}, 0) }

	nodes := one(ByNode, Avg)
	require.Len(t, nodes, 2)
	require.Equal(t, map[string]string{"cluster": "north", "node": "n1"}, nodes[0].Labels)
	require.Equal(t, gpu.Device{}, nodes[0].Device)
	require.Equal(t, []int64{0, 1000, 2000}, nodes[0].Times)
	sameValues(t, []float64{2, 2, 3}, nodes[0].Values)
	require.Equal(t, map[string]string{"cluster": "north", "node": "n2"}, nodes[1].Labels)

	for fn, want := range map[Fn][]float64{Avg: {14.0 / 3, 11, 3}, Max: {10, 20, 3}, Min: {1, 2, 3}, Sum: {14, 22, 3}} {
		got := one(ByCluster, fn)
		require.Len(t, got, 1)
		require.Equal(t, map[string]string{"cluster": "north"}, got[0].Labels)
		sameValues(t, want, got[0].Values)
	}
	require.Equal(t, map[string]string{"model": "H200"}, one(ByModel, Sum)[0].Labels)

	each := one(ByIdentity, Avg)
	require.Len(t, each, 3)
	require.Equal(t, "GPU-a", each[0].Device.UUID, "in the order of devices")
	require.Equal(t, input[1].Values, each[0].Values)
	require.Empty(t, Aggregate(nil, Aggregation{By: ByNode, Fn: Sum}, 0))
}

func TestAggregateAllAbsentIsAbsent(t *testing.T) {
	got := Aggregate([]gpu.Series{
		line(device("n1", "GPU-a"), []int64{0, 1000}, nan, 1),
		line(device("n1", "GPU-b"), []int64{0, 1000}, nan, 2),
	}, Aggregation{By: ByNode, Fn: Sum}, 0)
	sameValues(t, []float64{nan, 3}, got[0].Values)
}

func TestAggregateCountsASlowDeviceBetweenItsSamples(t *testing.T) {
	fast := line(device("n1", "GPU-a"), []int64{0, 1000, 2000, 3000, 4000, 5000}, 1, 1, 1, 1, 1, 1)
	slow := line(device("n1", "GPU-b"), []int64{0, 2000}, 10, 20)
	got := Aggregate([]gpu.Series{fast, slow}, Aggregation{By: ByNode, Fn: Sum}, 2*time.Second)
	sameValues(t, []float64{11, 11, 21, 21, 21, 1}, got[0].Values)
}

// Memory and power of a board are also its instances'. They are counted once, whichever of the two there is.
func TestAggregateDoesNotCountMIGTwice(t *testing.T) {
	board := device("n1", "GPU-a")
	first, second := instance("n1", "GPU-a", "1"), instance("n1", "GPU-a", "2")
	got := Aggregate([]gpu.Series{
		line(board, []int64{0, 1000}, 100, nan),
		line(first, []int64{0, 1000}, 30, 35),
		line(second, []int64{0, 1000}, 40, 45),
	}, Aggregation{By: ByNode, Fn: Sum}, 0)
	sameValues(t, []float64{100, 80}, got[0].Values)

	got = Aggregate([]gpu.Series{line(first, []int64{0}, 30), line(second, []int64{0}, 40)}, Aggregation{By: ByNode, Fn: Max}, 0)
	sameValues(t, []float64{40}, got[0].Values)
}

func TestParse(t *testing.T) {
	for name, want := range map[string]By{"": ByIdentity, "identity": ByIdentity, "node": ByNode, "cluster": ByCluster, "model": ByModel} {
		got, err := ParseBy(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := ParseBy("pod")
	require.EqualError(t, err, `aggregate by "pod": use identity, node, cluster or model`)
	for name, want := range map[string]Fn{"": Avg, "avg": Avg, "max": Max, "min": Min, "sum": Sum} {
		got, err := ParseFn(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = ParseFn("p99")
	require.EqualError(t, err, `aggregate with "p99": use avg, max, min or sum`)
}

// The same devices make up a group on both sides of the join, so its sum has no step there.
func TestBuildAggregatesTheSameDevicesOnBothSides(t *testing.T) {
	var history, live []gpu.Series
	for i, uuid := range []string{"GPU-a", "GPU-b", "GPU-c", "GPU-d"} {
		h := line(device("n1", uuid), nil)
		for at := int64(0); at <= 60_000; at += 5000 {
			h.Times, h.Values = append(h.Times, at), append(h.Values, 100)
		}
		history = append(history, h)
		if i == 3 {
			continue // has no agent
		}
		l := line(device("n1", uuid), nil)
		for at := int64(30_000 + i*5000); at < 65_000; at += 1000 {
			l.Times, l.Values = append(l.Times, at), append(l.Values, 100)
		}
		live = append(live, l)
	}
	plan := Plan{Step: 5 * time.Second, Period: time.Second, Aggregation: Aggregation{By: ByNode, Fn: Sum}}
	got := plan.Build(history, live)
	require.Len(t, got, 1)
	for i, v := range got[0].Values {
		require.InDelta(t, 400, v, 1e-9, "at %d ms", got[0].Times[i])
	}
}

// One 1g instance that is busy does not make a GPU busy: of values relative to the device, instances count by their part.
func TestAverageWeighsInstances(t *testing.T) {
	instanceOf := func(id, profile string) gpu.Device {
		d := instance("n1", "GPU-a", id)
		d.Model, d.MIGProfile = "NVIDIA A100-SXM4-80GB", profile
		return d
	}
	input := []gpu.Series{
		line(instanceOf("9", "1g.10gb"), []int64{0}, 1), line(instanceOf("3", "2g.20gb"), []int64{0}, 0.5),
		line(instanceOf("1", "3g.40gb"), []int64{0}, 1.0/3), line(device("n1", "GPU-b"), []int64{0}, 1),
	}
	for fn, want := range map[Fn]float64{Avg: (3.0/7 + 1) / (6.0/7 + 1), Max: 1, Min: 1.0 / 3} {
		got := Aggregate(input, Aggregation{By: ByNode, Fn: fn, Relative: true}, 0)
		require.Len(t, got, 1)
		require.InDelta(t, want, got[0].Values[0], 1e-12)
	}
	plain := Aggregate(input, Aggregation{By: ByNode, Fn: Avg}, 0)
	require.InDelta(t, (1+0.5+1.0/3+1)/4, plain[0].Values[0], 1e-12)

	rows := NewRows(second(func(p *RowPlan) { p.Aggregation = Aggregation{By: ByNode, Fn: Avg, Relative: true} }))
	rows.Expect("n1", time.Second)
	devices := make([]gpu.Device, len(input))
	values := make([]float64, len(input))
	for i, s := range input {
		devices[i], values[i] = s.Device, s.Values[0]
	}
	streamed := rows.Add(at(100), tick("n1", 100, devices, values...))
	require.Len(t, streamed, 1)
	require.InDelta(t, (3.0/7+1)/(6.0/7+1), streamed[0].Values[0], 1e-12, "the stream goes on with the same rule")
}

func TestModelsAreOneGroupInAnySpelling(t *testing.T) {
	a, b := device("n1", "GPU-a"), device("n1", "GPU-b")
	a.Model, b.Model = "NVIDIA T400 4GB", "NVIDIA-T400-4GB"
	got := Aggregate([]gpu.Series{line(a, []int64{0}, 9), line(b, []int64{0}, 11)}, Aggregation{By: ByModel, Fn: Sum}, 0)
	require.Len(t, got, 1)
	require.Equal(t, map[string]string{"model": "T400 4GB"}, got[0].Labels)
	require.Equal(t, []float64{20}, got[0].Values)
}
