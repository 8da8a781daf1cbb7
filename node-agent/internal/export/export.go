package export

import (
	"strconv"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Exporter writes the newest frame of a store as Prometheus text. It is safe for concurrent use.
type Exporter struct {
	o    Options
	xids catalog.Metric

	mu       sync.Mutex
	settings Settings
	window   *snapshot.Window // nil for none
	head     []byte           // what is there before the first sample, too
	layout   *layout
	status   part[snapshot.Status]
	facts    []byte // about the devices, of the same status
	owners   part[snapshot.OwnerList]
	people   part[snapshot.ProcessList]
	shown    shown
	text     []byte // the whole answer for shown
}

// part is text that is written again when what it speaks of was published again.
type part[T any] struct {
	of   *T
	text []byte
}

// shown is what an answer depends on.
type shown struct {
	frame     *snapshot.Frame
	owners    *snapshot.OwnerList
	processes *snapshot.ProcessList
	stale     bool
}

// Append writes the text after dst. A reading that was not taken has no line. However many ask, the text is made once for
// each frame.
func (e *Exporter) Append(dst []byte, now time.Time) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.o.Store.Newest()
	if f == nil {
		return append(dst, e.head...)
	}
	if e.window != nil && f != e.shown.frame {
		f = e.window.Update() // or one that came meanwhile
	}
	want := shown{frame: f, stale: f.Stale(now)}
	if e.o.Owners != nil {
		want.owners, _ = e.o.Owners.Get()
	}
	if e.o.Processes != nil && e.settings.MaxProcesses > 0 {
		want.processes, _ = e.o.Processes.Get()
	}
	if e.shown != want {
		e.write(want)
		e.shown = want
	}
	return append(dst, e.text...)
}

// write makes the answer. Text that changes seldom is kept.
func (e *Exporter) write(want shown) {
	f := want.frame
	if e.layout == nil || e.layout.schema != f.Schema {
		e.layout = newLayout(f.Schema, e.window)
		e.status.of, e.owners.of, e.people.of = nil, nil, nil
		e.owners.text, e.people.text = e.owners.text[:0], e.people.text[:0]
	}
	l := e.layout
	if e.status.of != f.Status {
		e.status.of = f.Status
		e.facts = e.appendFacts(e.facts[:0], l, f.Status)
		e.status.text = e.appendXIDs(e.status.text[:0], l, f.Status)
		e.status.text = e.appendEvents(e.status.text, l, f.Status)
		e.status.text = e.appendStatus(e.status.text, l, f.Status)
	}
	if want.owners != nil && e.owners.of != want.owners {
		e.owners.of = want.owners
		e.owners.text = appendOwners(e.owners.text[:0], l, want.owners)
	}
	if want.processes != nil && e.people.of != want.processes {
		e.people.of = want.processes
		e.people.text = appendProcesses(e.people.text[:0], l, want.processes, e.settings.MaxProcesses)
	}
	e.text = append(append(e.text[:0], e.head...), e.facts...)
	e.text = append(e.text, e.owners.text...)
	if !want.stale {
		e.text = e.appendReadings(e.text, l, f)
		e.text = append(e.text, e.people.text...)
	}
	e.text = e.appendSampled(e.text, f)
	e.text = append(e.text, e.status.text...)
}

func (e *Exporter) appendReadings(dst []byte, l *layout, f *snapshot.Frame) []byte {
	for i := range l.families {
		family := &l.families[i]
		end := e.endOfLine(family, f)
		started := false
		for j := range family.series {
			s := &family.series[j]
			r := f.Readings[s.column]
			if !r.OK() {
				continue
			}
			if !started {
				dst, started = append(dst, family.header...), true
			}
			dst = append(dst, s.prefix...)
			dst = append(strconv.AppendFloat(dst, r.Value, 'g', -1, 64), end...)
		}
		for j := range family.windows {
			dst = e.appendWindow(dst, &family.windows[j])
		}
	}
	return dst
}

// endOfLine is what stands after the values of a family.
func (e *Exporter) endOfLine(family *family, f *snapshot.Frame) []byte {
	e.layout.end = e.layout.end[:0]
	if e.settings.Timestamps {
		at := f.Time
		if f.Sampled != nil && !f.Sampled[family.group].IsZero() {
			at = f.Sampled[family.group]
		}
		e.layout.end = strconv.AppendInt(append(e.layout.end, ' '), at.UnixMilli(), 10)
	}
	e.layout.end = append(e.layout.end, '\n')
	return e.layout.end
}

func (e *Exporter) appendWindow(dst []byte, w *windowFamily) []byte {
	folds := e.window.Folds()
	started := false
	for i := range w.series {
		s := &w.series[i]
		if !folds[s.fold].OK() {
			continue
		}
		if !started {
			dst, started = append(dst, w.header...), true
		}
		dst = append(dst, s.prefix...)
		switch w.shows {
		case leastOf:
			dst = strconv.AppendFloat(dst, folds[s.fold].Min, 'g', -1, 64)
		case meanOf:
			dst = strconv.AppendFloat(dst, e.window.Mean(s.fold), 'g', -1, 64)
		case greatestOf:
			dst = strconv.AppendFloat(dst, folds[s.fold].Max, 'g', -1, 64)
		case bitsOf:
			dst = strconv.AppendUint(dst, folds[s.fold].Bits, 10)
		}
		dst = append(dst, '\n')
	}
	return dst
}
