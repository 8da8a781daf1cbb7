// Package workload keeps the numbers that jobs and scripts hand to the agent, and shows them beside the agent's own. Each
// input (a file, the OTLP receiver) owns its series; whatever would break a scrape, or pass for a reading of the agent, is
// refused with a message and counted.
package workload

import (
	"cmp"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// Limits bound what inputs may bring. A line is a series as a scraper sees it: a histogram has many. Zero is the default.
type Limits struct {
	LinesPerInput int // 5000
	Lines         int // 20000, of all inputs together
	Labels        int // 32, of one series, with those that the agent adds
	NameBytes     int // 200, of a metric or a label
	ValueBytes    int // 512, of a label's value
	HelpBytes     int // 1024, longer ones are cut
	Inputs        int // 300
}

func (l Limits) withDefaults() Limits {
	return Limits{
		LinesPerInput: cmp.Or(l.LinesPerInput, 5000), Lines: cmp.Or(l.Lines, 20000), Labels: cmp.Or(l.Labels, 32),
		NameBytes: cmp.Or(l.NameBytes, 200), ValueBytes: cmp.Or(l.ValueBytes, 512), HelpBytes: cmp.Or(l.HelpBytes, 1024),
		Inputs: cmp.Or(l.Inputs, 300),
	}
}

// Options are what a store needs to know.
type Options struct {
	Node    string // the label node of series that have none
	Cluster string // the label cluster of series that have none; "" adds none
	// GPU finds the UUID of a GPU by its index, for series that name the index only. It may be nil.
	GPU func(index string) (uuid string, ok bool)
	// Reserved are beginnings of names that other parts of the agent show, besides those that are never an input's.
	Reserved []string
	Limits   Limits
	Now      func() time.Time // nil is time.Now
}

// Store holds the series of all inputs. It is safe for concurrent use.
type Store struct {
	o Options

	mu       sync.Mutex
	inputs   map[string]*input
	families map[string]*family
	exposed  map[string]*family // by each name that a scraper sees: a histogram has three
	lines    int
	expiry   time.Time // nothing expires before; zero when nothing ever does
	text     []byte
	dirty    bool // text is out of date
}

// input is where series come from.
type input struct {
	name    string
	lines   int
	refused map[Reason]uint64
	success time.Time // the last time it was read whole
}

// family is the series of one metric, of all inputs.
type family struct {
	name, help string
	kind       dto.MetricType
	series     map[string]*series // by their labels
}

type series struct {
	metric  *dto.Metric
	owner   *input
	lines   int
	expires time.Time // zero is never
}

// New returns an empty store.
func New(o Options) *Store {
	o.Limits = o.Limits.withDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{o: o, inputs: map[string]*input{}, families: map[string]*family{}, exposed: map[string]*family{}}
}

// Replace lets an input have these series and no others, until it is replaced or dropped. The store keeps what it is given.
func (s *Store) Replace(name string, families []*dto.MetricFamily) Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{sender: name}
	in := s.input(name, &r)
	if in == nil {
		return r
	}
	s.expire()
	s.dropSeries(func(x *series) bool { return x.owner == in })
	// What another input has by now must be found, what this one says twice is a mistake of its own.
	s.add(in, families, time.Time{}, false, &r)
	in.success = s.o.Now()
	return r
}

// Batch is what one message brings.
type Batch struct {
	Sender   string // named in messages; "" is the input's name
	Families []*dto.MetricFamily
	Gone     []*dto.MetricFamily // series that ended: only names and labels count
	Lifetime time.Duration       // how long a series lives unless it is sent again; zero is forever
}

// Merge adds to an input's series, or renews them. The store keeps what it is given.
func (s *Store) Merge(name string, b Batch) Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{sender: cmp.Or(b.Sender, name)}
	in := s.input(name, &r)
	if in == nil {
		return r
	}
	s.expire()
	var expires time.Time
	if b.Lifetime > 0 {
		expires = s.o.Now().Add(b.Lifetime)
	}
	s.add(in, b.Families, expires, true, &r)
	for _, mf := range b.Gone {
		s.end(in, mf)
	}
	in.success = s.o.Now()
	return r
}

// Clear takes an input's series away, and keeps its counters.
func (s *Store) Clear(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.inputs[name]; in != nil {
		s.dropSeries(func(x *series) bool { return x.owner == in })
	}
}

// Drop forgets an input, its series and its counters.
func (s *Store) Drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.inputs[name]; in != nil {
		s.dropSeries(func(x *series) bool { return x.owner == in })
		delete(s.inputs, name)
	}
}

// Refuse counts n things that an input's reader refused before they reached the store.
func (s *Store) Refuse(name string, reason Reason, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in := s.input(name, &Report{}); in != nil && n > 0 {
		in.refused[reason] += uint64(n)
	}
}

// input finds an input, or makes it. Without room for another it is nil, and r says so.
func (s *Store) input(name string, r *Report) *input {
	if in := s.inputs[name]; in != nil {
		return in
	}
	if len(s.inputs) >= s.o.Limits.Inputs {
		r.refuse(nil, "", TooMany, 1, "there are %d inputs already: use fewer files", len(s.inputs))
		return nil
	}
	in := &input{name: name, refused: map[Reason]uint64{}}
	s.inputs[name] = in
	return in
}

// end takes away the series that mf names.
func (s *Store) end(in *input, mf *dto.MetricFamily) {
	f := s.families[mf.GetName()]
	if f == nil {
		return
	}
	for _, m := range mf.GetMetric() {
		key := labelKey(s.label(m.GetLabel()))
		if x := f.series[key]; x != nil && x.owner == in {
			s.remove(f, key)
		}
	}
}

func (s *Store) remove(f *family, key string) {
	x := f.series[key]
	delete(f.series, key)
	x.owner.lines -= x.lines
	s.lines -= x.lines
	s.dirty = true
	s.release(f)
}

func (s *Store) dropSeries(which func(*series) bool) {
	for _, f := range s.families {
		for key, x := range f.series {
			if which(x) {
				s.remove(f, key)
			}
		}
	}
}

// expire takes away what was not renewed in time.
func (s *Store) expire() {
	now := s.o.Now()
	if s.expiry.IsZero() || now.Before(s.expiry) {
		return
	}
	s.expiry = time.Time{}
	s.dropSeries(func(x *series) bool {
		if x.expires.IsZero() || x.expires.After(now) {
			s.expireAt(x.expires)
			return false
		}
		return true
	})
}

// expireAt remembers the earliest time at which there is something to expire.
func (s *Store) expireAt(at time.Time) {
	if !at.IsZero() && (s.expiry.IsZero() || at.Before(s.expiry)) {
		s.expiry = at
	}
}

// exposedNames are the names that a scraper sees of a metric.
func exposedNames(name string, kind dto.MetricType) []string {
	switch kind {
	case dto.MetricType_HISTOGRAM:
		return []string{name, name + "_bucket", name + "_sum", name + "_count"}
	case dto.MetricType_SUMMARY:
		return []string{name, name + "_sum", name + "_count"}
	}
	return []string{name}
}

// claim finds a metric's family, or makes it. other is what stands in the way.
func (s *Store) claim(name, help string, kind dto.MetricType) (f, other *family) {
	if f = s.families[name]; f != nil && f.kind == kind {
		if f.help == "" {
			f.help = help
		}
		return f, nil
	}
	names := exposedNames(name, kind)
	for _, n := range names {
		if other = s.exposed[n]; other != nil {
			return nil, other
		}
	}
	f = &family{name: name, help: help, kind: kind, series: map[string]*series{}}
	s.families[name] = f
	for _, n := range names {
		s.exposed[n] = f
	}
	return f, nil
}

// release forgets a family without series.
func (s *Store) release(f *family) {
	if len(f.series) > 0 {
		return
	}
	delete(s.families, f.name)
	for _, n := range exposedNames(f.name, f.kind) {
		delete(s.exposed, n)
	}
}

// owners are the names of the inputs that have series of a family.
func (f *family) owners() []string {
	var names []string
	for _, x := range f.series {
		if !slices.Contains(names, x.owner.name) {
			names = append(names, x.owner.name)
		}
	}
	slices.Sort(names)
	return names
}
