package efficiency

import (
	"errors"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Input is what efficiency is computed from.
type Input struct {
	Devices   *insight.Devices
	Workloads *insight.Workloads // nil without
	// Tenures say who had which device when; nil where only the owners at the end of the range are known.
	Tenures []Tenure
}

// run is one computation.
type run struct {
	grid    *insight.Devices
	columns *columns
	limits  Limits
	tariff  Tariff
	options Options

	times  []int64
	stepMS int64
	hours  float64 // of a step
	blocks []block

	tenures map[int][]Tenure // by subject; nil where they are not known
	prices  map[priced]price
	groups  grouping
	jobs    *jobs
	result  *Result
	free    map[string]*free // by cluster
	seen    seen

	buffer  scratch
	rows    []chargedRow
	charges int // values in rows of what is charged
}

// priced is what a price depends on.
type priced struct{ model, cluster string }

type price struct {
	money
	known bool
	short string // the model's name without the vendor's words
}

// seen is what was found to judge by, in whatever device.
type seen struct {
	profiling, utilization                  bool // what activity was taken from
	energy, power, memory, ceiling          bool
	owners, unattributed, shared, estimated bool
	unknownPart                             bool
}

// block is a window of the idle rule, or the part of it that is in the range.
type block struct {
	from, to int
	cut      bool // by the ends of the range
}

// blocksOf cuts steps into windows that start at whole multiples of their length.
func blocksOf(times []int64, step, window time.Duration) []block {
	var blocks []block
	length, stepMS := max(window.Milliseconds(), 1), step.Milliseconds()
	for i := 0; i < len(times); {
		start := floor(times[i], length)
		b := block{from: i}
		for i < len(times) && floor(times[i], length) == start {
			i++
		}
		b.to = i
		b.cut = b.from == 0 && times[0]-stepMS >= start || i == len(times) && times[i-1]+stepMS < start+length
		blocks = append(blocks, b)
	}
	return blocks
}

func floor(t, length int64) int64 {
	rest := t % length
	if rest < 0 {
		rest += length
	}
	return t - rest
}

// scratch is memory that is used for one board after the other.
type scratch struct {
	there, unitThere []bool
	peers            []int // how many boards of the node were there
	base, state      []state
	joules           []float64 // of the board in a step, NaN where not known
	counter          []bool    // whether they are from the counter
	weight           []float64
	activity         [][]float64 // of each unit
	weights          [][]float64
	missing          [][]bool // an instance that exists and that nothing is known of
	energy           []float64
	tenancies        []tenancy
}

func (s *scratch) init(steps int) {
	s.there, s.unitThere = make([]bool, steps), make([]bool, steps)
	s.peers = make([]int, steps)
	s.base, s.state = make([]state, steps), make([]state, steps)
	s.joules, s.weight, s.energy = make([]float64, steps), make([]float64, steps), make([]float64, steps)
	s.counter = make([]bool, steps)
}

// unitRows makes room for the units of a board.
func (s *scratch) unitRows(n int) {
	for len(s.activity) < n {
		steps := len(s.base)
		s.activity = append(s.activity, make([]float64, steps))
		s.weights = append(s.weights, make([]float64, steps))
		s.missing = append(s.missing, make([]bool, steps))
	}
}

// Measure says what became of the GPU-hours of a range. Limits, tariffs and options that their Validate refuses count as far
// as they make sense.
func Measure(in Input, limits Limits, tariff Tariff, options Options) *Result {
	result := &Result{By: options.By, Charge: options.Charge}
	if result.Charge == "" {
		result.Charge = ChargeAllocated
	}
	if options.JobGPUs <= 0 || options.JobGPUs > mostJobGPUs {
		options.JobGPUs = defaultJobGPUs
	}
	g := in.Devices
	if g == nil || len(g.Times) == 0 || g.Step < time.Millisecond {
		result.Total = newGroup(nil)
		return result
	}
	if err := errors.Join(limits.Validate(), tariff.Validate()); err != nil {
		result.Notices = append(result.Notices, gpu.Notice{Severity: gpu.Warning, Text: "Settings that cannot be are left out: " + err.Error()})
	}
	limits, tariff = limits.sound(), tariff.sound()
	r := &run{
		grid: g, columns: columnsOf(g), limits: limits, tariff: tariff, options: options, times: g.Times,
		stepMS: g.Step.Milliseconds(), hours: g.Step.Hours(), blocks: blocksOf(g.Times, g.Step, limits.window()),
		prices: make(map[priced]price), result: result, free: make(map[string]*free), jobs: newJobs(in.Workloads, g.Times),
	}
	if in.Workloads != nil && r.jobs.grid == nil {
		result.Notices = append(result.Notices, gpu.Notice{Severity: gpu.Warning, Text: "Metrics of workloads are left out: they are of other times than those of GPUs."})
	}
	result.From, result.To = g.Times[0], g.Times[len(g.Times)-1]+r.stepMS
	result.Timeline = make([]Parts, len(g.Times))
	r.groups.init(options.By)
	if in.Tenures != nil {
		r.tenures = make(map[int][]Tenure)
		for _, t := range in.Tenures {
			if t.From < t.To {
				r.tenures[t.Subject] = append(r.tenures[t.Subject], t)
			}
		}
	}
	r.buffer.init(len(g.Times))
	for _, n := range fleet(g.Subjects) {
		r.node(n)
	}
	r.finish()
	return result
}

// node accounts for all boards of a node. Whether a board is missing can only be said beside the others.
func (r *run) node(n node) {
	clear(r.buffer.peers)
	steps := make([]bool, len(n.boards)*len(r.times))
	there := make([][]bool, len(n.boards))
	for k := range n.boards {
		mine := steps[k*len(r.times) : (k+1)*len(r.times)]
		there[k] = mine
		b := &n.boards[k]
		if b.whole >= 0 {
			presence(mine, r.columns.board, b.whole)
		}
		for _, u := range b.units {
			presence(mine, r.columns.board, u.subject)
		}
		for i, is := range mine {
			if is {
				r.buffer.peers[i]++
			}
		}
	}
	n.settle(r.grid.Subjects, there)
	for k := range n.boards {
		r.board(&n.boards[k], there[k])
	}
}

// price is what a device costs, and what it is called.
func (r *run) price(d gpu.Device) price {
	key := priced{d.Model, d.Cluster}
	p, known := r.prices[key]
	if !known {
		p.money, p.known = r.tariff.price(d.Model, d.Cluster)
		p.short = gpu.ShortModel(d.Model)
		r.prices[key] = p
	}
	return p
}

// activityOf writes the activity of a subject: the share of SM cycles, else of time that its engine, else any kernel, ran. It
// is above 1 on MIG instances at times, which is 1.
func (r *run) activityOf(to []float64, subject int, instance bool) {
	sm, graphics, busy := row(r.columns.sm, subject), row(r.columns.graphics, subject), row(r.columns.utilization, subject)
	if instance {
		busy = nil // it is the board's
	}
	for i := range to {
		v, profiled := share(insight.At(sm, i)), true
		if math.IsNaN(v) {
			v = share(insight.At(graphics, i))
		}
		u := share(insight.At(busy, i))
		if math.IsNaN(v) || v == 0 && u >= r.limits.IdleActivity { // profiling has stopped when it says that nothing ran
			v, profiled = u, false
		}
		to[i] = v
		if !math.IsNaN(v) {
			r.seen.profiling = r.seen.profiling || profiled
			r.seen.utilization = r.seen.utilization || !profiled
		}
	}
}

// share is a value between 0 and 1, NaN for what cannot be one.
func share(v float64) float64 {
	if v < 0 {
		return math.NaN()
	}
	return min(v, 1)
}

// plausible is a value that is not below 0 nor above a limit, NaN otherwise.
func plausible(v, limit float64) float64 {
	if v >= 0 && v <= limit {
		return v
	}
	return math.NaN()
}
