package bottleneck

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Interval is a time with one verdict.
type Interval struct {
	From, To int64 // Unix milliseconds
	Judgement
}

// Judgement is a verdict with what it rests on: the newest window of its interval that says so by itself.
type Judgement struct {
	Verdict    Verdict
	Secondary  Set        // later gates that were passed as well
	Nearest    [2]Verdict // of Mixed: the gates that lack least; Unknown where there is none
	Confidence insight.Confidence
	// Suspect is who a job waits for, in the grids of devices and of workloads; -1 for nobody, or not known.
	SuspectDevice, SuspectRank int
	// GPUs counts the GPUs of a job, and Share those of them that have the verdict; 0 for a device.
	GPUs, Share int

	missing  needs
	notes    notes
	values   [facts]float64
	limits   *numbers
	fallback bool // activity is not that of the SMs
	suspect  string
	counts   [Verdicts]int // of a job's GPUs by verdict
}

// notes are things worth saying that are no verdict.
type notes uint8

const (
	atPowerCap   notes = 1 << iota // at the power cap without losing clock: normal
	mayWait                        // looks like a rank that waits, and nobody knows the others
	appDisagrees                   // the application's times do not say the same
	onlyDefaults                   // no profiling
	lostCounters
	hasInstances
)

// Timeline is the verdicts of one subject.
type Timeline struct {
	Intervals []Interval // without gaps, oldest first
}

// Now is the newest judgement; Unknown of an empty timeline.
func (t *Timeline) Now() Judgement {
	if len(t.Intervals) == 0 {
		return Judgement{SuspectDevice: -1, SuspectRank: -1}
	}
	return t.Intervals[len(t.Intervals)-1].Judgement
}

// Shares are the shares of time of each verdict; they add up to 1 unless there is no time at all.
func (t *Timeline) Shares() (shares [Verdicts]float64) {
	total := 0.0
	for i := range t.Intervals {
		length := float64(t.Intervals[i].To - t.Intervals[i].From)
		shares[t.Intervals[i].Verdict] += length
		total += length
	}
	if total > 0 {
		for v := range shares {
			shares[v] /= total
		}
	}
	return shares
}

// At is the verdict at a time, Unix milliseconds; false when the timeline does not reach there.
func (t *Timeline) At(ms int64) (Judgement, bool) {
	for i := range t.Intervals {
		if ms >= t.Intervals[i].From && ms < t.Intervals[i].To {
			return t.Intervals[i].Judgement, true
		}
	}
	return Judgement{}, false
}

// merger merges verdicts of steps into intervals. Another verdict takes over when it has held for hold steps, and then from
// where it began; what is not known shows at once.
type merger struct {
	times []int64
	step  int64
	hold  int

	// settle is how many steps Mixed must last to stay between two other verdicts: for less it is the window that holds
	// something of both.
	settle int

	into      []Interval
	before    int // where the last of into began
	present   Judgement
	from      int
	candidate Judgement
	since     int
	held      int
	absent    int // steps since present was last found
	begun     bool
}

// next takes the judgement of the next step.
func (m *merger) next(step int, j Judgement) {
	switch {
	case !m.begun:
		m.begun, m.present, m.from = true, j, step
		return
	case j.Verdict == m.present.Verdict:
		m.present, m.held, m.absent = j, 0, 0
		return
	case j.Verdict == Unknown || m.present.Verdict == Unknown:
		m.take(step, j)
		return
	}
	m.absent++
	if m.held > 0 && m.candidate.Verdict == j.Verdict {
		m.candidate = j
		m.held++
	} else {
		m.candidate, m.since, m.held = j, step, 1
	}
	switch {
	case m.held >= m.hold:
		m.take(m.since, j)
	case m.absent >= 2*m.hold:
		m.take(step, j) // others took turns, and none of them was the present one
	}
}

func (m *merger) take(step int, j Judgement) {
	if last := len(m.into) - 1; m.present.Verdict == Mixed && step-m.from < m.settle && j.Verdict != Unknown && last >= 0 &&
		m.into[last].Verdict != Unknown {
		step = m.from
		if m.into[last].Verdict == j.Verdict {
			m.into, step = m.into[:last], m.before
		}
	} else {
		m.close(step)
	}
	m.present, m.from, m.held, m.absent = j, step, 0, 0
}

// close ends the present interval before a step.
func (m *merger) close(step int) {
	if !m.begun || step <= m.from {
		return
	}
	to := m.times[step-1] + m.step
	m.before = m.from
	m.into = append(m.into, Interval{From: m.times[m.from], To: to, Judgement: m.present})
}

func (m *merger) finish() []Interval {
	m.close(len(m.times))
	return m.into
}

func stepsOf(seconds float64, step int64) int {
	if step <= 0 {
		return 1
	}
	return max(1, int(math.Ceil(seconds*1000/float64(step)-1e-9)))
}
