package efficiency

import (
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/mig"
)

// holding is what is accounted for: a whole GPU, a MIG instance, or what instances leave of a GPU.
type holding struct {
	board          *board
	subject        int
	part           mig.Part
	instance, rest bool
}

// account are the sums of one holding and one kind of holder. Hours are GPU-hours.
type account struct {
	hours, joules                   Parts
	pool                            float64 // of the unallocated hours, those of what is no instance of a MIG GPU
	active, activeKnown             float64 // hours times activity, and those in which it is known
	ceiling, ceilingKnown           float64
	memory                          float64 // GiB-hours
	memoryShare, memoryKnown        float64 // hours times the used share of the memory
	energyKnown, counted, estimated float64 // hours of which energy is known, from its counter, as a part of its GPU's
	most                            float64 // hours times the larger of what was requested and what was used
	chargeKnown                     float64 // hours in which what the mode charges for is known
}

// unit accounts for a holding whose states and weights are in the buffer.
func (r *run) unit(h holding, activity, joules []float64) {
	s := &r.buffer
	r.seen.unknownPart = r.seen.unknownPart || h.instance && !h.part.Known
	var owners []gpu.Owner
	if !h.rest || h.board.whole >= 0 {
		owners = r.grid.Subjects[h.subject].Owners
	}
	if h.rest && h.board.whole < 0 {
		s.tenancies = append(s.tenancies[:0], tenancy{to: len(r.times)})
	} else {
		s.tenancies = r.tenancies(s.tenancies[:0], h.subject, owners)
	}
	device := r.grid.Subjects[h.subject].Device
	if h.rest {
		device.GPUInstance, device.ComputeInstance, device.MIGProfile = "", "", ""
	}
	count, mean := row(r.columns.processes, h.subject), row(r.columns.processesMean, h.subject)
	if h.rest && h.board.whole < 0 {
		count, mean = nil, nil
	}
	if count == nil {
		count = mean
	}
	for _, t := range s.tenancies {
		for _, b := range r.blocks {
			if from, to := max(b.from, t.from), min(b.to, t.to); from < to {
				r.decide(b, from, to, t.shares != nil, activity, count)
			}
		}
		r.account(h, device, t, activity, joules)
	}
	r.atTheEnd(h, device, activity)
}

// decide says what the steps of one holder in one window were. A low mean is idle when the holder was there for half of the
// window at least, so that a start is not: only where the range cuts the window, what is known of it must do.
func (r *run) decide(b block, from, to int, owned bool, activity, processes []float64) {
	states := r.buffer.state[from:to]
	var sum float64
	known := 0
	for i, st := range states {
		if v := activity[from+i]; st == live && !math.IsNaN(v) {
			sum += v
			known++
		}
	}
	low := known > 0 && sum/float64(known) < r.limits.IdleActivity
	long := b.cut || 2*time.Duration(to-from)*r.grid.Step >= r.limits.window()
	for i, st := range states {
		if st != live {
			continue
		}
		held := owned || insight.At(processes, from+i) > 0
		switch {
		case known == 0 && held:
			states[i] = unmeasured
		case known == 0 || low && !held:
			states[i] = unallocated
		case low && (long || !owned):
			states[i] = idle
		default:
			states[i] = used
		}
	}
}

// account adds up what one holder, or nobody, had.
func (r *run) account(h holding, device gpu.Device, t tenancy, activity, joules []float64) {
	var owned, nobody account
	s := &r.buffer
	more := r.extras(h)
	working := r.jobs.of(device.Cluster, t.shares)
	p := r.price(device)
	peak := peakOf(r.jobs, working, device, h.part)
	mode, perJoule := r.result.Charge, max(1, r.tariff.PUE)*r.tariff.EnergyPerKWh/joulesPerKWh
	var charged []chargedRow
	switch {
	case mode == ChargeEnergy && perJoule > 0:
		charged = r.chargedRows(device, t, r.tariff.Currency)
	case mode != ChargeEnergy && p.known:
		charged = r.chargedRows(device, t, p.currency)
	}
	for i := t.from; i < t.to; i++ {
		st, hours := s.state[i], s.weight[i]*r.hours
		if st == gone || hours == 0 {
			continue
		}
		held := st == used || st == idle || st == unmeasured
		a := &nobody
		if held {
			a = &owned
		}
		a.hours.put(st, hours)
		r.result.Timeline[i].put(st, hours)
		if h.rest && st == unallocated || st == unallocated && device.MIGEnabled && !h.instance {
			a.pool += hours
		}
		j := joules[i]
		if !math.IsNaN(j) {
			a.joules.put(st, j)
			a.energyKnown += hours
			if s.counter[i] {
				a.counted += hours
			}
			if len(h.board.units) > 0 {
				a.estimated += hours
			}
		}
		if !held {
			continue
		}
		tensor := more.add(a, i, hours, activity[i], t.given)
		if len(working) > 0 {
			r.jobs.add(working, i, hours, j, tensor, peak, p)
		}
		if more.known(mode, activity[i], j) {
			a.chargeKnown += hours
		}
		var amount float64
		switch {
		case mode == ChargeEnergy && !math.IsNaN(j):
			amount = j * perJoule
		case mode == ChargeAllocated:
			amount = hours * p.perHour
		case mode == ChargeActive:
			amount = more.step.active * p.perHour
		case mode == ChargeMemory:
			amount = more.step.memoryShare * p.perHour
		case mode == ChargeMost:
			amount = more.step.most * p.perHour
		}
		for _, row := range charged {
			row.steps[i] += amount * row.factor
		}
	}
	r.groups.fold(r, device, t, &owned, &nobody)
}

// extras are the values of a holding that only matter while somebody has it.
type extras struct {
	run                         *run
	used, total, free, reserved []float64
	tensor, clock, clockMax     []float64
	ofInstance                  float64 // share of its GPU instance that a compute instance is
	step                        charges // of the newest step
}

// known reports whether what a mode charges for is known in the newest step.
func (e *extras) known(mode Mode, activity, joules float64) bool {
	switch mode {
	case ChargeActive:
		return !math.IsNaN(activity)
	case ChargeMemory:
		return e.step.memoryKnown
	case ChargeEnergy:
		return !math.IsNaN(joules)
	default:
		return true
	}
}

// charges are hours of one step that an owner may be charged for.
type charges struct {
	active, memoryShare, most float64
	memoryKnown               bool
}

const (
	gibibyte  = 1 << 30
	mostBytes = 1 << 50
	mostHertz = 1e11
)

func (r *run) extras(h holding) extras {
	c := r.columns
	e := extras{
		run: r, used: row(c.used, h.subject), total: row(c.total, h.subject), free: row(c.free, h.subject), reserved: row(c.reserved, h.subject),
		tensor: row(c.tensor, h.subject), clock: row(c.clock, h.subject), clockMax: row(c.clockMax, h.subject), ofInstance: 1,
	}
	if h.instance && r.grid.Subjects[h.subject].ComputeInstance != "" { // memory belongs to the GPU instance
		if shape, err := mig.Parse(r.grid.Subjects[h.subject].MIGProfile); err == nil {
			e.ofInstance = float64(shape.Instance) / float64(shape.Compute)
		}
	}
	return e
}

// add adds the values of a step and returns the tensor-pipe ceiling of it.
func (e *extras) add(a *account, i int, hours, activity float64, given bool) float64 {
	e.step = charges{most: hours}
	if !math.IsNaN(activity) {
		e.step.active = hours * activity
		a.activeKnown += hours
	}
	taken := e.memory(a, i, hours)
	if !math.IsNaN(taken) {
		e.step.memoryShare, e.step.memoryKnown = hours*taken, true
	}
	if !given {
		e.step.most = hours * larger(activity, taken)
	}
	a.active += e.step.active
	a.memoryShare += e.step.memoryShare
	a.most += e.step.most
	ceiling := share(share(insight.At(e.tensor, i)) * share(ratio(plausible(insight.At(e.clock, i), mostHertz), plausible(insight.At(e.clockMax, i), mostHertz))))
	if !math.IsNaN(ceiling) {
		a.ceiling += hours * ceiling
		a.ceilingKnown += hours
		e.run.seen.ceiling = true
	}
	return ceiling
}

// memory adds the memory in use in a step and returns its share of all there is.
func (e *extras) memory(a *account, i int, hours float64) float64 {
	v := plausible(insight.At(e.used, i), mostBytes)
	if math.IsNaN(v) {
		return v
	}
	e.run.seen.memory = true
	a.memory += e.run.hours * e.ofInstance * v / gibibyte
	a.memoryKnown += hours
	total := plausible(insight.At(e.total, i), mostBytes)
	if math.IsNaN(total) {
		total = v + plausible(insight.At(e.free, i), mostBytes)
		if reserved := plausible(insight.At(e.reserved, i), mostBytes); !math.IsNaN(reserved) {
			total += reserved
		}
	}
	return share(ratio(v, total))
}

// larger is the larger of two values, either of which may be NaN; 0 when both are.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		a = b
	}
	if math.IsNaN(a) {
		return 0
	}
	return a
}
