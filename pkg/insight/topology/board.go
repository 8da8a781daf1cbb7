package topology

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/mig"
	"github.com/warpwatch/warpwatch/pkg/insight/sku"
)

// Board is a physical GPU with its links.
type Board struct {
	Device   gpu.Device // of the whole GPU, also where only its instances have rows
	Subjects []int      // rows of the grid: the GPU's own first, where it has one, then its instances'
	Activity float64    // now; NaN where it was not measured, and of a GPU that is split
	PCIe     Link
	NVLink   *Link // nil where there is none, as far as anybody knows
	C2C      *Link // nil where there is none
	Split    *Split
	State    State  // the worst of its links
	Why      string // of a state that is not OK
	Missing  []string

	fabric bool // it has joined one
	own    bool // the first subject is the GPU itself
}

// Split is a GPU that is split into instances, or may be.
type Split struct {
	Instances []mig.Instance
	Layout    mig.Layout
	Compute   int // slices of the model
	// Table reports whether the model is in the table; else the usual one is taken.
	Table bool
}

// Room is how many more instances of a profile the board has room for, surely and at most; false where that is not known, or
// the board is not split.
func (b *Board) Room(profile string) (sure, most int, known bool) {
	want, err := mig.Parse(profile)
	if err != nil || b.Split == nil || !b.Split.Layout.Known {
		return 0, 0, false
	}
	for _, f := range b.Split.Layout.Fits {
		if shape, err := mig.Parse(f.Profile); err == nil && shape == want {
			return f.Sure, f.Most, true
		}
	}
	return 0, 0, b.Split.Table
}

// Fits lists what still fits for people: "1× 3g.40gb, 3–4× 1g.10gb". It is each of them alone, not together.
func (s *Split) Fits() string {
	var texts []string
	for _, f := range slices.Backward(s.Layout.Fits) {
		switch {
		case f.Most == 0:
		case f.Sure == f.Most:
			texts = append(texts, fmt.Sprintf("%d× %s", f.Most, f.Profile))
		default:
			texts = append(texts, fmt.Sprintf("%d–%d× %s", f.Sure, f.Most, f.Profile))
		}
	}
	return strings.Join(texts, ", ")
}

// rank orders states, the worst last.
func rank(s State) int {
	return slices.Index([]State{OK, Idle, Saturated, Unknown, Degraded, Down}, s)
}

// boards are the GPUs of a grid in the order of their place.
func boards(grid *insight.Devices, limits Limits) []Board {
	at := map[gpu.Identity]int{}
	var list []Board
	for i, s := range grid.Subjects {
		id := s.Parent()
		n, known := at[id]
		if !known {
			n = len(list)
			at[id] = n
			whole := s.Device
			whole.Identity, whole.MIGProfile, whole.MIGUUID = id, "", ""
			list = append(list, Board{Device: whole})
		}
		b := &list[n]
		b.Device.MIGEnabled = b.Device.MIGEnabled || s.MIGEnabled || s.IsMIG()
		if s.IsMIG() {
			b.Subjects = append(b.Subjects, i)
			continue
		}
		enabled := b.Device.MIGEnabled
		b.Device, b.own = s.Device, true
		b.Device.MIGEnabled = enabled
		b.Subjects = append([]int{i}, b.Subjects...)
	}
	r := readerOf(grid, limits.Minutes)
	for i := range list {
		list[i].judge(r, limits)
	}
	slices.SortStableFunc(list, func(a, b Board) int {
		return cmp.Or(cmp.Compare(a.Device.Cluster, b.Device.Cluster), cmp.Compare(a.Device.Node, b.Device.Node),
			cmp.Compare(a.Device.Index, b.Device.Index), a.Device.Compare(b.Device.Identity))
	})
	return list
}

func (b *Board) judge(r reader, limits Limits) {
	model, known := sku.Lookup(b.Device.Model)
	first := b.Subjects[0]
	if !b.Device.MIGEnabled && b.own && r.last(first, migMode()) == 1 {
		b.Device.MIGEnabled = true
	}
	b.Activity = math.NaN()
	if b.Device.MIGEnabled {
		b.Split = splitOf(b, r.grid)
	} else {
		b.Activity = r.mean(first, activity())
	}
	b.PCIe = r.pcie(b.Subjects, model, limits)
	b.fabric = r.last(first, fabricState()) == fabricJoined
	if l, has := r.nvlink(first, model, b.Device.MIGEnabled, limits); has {
		b.NVLink = &l
	}
	if l, has := r.c2c(first, limits); has {
		b.C2C = &l
	}
	b.State = OK
	for _, l := range []*Link{&b.PCIe, b.NVLink, b.C2C} {
		if l != nil && (rank(l.State) > rank(b.State)) && (l.State == Degraded || l.State == Down) {
			b.State, b.Why = l.State, l.Why
		}
	}
	b.lacks(r, known && model.NVLinks > 0 && !bridged(model))
}

// lacks notes what would have told more.
func (b *Board) lacks(r reader, linked bool) {
	first := b.Subjects[0]
	note := func(missing bool, q quantity) {
		if missing {
			b.Missing = append(b.Missing, q.fields[0].Metric)
		}
	}
	absent := func(q quantity) bool { return r.tail(first, q) == nil }
	note(absent(generation()), generation())
	note(absent(width()), width())
	note(absent(widthMax()), widthMax())
	note(absent(pcieReceive()), pcieReceive())
	if linked && !b.Device.MIGEnabled {
		note(absent(linksActive()), linksActive())
		note(absent(fabricState()), fabricState())
		note(absent(nvlinkReceive()) && absent(nvlinkBoth()), nvlinkReceive())
	}
	if b.Split == nil {
		note(absent(activity()), activity())
	}
}

// splitOf is how a board is split. Compute instances of one GPU instance are one.
func splitOf(b *Board, grid *insight.Devices) *Split {
	s := &Split{}
	seen := map[string]bool{}
	for _, i := range b.Subjects {
		d := grid.Subjects[i].Device
		if !d.IsMIG() || seen[d.GPUInstance] {
			continue
		}
		seen[d.GPUInstance] = true
		s.Instances = append(s.Instances, mig.Instance{ID: d.GPUInstance, Profile: d.MIGProfile, Start: -1})
	}
	var table mig.Table
	table, s.Table = mig.Lookup(b.Device.Model)
	s.Compute = table.ComputeSlices
	if len(s.Instances) <= table.ComputeSlices {
		s.Layout = table.Layout(s.Instances)
	}
	return s
}
