package bottleneck

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Verdict is what holds a subject back. The values are in the order of the gates.
type Verdict uint8

// The verdicts.
const (
	Unknown         Verdict = iota // too little is known, or what is known contradicts itself
	Idle                           // nothing runs
	Thermal                        // clocks held down by heat
	PowerBrake                     // clocks held down by the power supply: a fault
	PowerLimited                   // clocks held far down by the power cap
	MemoryCapacity                 // memory is full, and it hurts
	InputBound                     // waits for data or for the host
	Interconnect                   // waits for communication
	WaitingOnRank                  // waits for another rank of the job
	MemoryBandwidth                // memory is as fast as it gets
	Compute                        // computes: good
	LaunchBound                    // runs kernels that are too small or too few
	Mixed                          // none of these alone
	verdicts
)

// Verdicts is the number of verdicts: they are 0 to Verdicts-1.
const Verdicts = int(verdicts)

// kind is what is to be said of a verdict.
type kind struct {
	id       string
	text     string // one sentence
	severity insight.Severity
	who      gpu.XIDOwner
	action   string
}

func (v Verdict) kind() kind {
	switch v {
	case Idle:
		return kind{"idle", "Nothing runs on the GPU.", insight.Info, gpu.XIDUser,
			"Give the GPU back, or start the work that it is held for."}
	case Thermal:
		return kind{"thermal", "Heat holds the clocks down.", insight.Warning, gpu.XIDOperator,
			"Check airflow, fans, inlet temperature and coolant; move the load until the GPU stays cool."}
	case PowerBrake:
		return kind{"power-brake", "The power supply holds the clocks down.", insight.Warning, gpu.XIDOperator,
			"Check power supplies, cables and the rack's power limit: the board is told from outside to slow down."}
	case PowerLimited:
		return kind{"power-limited", "The power cap holds the clocks far down.", insight.Info, gpu.XIDOperator,
			"Raise the power limit where the rack allows it, or accept the lower clocks."}
	case MemoryCapacity:
		return kind{"memory-capacity", "The memory is full, and the work suffers from it.", insight.Warning, gpu.XIDUser,
			"Use gradient accumulation or checkpointing, mixed precision or a smaller batch."}
	case InputBound:
		return kind{"input-bound", "The GPU waits for its input.", insight.Warning, gpu.XIDUser,
			"Use more workers to load data, prefetch and pin memory; check storage and CPU."}
	case Interconnect:
		return kind{"interconnect", "The GPUs wait for communication.", insight.Warning, gpu.XIDUser,
			"Overlap communication with computation, tune bucket sizes; check that ranks are placed along the topology."}
	case WaitingOnRank:
		return kind{"waiting-on-rank", "The GPU waits for another rank of its job.", insight.Warning, gpu.XIDOperator,
			"Look at the suspect first; the GPUs that wait are well."}
	case MemoryBandwidth:
		return kind{"memory-bandwidth", "The bandwidth of the memory sets the pace.", insight.Info, gpu.XIDUser,
			"Fuse kernels, raise the batch, quantise."}
	case Compute:
		return kind{"compute", "The GPU computes.", insight.OK, gpu.XIDUser,
			"Good. To go faster optimise the model or raise the batch."}
	case LaunchBound:
		return kind{"launch-bound", "Kernels are too small or too few to fill the GPU.", insight.Warning, gpu.XIDUser,
			"Use CUDA graphs, larger kernels or a larger batch; look for work of the host between kernels."}
	case Mixed:
		return kind{"mixed", "No single thing sets the pace.", insight.OK, gpu.XIDUser,
			"Profile the work; the nearest gates say where to look first."}
	default:
		return kind{"unknown", "Too little is known of the GPU.", insight.Unknown, gpu.XIDOperator,
			"Collect what is missing; see the list."}
	}
}

// String is the verdict as answers show it: "memory-bandwidth".
func (v Verdict) String() string { return v.kind().id }

// MarshalText writes the verdict as answers show it.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Set is several verdicts.
type Set uint16

func (s Set) with(v Verdict) Set { return s | 1<<v }

// Has reports whether v is in the set.
func (s Set) Has(v Verdict) bool { return s&(1<<v) != 0 }

// first is the one whose gate comes first; Mixed when there is none.
func (s Set) first() Verdict {
	if s == 0 {
		return Mixed
	}
	return Verdict(bits.TrailingZeros16(uint16(s)))
}

// All are the verdicts of the set in the order of their gates.
func (s Set) All() iter.Seq[Verdict] {
	return func(yield func(Verdict) bool) {
		for v := range verdicts {
			if s.Has(v) && !yield(v) {
				return
			}
		}
	}
}

// Options are what a query may choose.
type Options struct {
	Of     string          `json:"of"`     // "gpus", "jobs", "" for both
	Limits json.RawMessage `json:"limits"` // Limits in part; what is not there has its default
}

// Resolve puts the limits of a query over those of the settings.
func (o Options) Resolve(base Limits) (Limits, error) {
	switch o.Of {
	case "", "gpus", "jobs":
	default:
		return base, fmt.Errorf("of: %q must be gpus, jobs or nothing", o.Of)
	}
	limits, err := base.Merge(o.Limits)
	if err != nil {
		return base, fmt.Errorf("limits: %w", err)
	}
	return limits, nil
}
