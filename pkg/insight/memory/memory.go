package memory

import (
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// The ids of verdicts and reasons. A verdict's id is that of its worst reason, or one of the last five.
const (
	OutOfMemory  = "out-of-memory"      // allocations failed
	OOMRisk      = "oom-risk"           // full within the time that is looked ahead, if it goes on
	CacheFull    = "kv-cache-full"      // requests are put back or wait for want of cache
	Retries      = "allocation-retries" // allocations stall until the allocator's cache is emptied
	Zombie       = "zombie-memory"      // held by nobody, for nothing
	Fragmented   = "fragmented"         // held by the allocator and of no use
	NearFull     = "near-full"          // the peak leaves little
	Growing      = "growing"            // but not full soon
	CacheBusy    = "kv-cache-busy"      // the cache is full and nobody waits
	HeldIdle     = "held-idle"          // held by an owner that does next to nothing
	Fits         = "fits"
	Server       = "server"       // the cache of keys and values has room
	Preallocated = "preallocated" // taken in one piece: used says nothing about need
	Split        = "split"        // a GPU with MIG instances, which are judged instead
	Unknown      = "unknown"
)

// Input is what there is to judge.
type Input struct {
	Devices   *insight.Devices
	Workloads *insight.Workloads // of the same times; nil when there are none
	// OwnersKnown reports whether owners were looked for: that a GPU has none is then worth something. Without it, one GPU
	// of the cluster that has an owner says so.
	OwnersKnown bool
}

// Usage is how much memory there is and was. What is nil is not known.
type Usage struct {
	UsableBytes *float64 // used + free: without what the driver reserves
	UsedBytes   *float64 // now
	UsedRatio   *float64 // of usable, now
	PeakBytes   *float64 // the highest of the range
	PeakRatio   *float64
	PeakAt      int64 // start of the step, Unix milliseconds; 0 when not known
	// HeadroomBytes is what was never used.
	HeadroomBytes *float64
	// Assumed says what the figures rest on that was not measured: that nothing is reserved. "" for nothing.
	Assumed string
}

// Verdict is how it stands with the memory of one subject.
type Verdict struct {
	Subject    int // index in the grid's Subjects
	ID         string
	Severity   insight.Severity
	Confidence insight.Confidence
	Text       string           // one sentence for people
	Reasons    []insight.Reason // the worst first
	Missing    []string         // canonical metrics
	Usage      Usage
	Allocator  *Allocator // of the ranks of its owners on this node; nil when none report it
	Cache      *Cache     // of the servers of its owners; nil for what is no server, or does not say
	Batch      *Batch     // nil where a larger batch is no question
	// TimeToFull is when memory is full if it goes on growing; nil when it does not grow, or has much room.
	TimeToFull *time.Duration
}

// Result is the memory of all subjects and owners.
type Result struct {
	Verdicts []Verdict // one for each subject, in the grid's order
	Owners   []OwnerVerdict
}

// pass is one run of Judge.
type pass struct {
	clock

	in      Input
	limits  Limits
	options Options
	devices table[insight.Subject]
	work    table[insight.Workload]
	groups  groups
	owned   map[string]bool // clusters in which owners are known
}

// Judge looks at all subjects and their owners, as of the end of the grid. Limits and options must be valid; those
// of the options have been put over the others by [Options.Resolve].
func Judge(in Input, limits Limits, options Options) Result {
	if in.Devices == nil {
		in.Devices = insight.NewGrid[insight.Subject](time.Time{}, time.Time{}, time.Minute, nil)
	}
	p := &pass{
		clock: clock{steps: len(in.Devices.Times), step: in.Devices.Step}, in: in, limits: limits, options: options,
		devices: tableOf(in.Devices, Fields()), owned: make(map[string]bool),
	}
	if in.Workloads != nil && len(in.Workloads.Times) == p.steps {
		p.work = tableOf(in.Workloads, WorkloadFields())
		p.groups = groupsOf(in.Workloads.Subjects)
	}
	for _, s := range in.Devices.Subjects {
		if owned(s) {
			p.owned[s.Cluster] = true
		}
	}
	result := Result{Verdicts: make([]Verdict, len(in.Devices.Subjects))}
	for i := range in.Devices.Subjects {
		result.Verdicts[i] = p.judge(i)
	}
	result.Owners = owners(in.Devices.Subjects, result.Verdicts)
	return result
}

// subject is one device while it is judged.
type subject struct {
	*pass
	insight.Subject

	row     int
	ratio   []float64 // used share of usable
	used    []float64
	usage   Usage
	now     summary // of ratio, the last steps
	group   *group  // of its owners' workloads; nil without any
	owned   bool
	flat    bool
	missing []string
	reasons []insight.Reason
	full    *time.Duration
	busy    []float64 // activity
	busyOf  string
}

func (p *pass) judge(row int) Verdict {
	s := &subject{pass: p, Subject: p.in.Devices.Subjects[row], row: row}
	v := Verdict{Subject: row}
	s.owned = owned(s.Subject)
	s.measure()
	v.Usage = s.usage
	if s.MIGEnabled && !s.IsMIG() {
		v.ID, v.Text = Split, "The GPU is split; its memory is judged in its MIG instances."
		v.Confidence = insight.Medium
		if !p.hasInstances(s.Identity) {
			v.ID, v.Severity, v.Confidence = Unknown, insight.Unknown, insight.NoConfidence
			v.Text = "The GPU is split, and its MIG instances are not measured."
			v.Missing = []string{usedBytes}
		}
		return v
	}
	for _, g := range p.groups.of(s.Subject) {
		// Of several owners that share the GPU a server decides, for it holds its memory whatever the others do.
		if g.look(p); s.group == nil || s.group.cache == nil && g.cache != nil {
			s.group = g
		}
	}
	if s.group != nil {
		v.Allocator, v.Cache = s.group.allocator, s.group.cache
	}
	s.activity()
	s.outOfMemory()
	s.risk()
	s.cache()
	s.allocator()
	s.zombie()
	s.idle()
	s.nearFull()
	v.Batch = s.batch()
	v.TimeToFull = s.full
	s.settle(&v)
	return v
}

// settle turns what was found into the verdict.
func (s *subject) settle(v *Verdict) {
	sortReasons(s.reasons)
	v.Reasons, v.Missing = s.reasons, sortedUnique(s.missing)
	v.Confidence = s.confidence()
	switch {
	case len(s.reasons) > 0:
		v.ID, v.Severity, v.Text = s.reasons[0].ID, s.reasons[0].Severity, s.reasons[0].Text
	case s.isServer() && s.group != nil && s.group.cache != nil && s.group.cache.Ratio != nil:
		v.ID, v.Text = Server, s.group.cache.text()
	case s.now.count == 0:
		v.ID, v.Severity, v.Confidence = Unknown, insight.Unknown, insight.NoConfidence
		switch {
		case s.usage.PeakRatio != nil:
			v.Text = "How much memory is used is not known now."
		case s.usage.UsedBytes != nil:
			v.Text = "How much memory there is is not known, only how much is used."
		default:
			v.Text = "How much memory is used is not known."
		}
	case s.isServer():
		v.ID, v.Severity = Preallocated, insight.Unknown
		v.Text = "The server holds its memory whatever its load; how full its cache is, is not known."
	case s.flat:
		v.ID, v.Severity = Preallocated, insight.Info
		v.Text = "The memory was taken in one piece, " + percent(s.now.latest) + " of what is usable; what of it is needed is not known."
		if s.group != nil && s.group.allocator != nil {
			v.ID, v.Severity, v.Text = Fits, insight.OK, s.fits()
		}
	default:
		v.ID, v.Text = Fits, s.fits()
	}
}

func (s *subject) fits() string {
	text := "Memory fits: the peak is " + percent(*s.usage.PeakRatio) + " of what is usable"
	if s.usage.HeadroomBytes != nil {
		text += ", " + size(*s.usage.HeadroomBytes) + " were never used"
	}
	return text + "."
}

// confidence is high where the application says what it does with the memory, medium with the hardware's own counters of
// activity, low with used and free alone.
func (s *subject) confidence() insight.Confidence {
	switch {
	case s.group != nil && (s.group.cache != nil || s.group.allocator != nil):
		return insight.High
	case s.busyOf == smActive || s.busyOf == graphicsActive:
		return insight.Medium
	default:
		return insight.Low
	}
}

// isServer reports whether the memory is a server's, which takes it once: one of its owners reports a cache, or it is known
// to be of that class.
func (s *subject) isServer() bool {
	if s.group != nil && s.group.cache != nil {
		return true
	}
	return s.Class == insight.Inference
}

func (p *pass) hasInstances(parent gpu.Identity) bool {
	return p.groups.parents(p.in.Devices.Subjects)[parent]
}
