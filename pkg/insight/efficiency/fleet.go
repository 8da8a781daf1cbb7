package efficiency

import (
	"cmp"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/mig"
)

// board is one physical GPU.
type board struct {
	whole int // subject that is the whole GPU, -1 when only instances are known
	units []unit
	// from and to are the steps in which the board has its place: not before one that it replaced was last seen, and until the
	// one that replaced it came. They are set by [run.node].
	from, to int
}

// unit is a MIG instance.
type unit struct {
	subject int
	part    mig.Part
}

// first is a subject of the board, for what is the same for all.
func (b board) first() int {
	if b.whole >= 0 {
		return b.whole
	}
	return b.units[0].subject
}

// node is a node and the boards in it.
type node struct{ boards []board }

type place struct{ cluster, node string }

// profiled is what the part of an instance depends on.
type profiled struct{ model, profile string }

// fleet puts subjects together to boards and those to nodes. A subject that is there twice counts once. The GPU instance is
// left out where its compute instances are known.
func fleet(subjects []insight.Subject) []node {
	var nodes []node
	at := make(map[place]int)
	boards := make(map[gpu.Identity][2]int, len(subjects))
	parts := make(map[profiled]mig.Part)
	for i := range subjects {
		s := &subjects[i]
		where := place{s.Cluster, s.Node}
		n, known := at[where]
		if !known {
			n = len(nodes)
			at[where] = n
			nodes = append(nodes, node{})
		}
		parent := s.Parent()
		b, known := boards[parent]
		if !known || s.UUID == "" {
			b = [2]int{n, len(nodes[n].boards)}
			nodes[n].boards = append(nodes[n].boards, board{whole: -1})
			boards[parent] = b
		}
		mine := &nodes[b[0]].boards[b[1]]
		if !s.IsMIG() {
			if mine.whole < 0 {
				mine.whole = i
			}
			continue
		}
		key := profiled{s.Model, s.MIGProfile}
		part, known := parts[key]
		if !known {
			part = mig.PartOf(s.Device)
			parts[key] = part
		}
		mine.put(subjects, unit{i, part})
	}
	return nodes
}

// put adds an instance to its board.
func (b *board) put(subjects []insight.Subject, u unit) {
	id := subjects[u.subject].Identity
	for i := range b.units {
		other := subjects[b.units[i].subject].Identity
		switch {
		case other == id, other.GPUInstance == id.GPUInstance && id.ComputeInstance == "":
			return
		case other.GPUInstance == id.GPUInstance && other.ComputeInstance == "":
			b.units[i] = u
			return
		}
	}
	b.units = append(b.units, u)
}

// presence says for each step whether any of the columns has a value of a subject.
func presence(there []bool, columns [][][]float64, subject int) {
	left := len(there)
	for _, column := range columns {
		if left == 0 {
			return
		}
		for i, v := range column[subject] {
			if !there[i] && !math.IsNaN(v) {
				there[i] = true
				left--
			}
		}
	}
}

// slot is a place in a node, where one board is at a time.
type slot struct {
	bus   string
	index int
}

// slotOf is a board's place; false where nobody says.
func slotOf(d gpu.Device) (slot, bool) {
	if d.PCIBusID != "" {
		return slot{bus: d.PCIBusID, index: -1}, true
	}
	return slot{index: d.Index}, d.Index >= 0
}

// settle says which steps each board of a node has its place in. there has a row for each board: the steps in which anything was
// known of it. Boards that were in one place after each other are one GPU of capacity, not two; those that were there at the same
// time are in different places, whatever they say.
func (n *node) settle(subjects []insight.Subject, there [][]bool) {
	type stay struct{ board, first, last int }
	stays := make(map[slot][]stay)
	var order []slot
	for k := range n.boards {
		b := &n.boards[k]
		b.from, b.to = 0, len(there[k])
		first, last := slices.Index(there[k], true), lastTrue(there[k])
		place, known := slotOf(subjects[b.first()].Device)
		if !known || first < 0 {
			continue
		}
		if stays[place] == nil {
			order = append(order, place)
		}
		stays[place] = append(stays[place], stay{k, first, last})
	}
	for _, place := range order {
		all := stays[place]
		slices.SortStableFunc(all, func(a, b stay) int { return cmp.Compare(a.first, b.first) })
		for i := 1; i < len(all); i++ {
			before, after := all[i-1], all[i]
			if before.last >= after.first {
				continue
			}
			n.boards[before.board].to = after.first
			n.boards[after.board].from = after.first
		}
	}
}

func lastTrue(is []bool) int {
	for i := len(is) - 1; i >= 0; i-- {
		if is[i] {
			return i
		}
	}
	return -1
}
