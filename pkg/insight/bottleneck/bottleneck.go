package bottleneck

import (
	"fmt"
	"math"
	"slices"

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
	report := &Report{Jobs: make([]JobTimeline, 0, len(j.placed.jobs)), Devices: make([]Timeline, len(devices.Subjects))}
	if len(devices.Times) == 0 {
		return report, nil
	}
	for at := range j.placed.jobs {
		report.Jobs = append(report.Jobs, j.job(at, report.Devices))
	}
	for d := range devices.Subjects {
		if j.placed.jobOf[d] < 0 {
			report.Devices[d].Intervals = j.device(d)
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
	team      team
	mergers   []merger
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

// merger makes the merger of one timeline.
func (j *judge) merger() merger {
	const chunk = 256
	if len(j.arena) == cap(j.arena) {
		j.arena = make([]Interval, 0, chunk)
	}
	// Most timelines have one interval: it lies in the arena, others grow out of it.
	at := len(j.arena)
	j.arena = j.arena[:at+1]
	return merger{times: j.devices.Times, step: j.step, hold: j.hold, settle: j.reader.window + j.hold, into: j.arena[at : at : at+1]}
}

// device judges a device that is in no job, or alone in one.
func (j *judge) device(d int) []Interval {
	m := j.merger()
	for step := range j.devices.Times {
		j.reader.read(d, step, j.models[d], &j.now.measured)
		j.look(d, step, nil, 0, &m)
		m.next(step, j.decide(step, nil))
	}
	return m.finish()
}

// look fills in the situation of a device at a step, but for what was measured.
func (j *judge) look(d, step int, t *team, inTeam int, m *merger) {
	s := &j.now
	s.model, s.subject, s.present = j.models[d], &j.devices.Subjects[d], verdicts
	if m.begun {
		s.present = m.present.Verdict
	}
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
		s.peers = t.of(inTeam, alone)
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
		who := j.suspect(t, step)
		out.SuspectDevice, out.SuspectRank, out.suspect = who.device, who.rank, who.name
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

// suspect is who a job waits for at a step, found once for all of its GPUs. A rank that is alone in a pod with one GPU names it.
func (j *judge) suspect(t *team, step int) *blamed {
	if t.blamed != nil {
		return t.blamed
	}
	device, rank := t.suspect(step)
	if device < 0 && rank >= 0 {
		found := 0
		for _, d := range t.job.Devices {
			if at := j.placed.placeOf[d]; at >= 0 && slices.Equal(j.placed.places[at].workloads, []int{rank}) {
				device = d
				found++
			}
		}
		if found > 1 {
			device = -1
		}
	}
	t.blamed = &blamed{device, rank, j.suspectName(device, rank)}
	return t.blamed
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
		devices[d].Intervals = j.device(d)
		made.Intervals = devices[d].Intervals
		return made
	}
	t := &j.team
	t.begin(j.reader, &job, j.placed.ofJob[at], j.models)
	j.mergers = grown(j.mergers, len(job.Devices))
	for i := range job.Devices {
		j.mergers[i] = j.merger()
	}
	whole := j.merger()
	for step := range j.devices.Times {
		t.observe(j.reader, step, j.models)
		var c count
		for i, d := range job.Devices {
			j.now.measured = t.windows[i]
			j.look(d, step, t, i, &j.mergers[i])
			judgement := j.decide(step, t)
			c.add(&judgement)
			j.mergers[i].next(step, judgement)
		}
		whole.next(step, j.together(t, step, &c))
	}
	for i, d := range job.Devices {
		devices[d].Intervals = j.mergers[i].finish()
	}
	made.Intervals = whole.finish()
	return made
}

// count is how many GPUs of a job have which verdict at a step.
type count struct {
	passed, primary [Verdicts]int
	lowest          [Verdicts]insight.Confidence // of those that have it as their primary verdict
}

func (c *count) add(j *Judgement) {
	if c.primary[j.Verdict] == 0 || j.Confidence < c.lowest[j.Verdict] {
		c.lowest[j.Verdict] = j.Confidence
	}
	c.primary[j.Verdict]++
	c.passed[j.Verdict]++
	for rest := j.Secondary; rest != 0; rest &= rest - 1 {
		c.passed[rest.first()]++
	}
}

// together is the verdict of a job at a step: the first that enough of its GPUs have. One rank that slows all others down
// need not be many, so waiting is a verdict of its own; heat and a power brake on any GPU are at least secondary.
func (j *judge) together(t *team, step int, c *count) Judgement {
	gpus := len(t.job.Devices)
	known := gpus - c.passed[Unknown]
	enough := func(n int) bool { return n > 0 && float64(n) >= j.share*float64(known) }
	out := Judgement{
		SuspectDevice: -1, SuspectRank: -1, GPUs: gpus, counts: c.primary, limits: &j.models[t.job.Devices[0]].numbers,
	}
	for i := range out.values {
		out.values[i] = math.NaN()
	}
	if app := t.app; app != nil && app.at != nil {
		a := &app.at[step]
		out.values[factComm], out.values[factCommMedian], out.values[factData], out.missing = a.comm, a.commMedian, a.data, a.missing
	}
	out.values[factDips] = t.peers.dips
	var all, some Set
	for v := Idle; v < Mixed; v++ {
		if enough(c.passed[v]) {
			all = all.with(v)
		}
	}
	for _, v := range [...]Verdict{Thermal, PowerBrake} {
		if c.passed[v] > 0 {
			some = some.with(v)
		}
	}
	switch {
	case float64(c.passed[Unknown]) > (1-j.share)*float64(gpus):
		all, some = Set(0).with(Unknown), 0
	case t.peers.waiting && c.passed[WaitingOnRank] > 0:
		all = all.with(WaitingOnRank)
	}
	out.Verdict = all.first()
	out.Secondary = (all | some) &^ (1 << out.Verdict)
	out.Share = c.passed[out.Verdict]
	switch out.Verdict {
	case Mixed:
		out.Share, out.Nearest = c.primary[Mixed], commonest(&c.primary)
	case WaitingOnRank:
		who := j.suspect(t, step)
		out.SuspectDevice, out.SuspectRank, out.suspect = who.device, who.rank, who.name
	}
	switch {
	case out.Verdict == Unknown:
	case c.primary[out.Verdict] > 0:
		out.Confidence = c.lowest[out.Verdict]
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
