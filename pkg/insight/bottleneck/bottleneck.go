package bottleneck

import (
	"fmt"
	"math"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Report is what holds every subject of a grid back.
type Report struct {
	Devices []Timeline // one for each subject of the grid of devices
	Jobs    []JobTimeline
}

// JobTimeline is the verdicts of a job. Jobs are in the order of their names.
type JobTimeline struct {
	Job
	Timeline
}

// Judge judges all devices and jobs. Workloads may be nil. The error is that of [Limits.Validate].
func Judge(devices *insight.Devices, workloads *insight.Workloads, limits Limits) (*Report, error) {
	if err := limits.Validate(); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	if workloads != nil && len(workloads.Times) != len(devices.Times) {
		return nil, fmt.Errorf("the grid of workloads has %d steps, that of devices %d", len(workloads.Times), len(devices.Times))
	}
	j := newJudge(devices, workloads, limits)
	report := &Report{Devices: make([]Timeline, len(devices.Subjects))}
	if len(devices.Times) == 0 {
		return report, nil
	}
	for at := range j.placed.jobs {
		report.Jobs = append(report.Jobs, j.job(at, report.Devices))
	}
	for d := range devices.Subjects {
		if j.placed.jobOf[d] < 0 {
			report.Devices[d].Intervals = j.device(d, nil, -1, nil)
		}
	}
	return report, nil
}

// judge is one call of Judge.
type judge struct {
	devices   *insight.Devices
	workloads *insight.Workloads
	reader    *reader
	placed    *placement
	models    []*ofModel // by device
	step      int64
	hold      int
	share     float64
	now       situation
	app       app
	arena     []Interval
	instances map[int]bool // devices that are divided, and have rows of their own for the parts
}

func newJudge(devices *insight.Devices, workloads *insight.Workloads, limits Limits) *judge {
	of := newLimitsOf(limits)
	step := devices.Step.Milliseconds()
	window := stepsOf(of.base[windowSeconds], step)
	need := min(int(of.base[samples]), window, max(len(devices.Times), 1))
	j := &judge{
		devices: devices, workloads: workloads, step: step, hold: stepsOf(of.base[holdSeconds], step), share: of.base[jobShare],
		reader: newReader(devices, window, need), placed: placeAll(devices, workloads), models: make([]*ofModel, len(devices.Subjects)),
	}
	for d := range devices.Subjects {
		s := &devices.Subjects[d]
		j.models[d] = of.of(s.Class, s.Model)
	}
	if workloads != nil {
		var rows [workColumns][][]float64
		for c, s := range workSources() {
			rows[c] = workloads.Column(s.field)
		}
		for _, g := range append(append([]*group(nil), j.placed.places...), j.placed.ofJob...) {
			if g.at == nil && len(g.workloads) > 0 {
				g.read(j.reader, workloads, &rows, &of.base)
			}
		}
	}
	return j
}

// cell is the judgement of one step of one device of a job.
type cell struct {
	passed     Set
	primary    Verdict
	confidence insight.Confidence
}

// device judges one device. cells, when not nil, gets its judgement of each step.
func (j *judge) device(d int, t *team, inTeam int, cells []cell) []Interval {
	m := merger{times: j.devices.Times, step: j.step, hold: j.hold, settle: j.reader.window + j.hold}
	if len(j.arena) == cap(j.arena) {
		const chunk = 256
		j.arena = make([]Interval, 0, chunk)
	}
	m.into = j.arena[len(j.arena) : len(j.arena) : len(j.arena)+1]
	s := &j.now
	for step := range j.devices.Times {
		s.model, s.subject, s.present = j.models[d], &j.devices.Subjects[d], verdicts
		if m.begun {
			s.present = m.present.Verdict
		}
		j.look(d, step, t, inTeam)
		judgement := j.decide(step, t)
		if cells != nil {
			cells[step] = cell{judgement.Secondary.with(judgement.Verdict), judgement.Verdict, judgement.Confidence}
		}
		m.next(step, judgement)
	}
	done := m.finish()
	if len(done) == 1 {
		j.arena = j.arena[:len(j.arena)+1] // it lies there
	}
	return done
}

// look fills in the situation of a device at a step.
func (j *judge) look(d, step int, t *team, inTeam int) {
	s := &j.now
	j.reader.read(d, step, s.model, &s.measured)
	j.app, s.app, s.peers, s.allocation = nothing(), &j.app, peers{devices: 1}, false
	alone := false
	if at := j.placed.placeOf[d]; at >= 0 && j.placed.places[at].at != nil {
		g := j.placed.places[at]
		j.app = g.at[step]
		if job := j.placed.ofJob[j.placed.jobOf[d]]; job.at != nil {
			whole := &job.at[step]
			j.app.comm, j.app.commMedian, j.app.complete = whole.comm, whole.commMedian, whole.complete
			j.app.missing |= whole.missing
			alone = len(g.workloads) == 1 && g.workloads[0] == job.suspects[step]
		}
	}
	if t != nil {
		s.peers = t.of(inTeam, step, alone)
	}
	s.swing, s.p10, s.p90 = math.NaN(), math.NaN(), math.NaN()
	n := &s.model.numbers
	if s.memory > n[memoryUsed]*(1-n[stick]) || s.link > n[linkShare]*(1-n[stick]) {
		s.swing, s.p10, s.p90 = j.reader.spread(d, step)
		if math.IsNaN(s.p10) {
			s.p10, s.p90 = s.mean[smLowest], s.mean[smHighest]
		}
	}
}

// decide is the verdict of the situation.
func (j *judge) decide(step int, t *team) Judgement {
	s := &j.now
	passed := s.gates(j.reader.need)
	primary := passed.first()
	missing := s.missing()
	out := Judgement{
		Verdict: primary, Secondary: passed &^ (1 << primary), Confidence: s.confidence(primary, missing), missing: missing,
		SuspectDevice: -1, SuspectRank: -1, limits: &s.model.numbers, fallback: math.IsNaN(s.sm()),
	}
	if primary == Mixed {
		out.Nearest = s.nearest()
	}
	if primary == WaitingOnRank {
		out.SuspectDevice, out.SuspectRank = t.suspect(step)
		out.suspect = j.suspectName(out.SuspectDevice, out.SuspectRank)
	}
	s.keep(&out.values)
	out.notes = s.remarks(primary)
	return out
}

// remarks are what is worth saying beside the verdict.
func (s *situation) remarks(v Verdict) notes {
	n := &s.model.numbers
	var said notes
	set := func(note notes, is bool) {
		if is {
			said |= note
		}
	}
	set(atPowerCap, s.capped > n[capShare] && v != PowerLimited)
	set(mayWait, v != WaitingOnRank && v != Unknown && v != Idle && !s.peers.suspect && spins(&s.measured, s.model))
	set(appDisagrees, s.app.stepped && v >= MemoryBandwidth && (s.app.data > n[inputData] || s.app.comm > n[commShare]))
	set(onlyDefaults, v != Unknown && math.IsNaN(s.sm()))
	set(lostCounters, s.lost())
	set(hasInstances, v == Unknown && s.subject.MIGEnabled && !s.subject.IsMIG())
	return said
}

func (j *judge) suspectName(device, rank int) string {
	name := ""
	if rank >= 0 {
		name = rankName(j.workloads.Subjects[rank])
	}
	if device >= 0 {
		if name != "" {
			name += ", "
		}
		name += j.devices.Subjects[device].Name()
	}
	return name
}

// job judges a job and its devices.
func (j *judge) job(at int, devices []Timeline) JobTimeline {
	job := j.placed.jobs[at]
	made := JobTimeline{Job: job}
	if len(job.Devices) == 1 {
		d := job.Devices[0]
		devices[d].Intervals = j.device(d, nil, -1, nil)
		made.Intervals = devices[d].Intervals
		return made
	}
	t := j.reader.observe(&job, j.placed.ofJob[at], j.models)
	steps := len(j.devices.Times)
	cells := make([]cell, steps*len(job.Devices))
	for i, d := range job.Devices {
		devices[d].Intervals = j.device(d, t, i, cells[i*steps:(i+1)*steps])
	}
	m := merger{times: j.devices.Times, step: j.step, hold: j.hold, settle: j.reader.window + j.hold}
	for step := range steps {
		m.next(step, j.together(t, step, steps, cells))
	}
	made.Intervals = m.finish()
	return made
}

// together is the verdict of a job at a step: the first that enough of its GPUs have. One rank that slows all others down
// need not be many, so waiting is a verdict of its own; heat and a power brake on any GPU are at least secondary.
func (j *judge) together(t *team, step, steps int, cells []cell) Judgement {
	var passed, primary [Verdicts]int
	lowest := [Verdicts]insight.Confidence{}
	for i := range lowest {
		lowest[i] = insight.High
	}
	gpus := len(t.job.Devices)
	for i := range gpus {
		c := cells[i*steps+step]
		primary[c.primary]++
		lowest[c.primary] = min(lowest[c.primary], c.confidence)
		for v := range c.passed.All() {
			passed[v]++
		}
	}
	known := gpus - passed[Unknown]
	enough := func(n int) bool { return n > 0 && float64(n) >= j.share*float64(known) }
	out := Judgement{SuspectDevice: -1, SuspectRank: -1, GPUs: gpus, counts: &primary, limits: &j.models[t.job.Devices[0]].numbers}
	for i := range out.values {
		out.values[i] = math.NaN()
	}
	if app := t.app; app != nil && app.at != nil {
		a := &app.at[step]
		out.values[factComm], out.values[factCommMedian], out.values[factData], out.missing = a.comm, a.commMedian, a.data, a.missing
	}
	out.values[factDips] = t.at[step].dips
	var all Set
	for v := Idle; v < Mixed; v++ {
		if enough(passed[v]) {
			all = all.with(v)
		}
	}
	some := Set(0)
	for _, v := range [...]Verdict{Thermal, PowerBrake} {
		if passed[v] > 0 {
			some = some.with(v)
		}
	}
	switch {
	case float64(passed[Unknown]) > (1-j.share)*float64(gpus):
		all, some = Set(0).with(Unknown), 0
	case t.at[step].waiting && passed[WaitingOnRank] > 0:
		all = all.with(WaitingOnRank)
	}
	out.Verdict = all.first()
	out.Secondary = (all | some) &^ (1 << out.Verdict)
	out.Share = passed[out.Verdict]
	if out.Verdict == Mixed {
		out.Share = primary[Mixed]
		out.Nearest = commonest(&primary)
	}
	if out.Verdict == WaitingOnRank {
		out.SuspectDevice, out.SuspectRank = t.suspect(step)
		out.suspect = j.suspectName(out.SuspectDevice, out.SuspectRank)
	}
	switch {
	case out.Verdict == Unknown:
	case primary[out.Verdict] > 0:
		out.Confidence = lowest[out.Verdict]
	default:
		out.Confidence = insight.Low
	}
	return out
}

// commonest are the two verdicts that most GPUs of a job have, besides Mixed and Unknown.
func commonest(count *[Verdicts]int) [2]Verdict {
	var best [2]Verdict
	most := [2]int{}
	for v := Idle; v < Mixed; v++ {
		switch n := count[v]; {
		case n > most[0]:
			best, most = [2]Verdict{v, best[0]}, [2]int{n, most[0]}
		case n > most[1]:
			best[1], most[1] = v, n
		}
	}
	return best
}
