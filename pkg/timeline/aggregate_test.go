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
	one := func(by By, fn Fn) []gpu.Series { return Aggregate(input, Aggregation{by, fn}, 0) }

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
	require.Empty(t, Aggregate(nil, Aggregation{ByNode, Sum}, 0))
}

func TestAggregateAllAbsentIsAbsent(t *testing.T) {
	got := Aggregate([]gpu.Series{
		line(device("n1", "GPU-a"), []int64{0, 1000}, nan, 1),
		line(device("n1", "GPU-b"), []int64{0, 1000}, nan, 2),
	}, Aggregation{ByNode, Sum}, 0)
	sameValues(t, []float64{nan, 3}, got[0].Values)
}

func TestAggregateCountsASlowDeviceBetweenItsSamples(t *testing.T) {
	fast := line(device("n1", "GPU-a"), []int64{0, 1000, 2000, 3000, 4000, 5000}, 1, 1, 1, 1, 1, 1)
	slow := line(device("n1", "GPU-b"), []int64{0, 2000}, 10, 20)
	got := Aggregate([]gpu.Series{fast, slow}, Aggregation{ByNode, Sum}, 2*time.Second)
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
	}, Aggregation{ByNode, Sum}, 0)
	sameValues(t, []float64{100, 80}, got[0].Values)

	got = Aggregate([]gpu.Series{line(first, []int64{0}, 30), line(second, []int64{0}, 40)}, Aggregation{ByNode, Max}, 0)
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
	plan := Plan{Step: 5 * time.Second, Period: time.Second, Aggregation: Aggregation{ByNode, Sum}}
	got := plan.Build(history, live)
	require.Len(t, got, 1)
	for i, v := range got[0].Values {
		require.InDelta(t, 400, v, 1e-9, "at %d ms", got[0].Times[i])
	}
}
