package topology

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight/mig"
)

// instances draws what a GPU is split into, and what is left.
func (d *drawing) instances(b *Board, board Vertex) {
	for _, row := range b.Subjects {
		s := d.grid.Subjects[row]
		if !s.IsMIG() {
			continue
		}
		v := Vertex{
			ID: place("instance", boardID(b.Device), s.GPUInstance, s.ComputeInstance), Kind: Instance, Title: cmp.Or(s.MIGProfile, "MIG") + " #" + s.GPUInstance,
			Subtitle: ownerName(s.Owners), Main: "not measured", Subject: row, Device: s.Device, State: Unknown, Why: "Its activity is not measured.",
		}
		if s.ComputeInstance != "" {
			v.Title += "." + s.ComputeInstance
		}
		if active := d.reader.mean(row, activity()); !math.IsNaN(active) {
			active = min(max(active, 0), 1)
			v.Main, v.State, v.Why, v.Arcs = percent(active), OK, "", Arcs{Active: active, Idle: 1 - active}
		}
		l := unmeasured()
		l.State = OK
		if part := mig.PartOf(s.Device); part.Known {
			l.Is = percent(part.Compute) + " of compute"
		}
		d.Vertices = append(d.Vertices, v)
		d.edge(place("part", v.ID), board.ID, v.ID, l)
	}
	d.room(b, board)
}

// room draws what is left of a GPU that is split.
func (d *drawing) room(b *Board, board Vertex) {
	s := b.Split
	l := s.Layout
	v := Vertex{ID: place("room", board.ID), Kind: Room, Title: "free", Subject: -1, Device: b.Device, State: OK, Marked: board.Marked, Fits: s.Fits()}
	if !s.Table {
		v.Assumed = "The model is not in the table of MIG profiles; seven slices are taken for granted."
	}
	switch {
	case !l.Known:
		v.Main, v.State, v.Why = "not known", Unknown, "The instances do not fit the profiles of this model, or their profiles are not known."
	case l.Possible == "":
		v.Main, v.Title = "nothing fits", "full"
	case l.Largest == "":
		v.Main = "perhaps " + l.Possible
	default:
		v.Main = l.Largest
	}
	if l.Known {
		v.Subtitle = fmt.Sprintf("%d of %d slices", l.FreeCompute, s.Compute)
		v.Arcs = s.arcs()
		if !l.Sure {
			v.Assumed = strings.TrimSpace(v.Assumed + " Where the instances stand is not reported: what fits surely is told, and what fits if they stand well.")
		}
		if l.FreeCompute > 0 && len(s.Instances) > 0 {
			v.Secondary = "fragmented " + percent(l.Fragmentation)
			if l.Fragmentation > 0 && l.Fragmentation >= d.limits.Fragmented {
				v.State = Fragmented
				v.Why = fmt.Sprintf("%d slices are free, and the largest instance that surely fits is %s.", l.FreeCompute, cmp.Or(l.Largest, "none"))
			}
		}
	}
	d.Vertices = append(d.Vertices, v)
	d.edge(place("room", v.ID), board.ID, v.ID, unmeasured())
}

// arcs are the shares of slices that are taken, that one instance could have, and that are free and of no use for a large one.
func (s *Split) arcs() Arcs {
	if !s.Layout.Known || s.Compute <= 0 {
		return Arcs{}
	}
	free := float64(s.Layout.FreeCompute) / float64(s.Compute)
	stranded := min(max(s.Layout.Fragmentation, 0), 1) * free
	return Arcs{Allocated: 1 - free, Stranded: stranded, Free: free - stranded}
}

func ownerName(owners []gpu.Owner) string {
	if len(owners) == 0 {
		return "no owner known"
	}
	return owners[0].Name()
}
