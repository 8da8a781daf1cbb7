package efficiency

import (
	"cmp"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// finish says what the jobs made of their GPUs.
func (j *jobs) finish(r *run) []Job {
	all := make([]Job, 0, len(j.list))
	for _, mine := range j.list {
		all = append(all, j.judge(r, mine))
	}
	slices.SortFunc(all, func(a, b Job) int {
		return cmp.Or(
			cmp.Compare(b.Hours, a.Hours), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind),
		)
	})
	return all
}

func (j *jobs) judge(r *run, mine *job) Job {
	nan := math.NaN()
	out := Job{
		Kind: mine.name.kind, Cluster: mine.name.cluster, Namespace: mine.name.namespace, Name: mine.name.name,
		Tokens: nan, TokensPerSecond: nan, TokensPerJoule: nan, JoulesPerToken: nan, CostPerMillion: nan,
		MFU: nan, ReachableMFU: nan, ReportedMFU: nan, Ceiling: ratio(mine.ceiling, mine.ceilingKnown),
	}
	rows, complete := mine.matched()
	if mine.devices == nil {
		rows = mine.rows
		out.Notes = append(out.Notes, "No GPU is known to be this job's: pod and job of its metrics name no owner of a GPU.")
	} else if !complete {
		out.Notes = append(out.Notes, "Some of its processes are on GPUs that are not known; they are left out.")
	}
	if mine.shared {
		out.Notes = append(out.Notes, "Its pods tell of other jobs as well; their GPUs are divided equally.")
	}
	steps := len(r.times)
	tokens := j.sum(rows, steps, serveTokens, serveTokensNow)
	if mine.name.kind == insight.Training {
		tokens = j.sum(rows, steps, trainTokens)
	}
	out.ReportedMFU = mean(j.average(rows, steps, trainMFU))
	seconds := r.hours * 3600
	var known, sum float64
	for _, v := range tokens {
		if !math.IsNaN(v) {
			known += seconds
			sum += v * seconds
		}
	}
	if known > 0 {
		out.Tokens, out.TokensPerSecond = sum, ratio(sum, known)
	}
	if mine.devices == nil {
		out.Confidence = insight.Low
		return out
	}
	j.spent(r, mine, tokens, &out)
	j.mfu(r, mine, rows, tokens, &out)
	out.Confidence = insight.Medium
	if complete && !math.IsNaN(out.MFU) {
		out.Confidence = insight.High
	}
	return out
}

// matched are the rows of a job whose GPUs are known, and whether they are all.
func (mine *job) matched() (rows []int, all bool) {
	is := make(map[int]bool)
	for k, o := range mine.owned {
		if o.matched {
			is[mine.of[k]] = true
		}
	}
	for _, i := range mine.rows {
		if is[i] {
			rows = append(rows, i)
		}
	}
	return rows, len(rows) == len(mine.rows)
}

// spent sets energy and money against tokens, in the steps in which both are known.
func (j *jobs) spent(r *run, mine *job, tokens []float64, out *Job) {
	seconds := r.hours * 3600
	var steps, joules, withEnergy, cost, withCost float64
	d := mine.devices
	for i, hours := range d.hours {
		if hours == 0 {
			continue
		}
		steps++
		out.Hours += hours
		if math.IsNaN(tokens[i]) {
			continue
		}
		made := tokens[i] * seconds
		if !mine.energyUnknown[i] {
			joules += d.joules[i]
			withEnergy += made
		}
		cost += d.cost[i]
		withCost += made
	}
	out.GPUs = zeroIfNaN(ratio(out.Hours, steps*r.hours))
	out.TokensPerJoule, out.JoulesPerToken = ratio(withEnergy, joules), ratio(joules, withEnergy)
	const million = 1e6
	switch {
	case mine.unpriced:
		out.Notes = append(out.Notes, "The price of some of its GPUs is not known.")
	case mine.mixed:
		out.Notes = append(out.Notes, "Its GPUs are priced in several currencies.")
	default:
		out.CostPerMillion, out.Currency = ratio(cost*million, withCost), mine.currency
	}
}

// perParameter is what a token costs in training, forward and backward, for each parameter of a dense model.
const perParameter = 6

// mfu compares what the model computed with what its GPUs can.
func (j *jobs) mfu(r *run, mine *job, rows []int, tokens []float64, out *Job) {
	if mine.unrated {
		out.Notes = append(out.Notes, "The peak of some of its GPUs is not known.")
		return
	}
	steps := len(r.times)
	d := mine.devices
	gpus := func(values []float64) []float64 {
		for i := range values {
			values[i] *= d.hours[i] / r.hours
		}
		return values
	}
	var flops []float64
	switch {
	case j.any(rows, trainFlops):
		flops, out.MFUFrom = gpus(j.average(rows, steps, trainFlops)), trainFlops
	case j.any(rows, trainTokens) && j.any(rows, trainTokenFlops):
		flops, out.MFUFrom = times(j.average(rows, steps, trainTokenFlops), tokens, 1), trainTokens+" × "+trainTokenFlops
	case j.any(rows, trainTokens) && j.any(rows, trainParameters):
		flops, out.MFUFrom = times(j.average(rows, steps, trainParameters), tokens, perParameter), "6 × "+trainParameters+" × "+trainTokens
		out.Notes = append(out.Notes, "MFU takes 6 operations for each parameter and token, and train_model_parameters for those of the whole model.")
	case j.any(rows, serveFlops):
		flops, out.MFUFrom = gpus(j.average(rows, steps, serveFlops)), serveFlops
	default:
		return
	}
	var did, could, reachable float64
	all := true
	for i, v := range flops {
		if math.IsNaN(v) || d.peak[i] == 0 {
			continue
		}
		did += v
		could += d.peak[i]
		reachable += d.reach[i]
		all = all && d.reach[i] > 0
	}
	out.MFU = ratio(did, could)
	if all {
		out.ReachableMFU = ratio(did, reachable)
	}
	if math.IsNaN(out.MFU) {
		out.MFUFrom = ""
	}
}

func times(a, b []float64, factor float64) []float64 {
	for i := range a {
		a[i] *= b[i] * factor
	}
	return a
}

func (j *jobs) any(rows []int, name string) bool {
	return slices.ContainsFunc(rows, func(i int) bool { return j.has(i, name) })
}

// mostRate is more than any rate of tokens or of operations.
const mostRate = 1e24

// sum adds up the first of several metrics that each row has, NaN in steps in which no row has a value.
func (j *jobs) sum(rows []int, steps int, names ...string) []float64 {
	total := make([]float64, steps)
	fill(total, math.NaN())
	fields := make([]insight.Field, len(names))
	for i, name := range names {
		fields[i].Metric = name
	}
	for _, at := range rows {
		_, values := j.grid.First(at, fields...)
		for i, v := range values {
			if v = plausible(v, mostRate); !math.IsNaN(v) {
				total[i] = zeroIfNaN(total[i]) + v
			}
		}
	}
	return total
}

// average is the mean of a metric over the rows that have it.
func (j *jobs) average(rows []int, steps int, name string) []float64 {
	total, n := make([]float64, steps), make([]float64, steps)
	for _, at := range rows {
		for i, v := range j.grid.Values(insight.Field{Metric: name}, at) {
			if v = plausible(v, mostRate); !math.IsNaN(v) {
				total[i] += v
				n[i]++
			}
		}
	}
	for i := range total {
		total[i] = ratio(total[i], n[i])
	}
	return total
}

func mean(values []float64) float64 {
	var sum, n float64
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return ratio(sum, n)
}
