package bottleneck

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// fact is one of the values that a judgement keeps as evidence.
type fact int

const (
	factActivity fact = iota // SM, or what stands in for it
	factTensor
	factDRAM
	factUtilization // GPU utilization, or the graphics engine
	factOccupancy
	factThermal
	factHot
	factBrake
	factCapped
	factDeficit
	factMemory
	factSwing
	factKV
	factRetries
	factPCIe
	factPCIeBytes
	factData
	factComm
	factCommMedian
	factLink
	factPower
	factDips
	facts
)

// app is what the application of a device or a job says of a window. NaN for what it does not say.
type app struct {
	data, comm, commMedian float64 // shares of a step; comm is that of the rank that waits least
	retries                float64 // failed or repeated allocations per second
	kv                     float64 // share of the cache of a server
	preempts               float64 // per second
	missing                needs
	some                   bool // whether there is any rank or server
	complete               bool // all ranks say their share of communication
	stepped                bool
}

// peers is what the other GPUs of the job say of a window.
type peers struct {
	devices  int
	dips     float64 // the largest share of the job's GPUs that dipped at once
	certain  bool    // dips were seen in single samples, not guessed from extremes of long steps
	waiting  bool    // most of the job waits for one rank
	spinning bool    // this GPU waits by its own counters
	byApp    bool    // ranks' times in collectives say so
	suspect  bool    // this GPU is the one that is waited for
}

// situation is everything that the gates look at.
type situation struct {
	measured
	model      *ofModel
	subject    *insight.Subject
	app        *app
	peers      peers
	present    Verdict // whose limits are relaxed; verdicts for none
	p10, p90   float64
	swing      float64
	dipped     bool // dips of this GPU go together with those of its job
	allocation bool // the allocator says that memory is short
}

// exact keeps the last digits of a mean from deciding.
const exact = 1e-9

// up is the limit that a value must be above for v.
func (s *situation) up(v Verdict, p position) float64 {
	if v == s.present {
		return s.model.numbers[p] * (1 - s.model.numbers[stick])
	}
	return s.model.numbers[p] * (1 + exact)
}

// from is the limit that a value must have reached for v.
func (s *situation) from(v Verdict, p position) float64 {
	return s.up(v, p) * (1 - 2*exact)
}

// down is the limit that a value must be below for v.
func (s *situation) down(v Verdict, p position) float64 {
	if v == s.present {
		return s.model.numbers[p] * (1 + s.model.numbers[stick])
	}
	return s.model.numbers[p] * (1 - exact)
}

func (s *situation) sm() float64 { return s.mean[smActive] }

// used is the share of time with any kernel.
func (s *situation) used() float64 { return larger(s.mean[utilization], s.mean[graphicsActive]) }

// Comparisons with NaN are false, so a value that was not measured passes no gate.

// lost: GPU utilization is high, and the profiling counters stand at nothing.
func (s *situation) lost() bool {
	if !(s.mean[utilization] > s.model.numbers[lostUtilization]) {
		return false
	}
	const nothing = 0.001
	engine, sm := s.mean[graphicsActive], s.sm()
	return engine < nothing || math.IsNaN(engine) && sm < nothing
}

func (s *situation) unknown(need int) bool { return s.fresh < need || s.lost() }

func (s *situation) idle() bool {
	limit := s.down(Idle, idleActivity)
	return s.activity < limit && !(s.mean[tensorActive] >= limit) && !(s.mean[dramActive] >= limit) &&
		!(s.pcie >= s.down(Idle, idlePCIe))
}

func (s *situation) thermalGate() bool {
	return (s.thermal > s.up(Thermal, thermalShare) || s.hot > s.up(Thermal, thermalSamples)) && s.deficit > s.up(Thermal, thermalDeficit)
}

func (s *situation) brakeGate() bool { return s.brake > s.up(PowerBrake, brakeShare) }

func (s *situation) capGate() bool {
	return s.capped > s.up(PowerLimited, capShare) && s.deficit > s.up(PowerLimited, capDeficit)
}

// capacityGate: a server that takes all memory at its start is judged by its cache, and the swing of its activity is that of
// its requests.
func (s *situation) capacityGate() bool {
	if !math.IsNaN(s.app.kv) {
		s.allocation = s.app.kv > s.up(MemoryCapacity, kvCache) || s.app.preempts > 0
		return s.allocation
	}
	if !(s.memory > s.up(MemoryCapacity, memoryUsed)) {
		return false
	}
	s.allocation = s.app.retries > 0
	return s.allocation || s.subject.Class != insight.Inference && s.swing > s.up(MemoryCapacity, memorySwing)
}

func (s *situation) inputGate() bool {
	return s.activity < s.down(InputBound, inputActivity) &&
		(s.pcieShare > s.up(InputBound, inputPCIe) || s.app.data > s.up(InputBound, inputData))
}

func (s *situation) interconnectGate() bool {
	s.dipped = s.peers.devices > 1 && s.peers.dips >= s.from(Interconnect, dipGPUs) && s.link > s.up(Interconnect, linkShare) &&
		s.p10 < s.down(Interconnect, dipLow) && s.p90 > s.up(Interconnect, dipHigh)
	return s.dipped || s.app.comm > s.up(Interconnect, commShare)
}

func (s *situation) waitingGate() bool { return s.peers.waiting && !s.peers.suspect }

func (s *situation) bandwidthGate() bool {
	dram := s.mean[dramActive]
	return dram >= s.from(MemoryBandwidth, bandwidth) && !(s.mean[tensorActive] >= dram)
}

// spins reports what a rank looks like that waits in NCCL: kernels are there, tensor cores idle, and the power is low.
func spins(v *measured, m *ofModel) bool {
	n := &m.numbers
	return first(v.mean[graphicsActive], v.mean[utilization]) >= n[waitActivity] && v.mean[tensorActive] < n[waitTensor] &&
		v.power < n[waitPower]
}

// busyByPower: utilization alone does not say how full the GPU is, but with much power it is.
func (s *situation) busyByPower() bool {
	return math.IsNaN(s.sm()) && s.used() >= s.from(Compute, launchUtilization) && s.power >= s.from(Compute, powerBusy)
}

func (s *situation) computeGate() bool {
	tensor := s.mean[tensorActive] >= s.from(Compute, computeTensor)
	return tensor && s.activity >= s.from(Compute, computeActivity) || s.sm() >= s.from(Compute, computeAlone) || s.busyByPower()
}

func (s *situation) launchGate() bool {
	if math.IsNaN(s.sm()) {
		return s.used() >= s.from(LaunchBound, launchUtilization) && s.power < s.down(LaunchBound, powerSlack)
	}
	return s.used() >= s.from(LaunchBound, launchUtilization) && s.sm() < s.down(LaunchBound, launchActivity) ||
		s.sm() >= s.from(LaunchBound, launchResident) && s.mean[occupancy] < s.down(LaunchBound, launchOccupancy)
}

// gates are the verdicts whose gates are passed, in any order.
func (s *situation) gates(need int) Set {
	if s.unknown(need) {
		return Set(0).with(Unknown)
	}
	var passed Set
	check := func(v Verdict, is bool) {
		if is {
			passed = passed.with(v)
		}
	}
	check(Idle, s.idle())
	check(Thermal, s.thermalGate())
	check(PowerBrake, s.brakeGate())
	check(PowerLimited, s.capGate())
	check(MemoryCapacity, s.capacityGate())
	check(InputBound, s.inputGate())
	check(Interconnect, s.interconnectGate())
	check(WaitingOnRank, s.waitingGate())
	check(MemoryBandwidth, s.bandwidthGate())
	check(Compute, s.computeGate())
	check(LaunchBound, s.launchGate())
	return passed
}

// nearest are the two verdicts whose gates lack least, Unknown where there is none.
func (s *situation) nearest() [2]Verdict {
	n := &s.model.numbers
	var best [2]Verdict
	var score [2]float64
	offer := func(v Verdict, closeness float64) {
		switch {
		case !(closeness > 0.2): // hardly near
		case closeness > score[0]:
			best, score = [2]Verdict{v, best[0]}, [2]float64{closeness, score[0]}
		case closeness > score[1]:
			best[1], score[1] = v, closeness
		}
	}
	above := func(v, limit float64) float64 { return min(v/limit, 1) }
	below := func(v, limit float64) float64 { return min(limit/v, 1) }
	offer(InputBound, larger(above(s.pcieShare, n[inputPCIe]), above(s.app.data, n[inputData]))*below(s.activity, n[inputActivity]))
	offer(Interconnect, above(s.app.comm, n[commShare]))
	offer(MemoryBandwidth, above(s.mean[dramActive], n[bandwidth])*below(first(s.mean[tensorActive], 0), s.mean[dramActive]))
	offer(Compute, larger(above(s.mean[tensorActive], n[computeTensor])*above(s.activity, n[computeActivity]), above(s.sm(), n[computeAlone])))
	offer(LaunchBound, above(s.used(), n[launchUtilization])*below(s.sm(), n[launchActivity]))
	return best
}

// missing is what was wanted and is not there.
func (s *situation) missing() needs {
	v := &s.mean
	var missing needs
	check := func(n needs, values ...float64) {
		if math.IsNaN(first(values...)) {
			missing |= n
		}
	}
	check(needSM, v[smActive])
	check(needGraphics, v[graphicsActive], v[utilization])
	check(needTensor, v[tensorActive])
	check(needDRAM, v[dramActive])
	check(needOccupancy, v[occupancy])
	check(needClock, v[smClock])
	check(needClockMax, v[smClockMax])
	check(needReasons, s.hot)
	check(needMemory, s.memory)
	if !s.subject.IsMIG() {
		check(needPCIe, s.pcieIn)
		check(needPower, s.mean[power])
		if s.peers.devices > 1 && s.model.nvlink != 0 {
			check(needNVLink, first(v[nvlinkThroughput], v[nvlinkTransmit], v[nvlinkReceive]))
		}
	}
	return missing | s.app.missing
}

// confidence is how far a verdict can be relied on. Taking values away never raises it: high needs everything, and what only
// rests on a weak sign is low.
func (s *situation) confidence(v Verdict, missing needs) insight.Confidence {
	if v == Unknown {
		if s.lost() {
			return insight.Low
		}
		return insight.NoConfidence
	}
	profiled := !math.IsNaN(s.sm())
	hardware := !math.IsNaN(s.hot)
	agrees := missing == 0 && s.app.some && s.app.complete
	grade := func(medium, high bool) insight.Confidence {
		switch {
		case high && medium && agrees:
			return insight.High
		case medium:
			return insight.Medium
		}
		return insight.Low
	}
	n := &s.model.numbers
	quiet := s.app.stepped && !(s.app.data > n[inputData]) && !(s.app.comm > n[commShare])
	byApp := s.app.comm > n[commShare]
	switch v {
	case Thermal, PowerBrake, PowerLimited:
		return grade(hardware, false)
	case WaitingOnRank:
		return grade(profiled, s.peers.spinning && s.peers.byApp)
	}
	switch v {
	case MemoryCapacity:
		return grade(profiled && s.allocation, true)
	case InputBound:
		return grade(profiled, s.app.data > n[inputData])
	case Interconnect:
		return grade(profiled && (byApp || s.peers.certain), byApp && s.dipped)
	case MemoryBandwidth:
		return grade(profiled && !math.IsNaN(s.mean[tensorActive]), quiet)
	case Compute:
		// Busy SMs alone may be those of a rank that waits.
		return grade(profiled && (s.mean[tensorActive] >= n[waitTensor] || s.power >= n[waitPower]), quiet)
	case LaunchBound:
		return grade(profiled, quiet)
	default:
		return grade(profiled, false)
	}
}

// keep writes down what the judgement rests on.
func (s *situation) keep(into *[facts]float64) {
	v := &s.mean
	*into = [facts]float64{
		factActivity: s.activity, factTensor: v[tensorActive], factDRAM: v[dramActive], factUtilization: s.used(),
		factOccupancy: v[occupancy], factThermal: s.thermal, factHot: s.hot, factBrake: s.brake, factCapped: s.capped,
		factDeficit: s.deficit, factMemory: s.memory, factSwing: s.swing, factKV: s.app.kv,
		factRetries: larger(s.app.retries, s.app.preempts), factPCIe: s.pcieShare, factPCIeBytes: s.pcie, factData: s.app.data,
		factComm: s.app.comm, factCommMedian: s.app.commMedian, factLink: s.link, factPower: s.power, factDips: s.peers.dips,
	}
}
