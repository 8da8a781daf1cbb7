package server

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// people is a node that knows what happens on it.
func people(o *Options) {
	o.Events = snapshot.NewEventLog(4)
	o.Processes = &snapshot.Latest[snapshot.ProcessList]{}
	o.Owners = &snapshot.Latest[snapshot.OwnerList]{}
}

func xid(code uint64) device.Event {
	return device.Event{Kind: device.EventXID, Time: start, Origin: device.FromKernel, UUID: "GPU-0", XID: code}
}

func processes() *snapshot.ProcessList {
	return &snapshot.ProcessList{Time: start, Processes: []snapshot.Process{
		{
			Process: device.Process{PID: 7, Kind: device.Compute, Memory: gpu.Read(1 << 30), SM: gpu.Absent(gpu.NoData)},
			UUID:    "GPU-0", Name: "python", User: "ali", Owner: &device.Owner{UUID: "GPU-0", SlurmJob: "17", Source: "slurm"},
		},
		{Process: device.Process{PID: 8, Kind: device.Graphics}, UUID: "GPU-1"},
	}}
}

func TestEventsAsJSON(t *testing.T) {
	_, body := newBench(t, nil).get("/api/v1/events", nil)
	assert.Contains(t, body, `"events": []`)

	b := newBench(t, people)
	for code := uint64(1); code <= 6; code++ {
		b.server.o.Events.Append(xid(code))
	}
	_, body = b.get("/api/v1/events?after=1", nil)
	var got eventsJSON
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	assert.Equal(t, "epoch-1", got.Epoch)
	assert.EqualValues(t, 1, got.Dropped)
	assert.EqualValues(t, 6, got.Newest)
	require.Len(t, got.Events, 4)
	assert.Equal(t, eventJSON{Seq: 3, Time: start.UTC(), Kind: "xid", Origin: "kernel", UUID: "GPU-0", XID: 3}, got.Events[0])
	_, body = b.get("/api/v1/events?after=6", nil)
	assert.Contains(t, body, `"newest": 6`)
	assert.Contains(t, body, `"events": []`)
	for _, another := range []string{"7", "18446744073709551615"} { // numbers of another run
		_, body = b.get("/api/v1/events?after="+another, nil)
		got = eventsJSON{}
		require.NoError(t, json.Unmarshal([]byte(body), &got))
		assert.EqualValues(t, 2, got.Dropped)
		assert.EqualValues(t, 6, got.Newest)
		assert.Len(t, got.Events, 4)
	}
	status, body := b.get("/api/v1/events?after=-1", nil)
	assert.Equal(t, 400, status)
	assert.Equal(t, `after="-1": must be the number of an event`, body)
}

func TestProcessesAndOwnersAsJSON(t *testing.T) {
	_, body := newBench(t, nil).get("/api/v1/processes", nil)
	assert.Contains(t, body, "processes are not listed here")
	_, body = newBench(t, nil).get("/api/v1/owners", nil)
	assert.Contains(t, body, "nobody finds out")

	b := newBench(t, people)
	_, body = b.get("/api/v1/processes", nil)
	assert.Contains(t, body, "not listed yet")
	b.server.o.Processes.Set(processes())
	_, body = b.get("/api/v1/processes", nil)
	var got processesJSON
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Len(t, got.Processes, 2)
	assert.Equal(t, 7, got.Processes[0].PID)
	assert.InDelta(t, 1<<30, *got.Processes[0].MemoryBytes, 0)
	assert.Nil(t, got.Processes[0].SM, "absent is not zero")
	assert.Equal(t, &ownerJSON{SlurmJob: "17", Source: "slurm"}, got.Processes[0].Owner)

	b.server.o.Owners.Set(&snapshot.OwnerList{Time: start, Notices: []string{"n"}, Owners: []device.Owner{{UUID: "GPU-0", Pod: "p", Claim: "a/b"}}})
	_, body = b.get("/api/v1/owners", nil)
	var owners ownersJSON
	require.NoError(t, json.Unmarshal([]byte(body), &owners))
	assert.Equal(t, []ownerJSON{{UUID: "GPU-0", Pod: "p", Claim: "a/b"}}, owners.Owners)
	assert.Equal(t, []string{"n"}, owners.Notices)
}

func TestRingAsJSON(t *testing.T) {
	b := newBench(t, nil)
	for range 5 {
		b.tick()
	}
	b.devices(board(0), board(1))
	b.tick()
	_, body := b.get("/api/v1/ring?metric=gpu_power_watts&since=2s", nil)
	assert.JSONEq(t, `{"epoch": "epoch-1", "metric": "gpu_power_watts", "unit": "watts", "kind": "gauge", "series": [
		{"uuid": "GPU-0", "index": 0, "points": [[1800000004000, 4], [1800000005000, 5], [1800000006000, 6]]},
		{"uuid": "GPU-1", "index": 1, "points": [[1800000006000, 6]]}]}`, body)
	_, body = b.get("/api/v1/ring?metric=gpu_nvlink_link_active&since=1ms", nil)
	assert.Contains(t, body, `"label":"link","labelValue":"17","points":[[1800000006000,null]]`)
	for query, want := range map[string]string{
		"":                                  "metric= must name one of the agent's metrics",
		"?metric=gpu_nonsense":              `no metric "gpu_nonsense" was measured`,
		"?metric=gpu_power_watts&since=x":   `since="x": must be like 30s or 5m`,
		"?metric=gpu_power_watts&since=-3s": `since="-3s": must be`,
	} {
		status, body := b.get("/api/v1/ring"+query, nil)
		assert.GreaterOrEqual(t, status, 400)
		assert.Less(t, status, 500)
		assert.Contains(t, body, want)
	}
}

func TestInventoryKnowsFacts(t *testing.T) {
	b := newBench(t, nil)
	parent, instance := board(0), board(0)
	instance.GPUInstance, instance.ComputeInstance, instance.MIGUUID = "7", "0", "MIG-1"
	b.devices(parent, instance)
	b.status.Versions = device.Versions{NVML: "13.590", CUDA: "13.1"}
	b.status.Boards[0].Facts = device.Facts{
		Serial: "165", Minor: 0, Cores: -1, MemoryBusBits: -1, Placements: map[string]device.Placement{"7": {Start: 2, Size: 1}},
	}
	b.tick()
	_, body := b.get("/api/v1/inventory", nil)
	var got inventoryJSON
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	assert.Equal(t, "13.1", got.CUDA)
	assert.Equal(t, "165", got.Devices[0].Facts.Serial)
	assert.Equal(t, 0, *got.Devices[0].Facts.Minor, "/dev/nvidia0")
	assert.Nil(t, got.Devices[0].Facts.Cores)
	assert.Nil(t, got.Devices[1].Facts)
	assert.Equal(t, &placementJSON{Start: 2, Size: 1}, got.Devices[1].Placement)
}
