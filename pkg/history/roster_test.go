package history

import (
	"testing"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Exporters that disagree about a device's name leave it the same name in every answer, in whatever order they come.
func TestNamesDoNotDependOnTheOrder(t *testing.T) {
	seen := func(node, model, instance string) catalog.Identified {
		return catalog.Identified{NodeLabel: "node", Device: gpu.Device{
			Identity: gpu.Identity{Node: node, UUID: "GPU-1", GPUInstance: instance}, Model: model, Index: 0,
		}}
	}
	type series struct {
		id   catalog.Identified
		rank int
	}
	// The board is known by its instances only; the dialect of rank 1 names the node best.
	all := []series{
		{seen("10.9.0.1", "H100", "7"), 2}, {seen("n1", "NVIDIA H100", "8"), 1}, {seen("n1.example", "NVIDIA-H100", "8"), 1}, {seen("n2", "", "9"), 3},
	}
	for first := range all {
		for range 20 {
			r := roster{}
			for i := range all {
				one := all[(first+i)%len(all)]
				r.add(one.id, one.rank)
			}
			r.complete()
			board := r[keyFor("", "GPU-1", "")].device
			if board.Node != "n1" || board.Model != "NVIDIA H100" {
				t.Fatalf("board %s %s", board.Node, board.Model)
			}
			for _, id := range []string{"7", "8", "9"} {
				if d := r[keyFor("", "GPU-1", id)].device; d.Node != "n1" {
					t.Fatalf("instance %s on %s", id, d.Node)
				}
			}
		}
	}
}
