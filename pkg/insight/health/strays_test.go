package health

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

func TestGPUsThatWereGoneBeforeTheRangeAreNotForgotten(t *testing.T) {
	grid, _ := fleet(2, 24, 5*time.Minute)
	of := grid.Subjects[0].Device
	end := time.UnixMilli(grid.Times[23])
	gone := func(uuid, kind string, code uint64, ago time.Duration) gpu.Event {
		d := gpu.Device{Identity: gpu.Identity{Cluster: of.Cluster, Node: of.Node, UUID: uuid}}
		return gpu.Event{Time: end.Add(-ago), Kind: kind, XID: code, Device: d}
	}
	events := []gpu.Event{
		gone("GPU-x", gpu.KindXID, 79, 9*time.Hour), gone("GPU-y", gpu.KindXID, 79, 8*time.Hour), gone("GPU-y", gpu.KindLost, 0, 8*time.Hour),
		gone("GPU-z", gpu.KindXID, 31, time.Hour), gone("GPU-w", gpu.KindXID, 79, 9*time.Hour), gone("GPU-w", gpu.KindReturned, 0, 8*time.Hour),
		gone("", gpu.KindXID, 999, time.Hour),
	}
	assert.Empty(t, Judge(Input{Grid: grid, Events: events}, DefaultLimits()).Nodes, "the grid may be a part of the node")
	result := Judge(Input{Grid: grid, Events: events, Whole: true}, DefaultLimits())
	checkResult(t, result)
	require.Len(t, result.Nodes, 1)
	ids := map[string]int{}
	for _, r := range result.Nodes[0].Reasons {
		ids[r.ID] = len(r.Evidence)
	}
	assert.Equal(t, map[string]int{"xid-79": 2, "gpu-missing": 1, "xid-999": 1}, ids)
	assert.Equal(t, insight.Critical, result.Worst())
	assert.Equal(t, end.Add(-9*time.Hour).UnixMilli(), result.Nodes[0].Reasons[0].Since)
	assert.Len(t, result.Incidents, 2, "what is not known is in no incident of its own")
}

func TestWhatAModelLacksIsNotMissing(t *testing.T) {
	missing := func(model string) []string {
		from := time.UnixMilli(1_700_000_000_000)
		grid := insight.NewGrid(from, from.Add(time.Minute), time.Minute, []insight.Subject{{Device: gpu.Device{Identity: gpu.Identity{UUID: "u"}, Model: model}}})
		grid.Set(insight.Field{Metric: "gpu_temperature_celsius"}, 0, []float64{50})
		return Judge(Input{Grid: grid}, DefaultLimits()).Verdicts[0].Missing
	}
	assert.Contains(t, missing("NVIDIA H100 80GB HBM3"), "gpu_nvlink_links_active")
	assert.Contains(t, missing("NVIDIA H100 80GB HBM3"), "gpu_memory_temperature_celsius")
	assert.NotContains(t, missing("NVIDIA L40S"), "gpu_nvlink_links_active")
	assert.NotContains(t, missing("NVIDIA L40S"), "gpu_memory_temperature_celsius")
	assert.Contains(t, missing("NVIDIA L40S"), "gpu_recovery_action")
}
