package plugin

import (
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// wholeNodes reports whether a grid has every GPU that was seen on its nodes: the query selects no part of a node, and nobody failed
// to answer.
func (j *judgement) wholeNodes() bool {
	return j.request.query.Scope.WholeNodes() && j.gathered.whole && j.gathered.listed
}

// namedEvents are events with the devices named as the subjects of a grid are: each source has its own idea of a node's name, and what
// happened to a GPU of the grid must not look as if it had happened to another.
func namedEvents(events []gpu.Event, subjects []insight.Subject) []gpu.Event {
	at := make(map[board]gpu.Identity, len(subjects))
	for i := range subjects {
		b := boardOf(subjects[i].Device)
		at[b] = subjects[i].Identity
		b.instance = ""
		if _, known := at[b]; !known {
			at[b] = subjects[i].Parent()
		}
	}
	out := slices.Clone(events)
	for i := range out {
		if out[i].Device.UUID == "" {
			continue
		}
		if id, ok := at[boardOf(out[i].Device)]; ok {
			out[i].Device.Identity = id
			continue
		}
		b := boardOf(out[i].Device)
		b.instance = ""
		if id, ok := at[b]; ok {
			out[i].Device.Cluster, out[i].Device.Node = id.Cluster, id.Node
		}
	}
	return out
}
