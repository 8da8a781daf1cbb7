package efficiency

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Result is what became of the GPU-hours of a range.
type Result struct {
	From, To int64 // Unix milliseconds
	By       []By
	Charge   Mode

	Total  *Group
	Groups []*Group // the most allocated hours first; none without Options.By

	// Timeline is how many GPUs were in each part in each step.
	Timeline []Parts

	// Idle are the GPUs and instances that somebody had and that were idle at the end of the range, the dearest first, those
	// without a price by their size.
	Idle []IdleGPU
	// Jobs are training jobs and servers that tell of themselves, the most GPU-hours first.
	Jobs     []Job
	Unpriced []Unpriced // models without a price, the most hours first
	// Fragments says of each cluster how its free GPUs fit jobs of one node.
	Fragments []Fragment

	Missing    []string // canonical names of what would have made the answer better
	Notices    []gpu.Notice
	Confidence insight.Confidence
}

// Group is a part of the fleet. Hours are GPU-hours.
type Group struct {
	// Values are its names, one for each dimension of the result; see [NotOwned], [Unattributed] and [Unnamed].
	Values []string
	GPUs   float64 // how many GPUs it had on average
	Hours  Parts
	// Pool is the part of the unallocated hours that is no instance of a GPU that is split.
	Pool float64
	// ActiveHours are allocated hours times the activity of the SMs; ActivityKnown are those in which it was measured.
	ActiveHours, ActivityKnown float64
	// MemoryGiBHours are those of allocated GPUs, NaN when not measured; MemoryKnown are the hours in which it was.
	MemoryGiBHours, MemoryKnown float64
	// Ceiling is the mean of tensor activity × SM clock ÷ highest SM clock of allocated GPUs, a bound of MFU from above and
	// not MFU itself: it sees neither sparsity nor precision nor work that is done twice. NaN when not measured.
	Ceiling float64
	Energy  Energy
	// Costs has a row for each currency; currencies are not converted.
	Costs []Cost
	// Unpriced are the hours of models without a price.
	Unpriced float64
	// ChargeQuantity is what the mode counts, in ChargeUnit; the money of it is in Costs. Both are NaN when nothing of it was
	// measured. ChargeKnown is the share of the allocated hours in which it was, NaN without any.
	ChargeQuantity, ChargeKnown float64
	ChargeUnit                  string // "GPU h", "GiB h", "kWh"
	// Charged is the money of it in each step, by currency; of groups with Options.Series only.
	Charged []Charged

	sums account
}

// Efficiency is the mean activity of allocated GPUs, NaN when not measured.
func (g *Group) Efficiency() float64 { return ratio(g.ActiveHours, g.ActivityKnown) }

// Energy is what GPUs used.
type Energy struct {
	KWh Parts // of the boards, NaN when nothing of it is known
	// Known is the share of the hours that were not absent of which energy is known, NaN of nothing. What is not known is not
	// in KWh.
	Known float64
	// Source says what it comes from: "energy counter", "power × time", "energy counter and power × time", "" when not known.
	Source string
	// Estimated is the share of it, by hours, that was measured of a whole GPU and given to MIG instances by slices and
	// activity, which is an estimate.
	Estimated float64
	// SiteKWh is all of it times PUE, NaN without one. CarbonKg is that of SiteKWh, else of KWh, NaN without a factor.
	SiteKWh, CarbonKg float64
}

// Cost is money in one currency.
type Cost struct {
	Currency string
	Priced   float64 // hours that Parts and WastePerHour are of; 0 where only energy has a price: they are not known then
	Parts    Parts   // of the hours; Parts.Idle is the waste of the range
	Charge   float64 // by the mode, of allocated hours; NaN when nothing that it charges for was measured
	// WastePerHour is what those that were idle at the end of the range cost in an hour.
	WastePerHour float64
}

// IdleGPU is a GPU or an instance that somebody had and that was idle at the end of the range.
type IdleGPU struct {
	Device   gpu.Device
	Owners   []gpu.Owner // those that shared it; none when nobody is named
	Since    int64       // start of the idle steps in the range, Unix milliseconds
	Open     bool        // it was idle since the range began, or before
	Activity float64     // mean since then, NaN when not measured
	Weight   float64     // part of a GPU
	PerHour  float64     // what it costs in an hour, NaN without a price
	Currency string
}

// Unpriced are hours without a price.
type Unpriced struct {
	Model, Cluster string
	Hours          float64
}

// Job is a training job or a server, joined with its GPUs by owner. Numbers are NaN where they are not known.
type Job struct {
	Kind                            insight.Class
	Cluster, Namespace, Name        string
	GPUs, Hours                     float64 // of its GPUs; 0 when none is known to be its own
	Tokens                          float64 // that the range is known to have
	TokensPerSecond, TokensPerJoule float64
	JoulesPerToken                  float64
	CostPerMillion                  float64 // tokens
	Currency                        string
	MFU                             float64 // against the dense BF16 peak of the data sheet
	ReachableMFU                    float64 // against the largest matrix multiplication that anybody measured
	MFUFrom                         string  // what MFU was computed from
	ReportedMFU                     float64 // as the framework computes it
	Ceiling                         float64 // see Group.Ceiling: a bound, for where there is no MFU
	Notes                           []string
	Confidence                      insight.Confidence
}

// CeilingLabel is what a ceiling must be called wherever it is shown.
const CeilingLabel = "tensor-pipe ceiling"

// Fragment is how the free GPUs of a cluster fit jobs of one node.
type Fragment struct {
	Cluster string
	JobGPUs int
	Free    int     // whole GPUs that nobody has
	Usable  int     // of them, those that such jobs can have
	Ratio   float64 // share of the free that they cannot, NaN when none is free
}

func newGroup(values []string) *Group {
	return &Group{Values: values, Ceiling: math.NaN(), ChargeKnown: math.NaN(), Energy: Energy{Known: math.NaN(), Estimated: math.NaN(), SiteKWh: math.NaN(), CarbonKg: math.NaN()}}
}
