package simulate

import "math"

// Time goes in cells. Within one, a workload's intensity is constant and only its rhythm moves, so that means and
// integrals over any part of it are exact, whatever step is asked for.
const (
	cellSeconds = 10
	cellsAnHour = 3600 / cellSeconds
	cellsADay   = 24 * cellsAnHour
)

// intensity is what a workload does to a board, each a share of what the board can do.
type intensity struct {
	graphics, sm, occupancy, tensor, dram, nvlink, send, receive float64
}

// power is the share of the span between held and limit that the intensity draws at full clocks; above 1 the board's
// power limit bites.
func (i intensity) power() float64 {
	return 0.08*i.graphics + 0.38*i.sm + 0.60*i.tensor + 0.36*i.dram + 0.12*i.nvlink
}

// between is the mean intensity when a is on for a share of the time and b for the rest.
func between(a, b intensity, share float64) intensity {
	mix := func(x, y float64) float64 { return y + (x-y)*share }
	return intensity{
		mix(a.graphics, b.graphics), mix(a.sm, b.sm), mix(a.occupancy, b.occupancy), mix(a.tensor, b.tensor),
		mix(a.dram, b.dram), mix(a.nvlink, b.nvlink), mix(a.send, b.send), mix(a.receive, b.receive),
	}
}

// load is what runs on a board or an instance during one cell.
type load struct {
	held    bool    // a process has it
	memory  float64 // share of the memory that is used
	on, off intensity
	wave    wave
	waits   bool // off is waiting for peers: a slower clock makes on longer instead of the period
}

// busyAt is the share of the period that is on when the clock runs at a share of its maximum.
func (l *load) busyAt(clock float64) float64 {
	if !l.waits {
		return l.wave.busy
	}
	return math.Min(l.wave.busy/clock, 0.985)
}

// job is the kind of work that a board or an instance is given.
type job uint8

const (
	nothing job = iota
	train
	serve
	notebook // somebody tries things out
	reserved // allocated, and forgotten
)

// jobFor deals out the work of a node to its boards.
func jobFor(p Profile, board int) job {
	switch p {
	case Training:
		return train
	case Inference:
		return serve
	case Mixed:
		return [...]job{train, train, train, train, serve, serve, reserved, notebook}[board%8]
	default:
		return nothing
	}
}

// jobForInstance deals out the work of a split board: small slices go to people, big ones to servers.
func jobForInstance(p Profile, board, slot int) job {
	switch {
	case p == Idle:
		return nothing
	case slot == 0:
		return serve
	default:
		return [...]job{notebook, serve, reserved, notebook, serve}[(board+slot)%5]
	}
}

// worker is a job on one board or instance. Its key is its own; all workers of a training job share jobKey.
type worker struct {
	job    job
	key    uint64
	jobKey uint64
}

// load is what the worker does in a cell.
func (w worker) load(cell int64) load {
	switch w.job {
	case train:
		return w.training(cell)
	case serve:
		return w.serving(cell)
	case notebook:
		return w.notebook(cell)
	case reserved:
		return load{held: true, memory: 0.22 + 0.2*uniform(w.key, 0)}
	default:
		return load{}
	}
}

const (
	trainingBlock   = 4 * cellsAnHour // a job is started at the beginning of a block, and ends before the next
	checkpointEvery = 15 * 60 / cellSeconds
	loading         = 120 / cellSeconds
)

// training alternates between computing and exchanging gradients, writes a checkpoint now and then, and leaves the
// boards empty between jobs.
func (w worker) training(cell int64) load {
	block := floorDiv(cell, trainingBlock)
	since := cell - block*trainingBlock
	run := mix(w.jobKey, uint64(block))
	pause := int64(0)
	if uniform(run, 1) > 0.35 {
		pause = int64((3 + 22*uniform(run, 2)) * 60 / cellSeconds)
	}
	if since < pause {
		return load{}
	}
	since -= pause

	level := 0.96 + 0.08*smooth(w.key, cell, 30)
	on := intensity{
		graphics: 1, sm: 0.92 * level, occupancy: 0.41 * level, tensor: (0.52 + 0.1*uniform(run, 3)) * level,
		dram: 0.46 * level, nvlink: 0.10, send: 0.004, receive: 0.02,
	}
	l := load{
		held: true, memory: 0.78 + 0.14*uniform(run, 4) + 0.01*smooth(w.key, cell, 60), on: on, waits: true,
		// NCCL's kernel spins while it waits: the board looks 100 % used.
		off:  intensity{graphics: 1, sm: 0.32, occupancy: 0.11, tensor: 0.01, dram: 0.17, nvlink: 0.62, send: 0.006, receive: 0.006},
		wave: wave{period: 4 + 5*uniform(run, 5), phase: 10 * uniform(run, 6), busy: 0.74 + 0.1*uniform(run, 7)},
	}
	switch {
	case since < loading:
		grown := float64(since+1) / loading
		l.memory *= grown
		l.on = intensity{graphics: 0.1, sm: 0.03, dram: 0.04, receive: 0.35}
		l.off, l.waits = l.on, false
	case since%checkpointEvery >= checkpointEvery-2:
		l.on = intensity{graphics: 0.06, sm: 0.02, dram: 0.05, send: 0.5}
		l.off, l.waits = l.on, false
	}
	return l
}

// serving follows the day, with bursts: batches come at a pace, and the busier the model the longer each keeps the board.
func (w worker) serving(cell int64) load {
	demand := (0.16 + 0.5*daytime(cell)) * (0.7 + 0.6*smooth(w.key, cell, 60))
	if burst := smooth(mix(w.key, 1), cell, 9); burst > 0.72 {
		demand += 1.6 * (burst - 0.72)
	}
	demand = clamp(demand, 0.02, 0.97)
	return load{
		held: true, memory: 0.68 + 0.2*demand,
		on:   intensity{graphics: 0.97, sm: 0.66, occupancy: 0.31, tensor: 0.3, dram: 0.74, nvlink: 0.05, send: 0.02, receive: 0.03},
		wave: wave{period: 1.2 + 1.4*uniform(w.key, cell), phase: 3 * uniform(mix(w.key, 2), cell), busy: demand},
	}
}

// notebook runs a minute of work now and then, mostly by day, and keeps its memory.
func (w worker) notebook(cell int64) load {
	session := floorDiv(cell, 2*cellsAnHour)
	l := load{held: true, memory: 0.05 + 0.35*uniform(w.key, session)}
	attempt := floorDiv(cell, 12)
	if uniform(mix(w.key, 3), attempt) < 0.06+0.3*daytime(cell) {
		strength := 0.3 + 0.6*uniform(mix(w.key, 4), attempt)
		l.on = intensity{
			graphics: 0.95, sm: 0.7 * strength, occupancy: 0.3 * strength, tensor: 0.25 * strength, dram: 0.5 * strength,
			send: 0.03, receive: 0.08,
		}
		l.wave = wave{period: 2.5, busy: 0.3 + 0.6*strength, phase: uniform(w.key, attempt)}
	}
	return l
}

// daytime is 0 in the small hours, 1 in the afternoon, and less at weekends.
func daytime(cell int64) float64 {
	day := floorDiv(cell, cellsADay)
	hour := float64(cell-day*cellsADay) / cellsAnHour
	x := 0.5 - 0.5*math.Cos((hour-4)/24*2*math.Pi)
	if weekday := (day + 4) % 7; weekday == 0 || weekday == 6 { // 1970-01-01 was a Thursday
		x *= 0.55
	}
	return x
}
