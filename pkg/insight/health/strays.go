package health

import (
	"fmt"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// mostStrays is how many GPUs a reason of a node names.
const mostStrays = 16

// strays makes reasons of nodes of the events of GPUs that are not in the grid, because they were gone before it begins or
// because nobody knew which GPU it was. Without that a GPU that fell off the bus in the night would look as if it never was.
func (p *pass) strays(boards [][]int, nodes *nodeStates) {
	if len(p.events) == 0 {
		return
	}
	here := make(map[gpu.Identity]bool, len(p.events))
	for _, rows := range boards {
		if id := p.grid.Subjects[rows[0]].Parent(); p.events[id] != nil {
			here[id] = true
		}
	}
	var gone []gpu.Identity
	for id := range p.events {
		if !here[id] {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, gpu.Identity.Compare)
	model := p.model("")
	for _, id := range gone {
		b := &board{pass: p, id: id, model: model, seen: -1}
		b.findXIDs()
		b.xidReasons()
		switch at, who := b.lostSince(); {
		case at > 0 && who == fromHistory:
			b.missing(at, "A GPU is gone: no exporter shows it any more.")
		case at > 0:
			b.missing(at, "The agent says that a GPU is lost.")
		}
		n := nodes.of(id.Cluster, id.Node)
		for _, r := range b.reasons {
			if r.Severity.Rank() >= insight.Unknown.Rank() {
				n.stray(r, id.UUID)
			}
		}
	}
}

// stray adds a reason of a GPU that is not in the grid, or the GPU to the reason that others have as well.
func (n *nodeState) stray(r insight.Reason, uuid string) {
	which := "a GPU that nobody knows"
	if uuid != "" {
		which = uuid + ", of which nothing is measured now"
	}
	for i := range r.Evidence {
		r.Evidence[i].Text += fmt.Sprintf(" (%s)", which)
	}
	at := slices.IndexFunc(n.reasons, func(have insight.Reason) bool { return have.ID == r.ID })
	if at < 0 {
		r.Text += fmt.Sprintf(" It was %s.", which)
		n.reasons = append(n.reasons, r)
		return
	}
	have := &n.reasons[at]
	have.Severity = worse(have.Severity, r.Severity)
	if r.Since > 0 && (have.Since == 0 || r.Since < have.Since) {
		have.Since = r.Since
	}
	if len(have.Evidence) < mostStrays {
		have.Evidence = append(have.Evidence, r.Evidence...)
	}
}
