package history

import (
	"cmp"
	"iter"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// roll is a roster that goes on from one which others read too: what is as there is not copied.
type roll struct {
	base roster // is not changed
	own  roster // what is not as in the base
}

// at is what is known of a device, nil when nothing is. It must not be changed.
func (r *roll) at(key deviceKey) *resident {
	if len(r.own) > 0 {
		if known := r.own[key]; known != nil {
			return known
		}
	}
	return r.base[key]
}

// put makes something known of a device.
func (r *roll) put(key deviceKey, known resident) {
	if r.own == nil {
		r.own = roster{}
	}
	if ours := r.own[key]; ours != nil {
		*ours = known
		return
	}
	r.own[key] = &known
}

// all are the devices, each once, in no order.
func (r *roll) all() iter.Seq2[deviceKey, *resident] {
	return func(yield func(deviceKey, *resident) bool) {
		for key, known := range r.own {
			if !yield(key, known) {
				return
			}
		}
		for key, known := range r.base {
			if len(r.own) > 0 && r.own[key] != nil {
				continue
			}
			if !yield(key, known) {
				return
			}
		}
	}
}

// add is [roster.add] of what a label set says.
func (r *roll) add(b *bearer, rank int) {
	known := r.at(b.key)
	if last := b.noted.Load(); known != nil && last != nil && last.of == known && last.rank == rank && r.shared(b.key) {
		return
	}
	next := resident{}
	if known != nil {
		next = *known
	}
	if next.hear(known != nil, b.id, rank) {
		r.put(b.key, next)
		return
	}
	if r.shared(b.key) {
		b.noted.Store(&standing{of: known, rank: rank})
	}
}

// shared reports whether a device is known as in the base, which does not change.
func (r *roll) shared(key deviceKey) bool { return len(r.own) == 0 || r.own[key] == nil }

// hear takes in what one series says of a device, known says whether anything was, and reports whether that changed anything.
func (k *resident) hear(known bool, id catalog.Identified, rank int) bool {
	d := id.Device
	d.ComputeInstance = ""
	host := hostLabel{id.NodeLabel, d.Node}
	changed := !known
	if !known {
		*k = resident{device: d, rank: rank}
	} else if k.join(d, rank) {
		changed = true
	}
	if host.value != "" && !slices.Contains(k.hosts, host) {
		k.hosts = append(slices.Clip(k.hosts), host)
		changed = true
	}
	return changed
}

// join fills in what another says of the same device, whose facts win where they are of a better rank. It reports whether that
// changed anything.
func (k *resident) join(d gpu.Device, rank int) bool {
	better := d.Node != "" && (rank < k.rank || rank == k.rank && comesFirst(d, k.device))
	next, as := merged(k.device, d, better), k.rank
	if better {
		as = rank
	}
	if next == k.device && as == k.rank {
		return false
	}
	k.device, k.rank = next, as
	return true
}

// take adds all of another roll.
func (r *roll) take(other roll) {
	if len(r.base)+len(r.own) == 0 {
		*r = other // nobody else has it
		return
	}
	for key, theirs := range other.all() {
		ours := r.at(key)
		if ours == nil {
			r.put(key, resident{device: theirs.device, rank: theirs.rank, hosts: slices.Clip(theirs.hosts)})
			continue
		}
		next := *ours
		changed := next.join(theirs.device, theirs.rank)
		for _, host := range theirs.hosts {
			if !slices.Contains(next.hosts, host) {
				next.hosts = append(slices.Clip(next.hosts), host)
				changed = true
			}
		}
		if changed {
			r.put(key, next)
		}
	}
}

// complete is [roster.complete].
func (r *roll) complete() {
	instances := r.instances()
	for _, key := range instances {
		child := *r.at(key)
		var parent resident
		if known := r.at(key.parent()); known != nil {
			parent = *known
		} else {
			board := child.device
			board.GPUInstance, board.MIGProfile, board.MIGUUID = "", "", ""
			parent = resident{device: board, rank: child.rank, hosts: slices.Clip(child.hosts)}
			r.put(key.parent(), parent)
		}
		if !parent.device.MIGEnabled {
			parent.device.MIGEnabled = true
			r.put(key.parent(), parent)
		}
		if parent.rank <= child.rank && parent.device.Node != "" && (child.device.Node != parent.device.Node || child.rank != parent.rank) {
			child.device.Node, child.rank = parent.device.Node, parent.rank
			r.put(key, child)
		}
	}
	for _, key := range instances {
		child := *r.at(key)
		board := r.at(key.parent()).device
		board.MIGProfile, board.MIGUUID = "", ""
		if next := merged(child.device, board, false); next != child.device {
			child.device = next
			r.put(key, child)
		}
	}
}

// instances are the keys of MIG instances, those of the best rank first.
func (r *roll) instances() []deviceKey {
	var keys []deviceKey
	for key := range r.all() {
		if key.instance() != "" {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b deviceKey) int { return cmp.Or(r.at(a).rank-r.at(b).rank, compareKeys(a, b)) })
	return keys
}
