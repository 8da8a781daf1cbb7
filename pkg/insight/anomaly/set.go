package anomaly

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Key says whose past a baseline is.
type Key struct {
	Identity gpu.Identity
	Field    insight.Field
	Class    insight.Class
}

// Set is the baselines of many devices, a bounded number of them. It is not safe for concurrent use.
type Set struct {
	limit     int
	baselines map[Key]*Baseline
	refused   int
}

// NewSet holds at most limit baselines, of about 20 kB each.
func NewSet(limit int) *Set {
	return &Set{limit: max(0, limit), baselines: make(map[Key]*Baseline)}
}

// Of is a baseline; nil when there is none.
func (s *Set) Of(k Key) *Baseline { return s.baselines[k] }

// Put sets a baseline, one that was stored for example. It is false when there is no room.
func (s *Set) Put(k Key, b *Baseline) bool {
	if _, ok := s.baselines[k]; !ok && len(s.baselines) >= s.limit {
		s.refused++
		return false
	}
	s.baselines[k] = b
	return true
}

// Len is how many baselines there are, and Refused how often one had no room.
func (s *Set) Len() int { return len(s.baselines) }

// Refused is how often a baseline had no room.
func (s *Set) Refused() int { return s.refused }

// Forget drops baselines without a value since a time, Unix milliseconds: of devices that are gone.
func (s *Set) Forget(before int64) {
	for k, b := range s.baselines {
		if b.Newest() < before {
			delete(s.baselines, k)
		}
	}
}

// Update adds what a grid has of a field that is newer than what is known. Values of devices go to the baseline of the class
// of work that they have at the end of the grid.
func (s *Set) Update(devices *insight.Devices, field insight.Field) {
	for i, subject := range devices.Subjects {
		values := devices.Values(field, i)
		if values == nil {
			continue
		}
		k := Key{subject.Identity, field, subject.Class}
		b := s.baselines[k]
		if b == nil {
			b = NewBaseline()
			if !s.Put(k, b) {
				continue
			}
		}
		since := b.Newest()
		for at := len(values) - 1; at >= 0; at-- {
			if devices.Times[at] <= since {
				values = values[at+1:]
				break
			}
		}
		offset := len(devices.Times) - len(values)
		for n, v := range values {
			if !math.IsNaN(v) {
				b.Add(devices.Times[offset+n], v)
			}
		}
	}
}

// Class merges the baselines of all devices with a class of work and a field.
func (s *Set) Class(class insight.Class, field insight.Field) *Baseline {
	out := NewBaseline()
	// The order of merging shows in the last digits: it is that of identities.
	for _, k := range s.keys() {
		if k.Class == class && k.Field == field {
			out.Merge(s.baselines[k])
		}
	}
	return out
}
