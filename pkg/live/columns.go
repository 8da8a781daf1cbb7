package live

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/warpwatch/warpwatch/pkg/wire"
)

// maxColumnSets bounds the columns that nodes share; those of further kinds of nodes are each node's own.
const maxColumnSets = 1024

// columnSet is the columns of a schema. Nodes of a fleet have few kinds of them, and share those.
type columnSet struct {
	wire    []*wire.Column
	columns map[string][]column
	scales  []scale
}

type column struct{ index, device int }

// columnSets are those that nodes share. The zero value is ready.
type columnSets struct {
	mu   sync.Mutex
	seed maphash.Seed
	sets map[uint64]*columnSet
}

// share puts the set that other nodes have in place of equal columns.
func (c *columnSets) share(sent *wire.Schema) *columnSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sets == nil {
		c.seed, c.sets = maphash.MakeSeed(), make(map[uint64]*columnSet)
	}
	key := c.hash(sent.GetColumns())
	known, ok := c.sets[key]
	if ok && slices.EqualFunc(known.wire, sent.GetColumns(), sameColumn) {
		sent.Columns = known.wire
		return known
	}
	set := newColumnSet(sent.GetColumns())
	if !ok && len(c.sets) < maxColumnSets {
		c.sets[key] = set
	}
	return set
}

func (c *columnSets) hash(columns []*wire.Column) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, w := range columns {
		_, _ = h.WriteString(w.GetMetric())
		_, _ = h.WriteString(w.GetLabelValue())
		maphash.WriteComparable(&h, [4]uint64{uint64(w.GetDevice()), w.GetMultiplier(), w.GetDivisor(), uint64(w.GetIntervalMs())})
	}
	return h.Sum64()
}

func sameColumn(a, b *wire.Column) bool {
	return a.GetDevice() == b.GetDevice() && a.GetMetric() == b.GetMetric() && a.GetMultiplier() == b.GetMultiplier() &&
		a.GetDivisor() == b.GetDivisor() && a.GetLabel() == b.GetLabel() && a.GetLabelValue() == b.GetLabelValue() &&
		a.GetIntervalMs() == b.GetIntervalMs()
}

func newColumnSet(columns []*wire.Column) *columnSet {
	set := &columnSet{wire: columns, columns: make(map[string][]column), scales: make([]scale, len(columns))}
	type place struct {
		metric string
		device int
	}
	seen := make(map[place]bool, len(columns))
	for i, c := range columns {
		set.scales[i] = scale{float64(c.GetMultiplier()), float64(c.GetDivisor())}
		if c.GetLabel() != "" {
			continue // a part of a metric: nothing asks for it live
		}
		at := place{c.GetMetric(), int(c.GetDevice())}
		if !seen[at] {
			seen[at] = true
			set.columns[at.metric] = append(set.columns[at.metric], column{i, at.device})
		}
	}
	return set
}

// scale is the resolution of a column; 1 for one that there is not.
func (c *columnSet) scale(i int) scale {
	if i >= len(c.scales) {
		return scale{1, 1}
	}
	return c.scales[i]
}
