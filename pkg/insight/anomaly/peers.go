package anomaly

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/forecast"
)

// group names GPUs that are to be alike.
type group struct{ cluster, name string }

// groupOf is whose peer a device is; false when nobody's.
func groupOf(s insight.Subject, jobs map[[3]string]string, against Against) (group, bool) {
	if against == Model {
		name := gpu.ShortModel(s.Model)
		if s.IsMIG() {
			name += " " + s.MIGProfile
		}
		if s.Class != insight.Unclassified {
			name += ", " + string(s.Class)
		}
		return group{s.Cluster, name}, s.Model != ""
	}
	for _, o := range s.Owners {
		switch {
		case o.SlurmJob != "":
			return group{s.Cluster, "Slurm job " + o.SlurmJob}, true
		case o.Pod != "":
			name := jobs[[3]string{s.Cluster, o.Namespace, o.Pod}]
			if name == "" {
				name = withoutNumber(o.Pod)
			}
			return group{s.Cluster, "job " + o.Namespace + "/" + name}, true
		}
	}
	return group{}, false
}

// withoutNumber is the name of the job that a pod with a number at its end is one of: "train-3" is one of "train".
func withoutNumber(pod string) string {
	base := strings.TrimRight(pod, "0123456789")
	if cut := strings.TrimSuffix(base, "-"); cut != base && cut != "" && base != pod {
		return cut
	}
	return pod
}

// jobsOf are the jobs that workloads say pods belong to.
func jobsOf(workloads *insight.Workloads) map[[3]string]string {
	out := make(map[[3]string]string)
	if workloads != nil {
		for _, w := range workloads.Subjects {
			if w.Pod != "" && w.Job != "" {
				out[[3]string{w.Cluster, w.Namespace, w.Pod}] = w.Job
			}
		}
	}
	return out
}

// peers compares devices with each other.
func peers(devices *insight.Devices, workloads *insight.Workloads, o Options, l Limits, first int) Answer {
	var a Answer
	jobs := jobsOf(workloads)
	members := make(map[group][]int)
	grouped := false
	for i, s := range devices.Subjects {
		g, ok := groupOf(s, jobs, o.against())
		grouped = grouped || ok
		if !ok || devices.Values(o.Field(), i) == nil {
			a.Skipped++
			continue
		}
		members[g] = append(members[g], i)
	}
	if !grouped && len(devices.Subjects) > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("Of none of %d GPUs and MIG instances the %s is known, so there are no peers to compare them with.", len(devices.Subjects), o.against()))
	}
	lonely := 0
	for g, rows := range members {
		if len(rows) < l.MinPeers {
			a.Skipped += len(rows)
			lonely++
			continue
		}
		a.Results = append(a.Results, compare(devices, g, rows, o, l, first)...)
	}
	slices.SortFunc(a.Results, func(x, y Result) int { return cmp.Compare(x.Subject, y.Subject) })
	if lonely > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("%d groups have less than %d GPUs: too few to say which of them is odd.", lonely, l.MinPeers))
	}
	return a
}

// compare judges one group.
func compare(devices *insight.Devices, g group, rows []int, o Options, l Limits, first int) []Result {
	out := make([]Result, len(rows))
	values, active := make([][]float64, len(rows)), make([][]float64, len(rows))
	ownActivity := slices.Contains(activity(), insight.Field{Metric: o.Metric})
	for n, i := range rows {
		out[n] = Result{
			Subject: i, Name: devices.Subjects[i].Name(), Field: o.Field(), Unit: forecast.UnitOf(o.Field()), Against: o.against(),
			Group: g.name, Points: make([]Point, 0, len(devices.Times)-first),
		}
		values[n] = devices.Values(o.Field(), i)
		if !ownActivity {
			_, active[n] = devices.First(i, activity()...)
		}
	}
	s := scratch{on: make([]float64, 0, len(rows)), off: make([]float64, 0, len(rows))}
	compared, wide := false, false
	for k := first; k < len(devices.Times); k++ {
		s.sort(values, active, k)
		halfOff := len(s.off)*2 >= len(s.on)+len(s.off)
		wide = wide || halfOff && len(s.on) > 0 && len(s.off) > 0
		all := append(append(s.all[:0], s.on...), s.off...)
		s.all = all
		// Where half are off, states are compared apart; else all are, and the few that are off are odd.
		whole, ok := s.middle(all, l.MinPeers)
		working, okOn := s.middle(s.on, l.MinPeers-1)
		resting, okOff := s.middle(s.off, l.MinPeers-1)
		for n := range rows {
			p := point(devices.Times[k], values[n][k])
			e, known := whole, ok
			if halfOff && len(s.on) > 0 {
				if isOff := s.state[n]; isOff {
					e, known = resting, okOff
				} else {
					e, known = working, okOn
				}
			}
			if known {
				l.hold(&p, e, out[n].Unit)
				compared = true
			}
			out[n].Points = append(out[n].Points, p)
		}
	}
	for n := range out {
		r := &out[n]
		r.Episodes = l.episodes(r.Points, devices.Step, o.Metric, r.Unit)
		r.Confidence = insight.Medium
		switch {
		case !compared:
			r.WarmUp = "Too few of the peers were measured at the same time."
		case wide:
			r.Confidence = insight.Low
			r.WarmUp = "At times half of the peers or more were off: those that worked were compared with each other."
		}
		r.say()
	}
	return out
}

// scratch is what one step of a group is worked out in.
type scratch struct {
	on, off, all, deviations []float64
	state                    []bool // by member: off
}

// idle is the activity below which a GPU is off.
const idle = 0.05

// faint is the part of the peers' highest value below which one is off where activity is not known.
const faint = 0.25

// sort parts the values of a step into those of GPUs that work and of those that do not.
func (s *scratch) sort(values, active [][]float64, k int) {
	s.on, s.off, s.state = s.on[:0], s.off[:0], s.state[:0]
	highest := 0.0
	for _, v := range values {
		if !math.IsNaN(v[k]) {
			highest = max(highest, v[k])
		}
	}
	for n, v := range values {
		off := false
		if a := insight.At(active[n], k); !math.IsNaN(a) {
			off = a < idle
		} else if active[n] == nil {
			off = v[k] < faint*highest
		}
		s.state = append(s.state, off)
		switch {
		case math.IsNaN(v[k]) || math.Abs(v[k]) > biggest:
		case off:
			s.off = append(s.off, v[k])
		default:
			s.on = append(s.on, v[k])
		}
	}
}

// middle is what is expected of each of several values by the median and MAD of all; false when there are less than need.
func (s *scratch) middle(values []float64, need int) (Expected, bool) {
	n := len(values)
	if n < max(need, 2) {
		return Expected{}, false
	}
	slices.Sort(values)
	centre := halfway(values)
	s.deviations = s.deviations[:0]
	for _, v := range values {
		s.deviations = append(s.deviations, math.Abs(v-centre))
	}
	slices.Sort(s.deviations)
	// The band is not stretched to the extremes: they are who is looked for.
	return Expected{P1: centre, P50: centre, P99: centre, MAD: halfway(s.deviations), Values: n}, true
}

// halfway is the median of sorted values.
func halfway(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1] + (sorted[n/2]-sorted[n/2-1])/2
}
