package plugin

import (
	"testing"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

func TestEventsAreOfTheGPUsOfTheGrid(t *testing.T) {
	of := func(node, uuid, instance string) gpu.Identity {
		return gpu.Identity{Cluster: "c", Node: node, UUID: uuid, GPUInstance: instance}
	}
	subjects := []insight.Subject{{Device: gpu.Device{Identity: of("n1", "GPU-1", "")}}, {Device: gpu.Device{Identity: of("n1", "GPU-2", "1")}}}
	var events []gpu.Event
	for _, id := range []gpu.Identity{of("n1.example", "GPU-1", ""), of("n1.example", "GPU-2", ""), of("n1.example", "GPU-2", "5"), of("n1.example", "GPU-3", ""), of("n9", "", "")} {
		events = append(events, gpu.Event{Device: gpu.Device{Identity: id}})
	}
	want := []gpu.Identity{of("n1", "GPU-1", ""), of("n1", "GPU-2", ""), of("n1", "GPU-2", "5"), of("n1.example", "GPU-3", ""), of("n9", "", "")}
	for i, e := range namedEvents(events, subjects) {
		if e.Device.Identity != want[i] {
			t.Errorf("%d: %+v, want %+v", i, e.Device.Identity, want[i])
		}
	}
	if events[0].Device.Node != "n1.example" {
		t.Error("the events that were given have changed")
	}
}
