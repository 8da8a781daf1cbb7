package anomaly

import (
	"math"
	"slices"

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
	newest    map[line]int64 // what is known of a device up to, in whatever class
	refused   int
}

// line is a field of a device.
type line struct {
	identity gpu.Identity
	field    insight.Field
}

// NewSet holds at most limit baselines, of about 20 kB each.
func NewSet(limit int) *Set {
	return &Set{limit: max(0, limit), baselines: make(map[Key]*Baseline), newest: make(map[line]int64)}
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
	s.notice(line{k.Identity, k.Field}, b.Newest())
	return true
}

// notice remembers up to when a device is known.
func (s *Set) notice(l line, at int64) {
	if known, ok := s.newest[l]; !ok || at > known {
		s.newest[l] = at
	}
}

// Known is up to when values of a device are in its baselines, Unix milliseconds, whatever the classes; false for one that
// has none.
func (s *Set) Known(identity gpu.Identity, field insight.Field) (int64, bool) {
	at, ok := s.newest[line{identity, field}]
	return at, ok
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
	for l, at := range s.newest {
		if at < before {
			delete(s.newest, l)
		}
	}
}

// Update adds what a grid has of a field that is newer than what is known of a device. Values go to the baseline of the class
// of work that the device has at the end of the grid: one that changed its class begins a new one.
func (s *Set) Update(devices *insight.Devices, field insight.Field) {
	s.UpdateUntil(devices, field, math.MaxInt64)
}

// UpdateUntil is Update with the steps that are over at a time, Unix milliseconds: later ones may not have all samples yet.
func (s *Set) UpdateUntil(devices *insight.Devices, field insight.Field, until int64) {
	end := len(devices.Times)
	for end > 0 && devices.Times[end-1] > until-devices.Step.Milliseconds() {
		end--
	}
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
		l := line{subject.Identity, field}
		since, known := s.newest[l]
		from := 0
		if known {
			from, _ = slices.BinarySearch(devices.Times, since+1)
		}
		for n := from; n < end; n++ {
			if !math.IsNaN(values[n]) {
				b.Add(devices.Times[n], values[n])
			}
		}
		s.notice(l, b.Newest())
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
