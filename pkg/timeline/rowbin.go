package timeline

import (
	"math"
	"slices"
	"sort"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func (r *Rows) node(name string) *rowNode {
	n, ok := r.nodes[name]
	if !ok {
		n = &rowNode{id: len(r.nodes), period: r.plan.Period.Milliseconds()}
		r.nodes[name] = n
		r.order = append(r.order, n)
	}
	return n
}

// enroll gives each of a node's devices its place in the table.
func (r *Rows) enroll(n *rowNode, devices []gpu.Device) {
	if len(devices) == len(n.devices) && (len(devices) == 0 || &devices[0] == &n.devices[0]) {
		return
	}
	n.devices, n.members = devices, make([]int, len(devices))
	grown := len(r.members)
	for i, d := range devices {
		k := key{id: d.Identity}
		at, ok := r.memberAt[k]
		if !ok {
			at = len(r.members)
			r.memberAt[k] = at
			r.members = append(r.members, r.newMember(d))
		}
		r.members[at].node = n
		n.members[i] = at
	}
	// The cell was laid out for the devices before.
	n.ticked = false
	for _, bin := range r.bins {
		bin.done = min(bin.done, n.id)
	}
	if len(r.members) > grown && r.plan.By != ByIdentity {
		r.findParents()
	}
}

func (r *Rows) newMember(d gpu.Device) member {
	field := Field{Device: d}
	if r.plan.By != ByIdentity {
		field = Field{Labels: r.plan.group(d)}
	}
	k := keyOf(field.Device, field.Labels)
	at, ok := r.fieldAt[k]
	if !ok {
		into := &r.fields
		if r.plan.Spread != nil {
			into = &r.lines
		}
		at = len(*into)
		r.fieldAt[k] = at
		*into = append(*into, field)
	}
	m := member{field: at, parent: -1, weight: r.plan.weight(d)}
	if r.plan.Counter {
		m.counter = &counter{window: r.plan.RateWindow().Milliseconds()}
	}
	return m
}

func (r *Rows) findParents() {
	for k, at := range r.memberAt {
		if !k.id.IsMIG() {
			continue
		}
		if parent, ok := r.memberAt[key{id: k.id.Parent()}]; ok {
			r.members[at].parent = parent
		}
	}
}

// values are the tick's, or their rates. Counters see every tick whose time rises, also one that is too late for its row.
func (r *Rows) values(n *rowNode, tick Tick) []float64 {
	values := make([]float64, len(n.members))
	for i, at := range n.members {
		values[i] = math.NaN()
		if i < len(tick.Values) {
			values[i] = tick.Values[i]
		}
		if c := r.members[at].counter; c != nil {
			values[i] = c.follow(tick.Time, values[i])
		}
	}
	return values
}

// follow is add for times that may not rise: such a reading says nothing.
func (c *counter) follow(t int64, v float64) float64 {
	if n := len(c.samples); n > 0 && t <= c.samples[n-1].time {
		return math.NaN()
	}
	return c.add(t, v)
}

// fill writes what a node measured into a bin.
func (r *Rows) fill(n *rowNode, start int64, cell []float64) {
	at := sort.Search(len(r.bins), func(i int) bool { return r.bins[i].start >= start })
	if at == len(r.bins) || r.bins[at].start != start {
		r.bins = slices.Insert(r.bins, at, &rowBin{start: start})
	}
	bin := r.bins[at]
	for len(bin.values) < len(r.members) {
		bin.values = append(bin.values, math.NaN())
	}
	for len(bin.ticked) <= n.id {
		bin.ticked = append(bin.ticked, false)
	}
	bin.ticked[n.id] = true
	for i, at := range n.members {
		bin.values[at] = cell[i]
	}
}

// row folds a bin into the fields there are now.
func (r *Rows) row(bin *rowBin) Row {
	values := slices.Grow(r.room[:0], len(r.members))[:len(r.members)]
	r.room = values
	for i := range r.members {
		values[i] = r.count(&r.members[i], i, bin)
	}
	if r.plan.Spread == nil {
		return Row{Time: bin.start, Values: r.fold(values, len(r.fields))}
	}
	if r.plan.By != ByIdentity {
		values = r.fold(values, len(r.lines))
	}
	found := values[:0]
	for _, v := range values {
		if finite(v) {
			found = append(found, v)
		}
	}
	return Row{Time: bin.start, Values: r.plan.Spread.Row(found)}
}

// fold makes one value for each of so many lines of those of the members.
func (r *Rows) fold(values []float64, lines int) []float64 {
	out := make([]float64, lines)
	if r.plan.By == ByIdentity {
		for i := range out {
			out[i] = math.NaN()
		}
		for i, m := range r.members {
			out[m.field] = values[i]
		}
		return out
	}
	folds := make([]fold, lines)
	for i, m := range r.members {
		if m.parent < 0 || math.IsNaN(values[m.parent]) {
			folds[m.field].add(values[i], m.weight)
		}
	}
	for i := range folds {
		out[i] = folds[i].value(r.plan.Fn)
	}
	return out
}

// count is the value that a member counts with in a bin: its own, or for a while the one it had before.
func (r *Rows) count(m *member, at int, bin *rowBin) float64 {
	if id := m.node.id; id < len(bin.ticked) && bin.ticked[id] {
		v := math.NaN()
		if at < len(bin.values) {
			v = bin.values[at]
		}
		m.carried, m.carriedBin, m.hasCarried = v, bin.start, true
		return v
	}
	if m.hasCarried && bin.start-m.carriedBin <= r.plan.carry().Milliseconds() {
		return m.carried
	}
	return math.NaN()
}
