package timeline

import (
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Plan is how one query's timeline is made. [Plan.Build] makes the part that is already there and [Rows] continues it,
// by the same rules.
type Plan struct {
	Step   time.Duration // of the grid that history is on, and that live samples are put on
	Period time.Duration // how far apart live samples are; 0 when there are none
	// Measured is how far apart the metric is measured where that is more than Period: samples between repeat the last value.
	Measured time.Duration
	Counter  bool // the metric is a counter: live samples are turned into rates, history already is one
	// Keep is which of several live samples in a bin counts: KeepLast, KeepMax or KeepMin.
	Keep Keep
	Aggregation
}

// Live puts raw live samples on the grid.
func (p Plan) Live(live []gpu.Series) []gpu.Series {
	if p.Counter {
		live = Rate(live, p.RateWindow())
	}
	return Align(live, p.Step, p.Period, p.Keep)
}

// RateWindow is the window over which the rate of live samples is taken.
func (p Plan) RateWindow() time.Duration { return RateWindow(p.Step, max(p.Period, p.Measured)) }

// Build joins history with raw live samples and aggregates. The join comes first, so that a group is the same set of
// devices on both sides of it. History must be on the grid.
func (p Plan) Build(history, live []gpu.Series) []gpu.Series {
	return p.Aggregate(Join(history, p.Live(live)))
}

// Aggregate is [Aggregate] for series on the plan's grid.
func (p Plan) Aggregate(series []gpu.Series) []gpu.Series {
	return Aggregate(series, p.Aggregation, p.carry())
}

// carry is how long a device that is sampled less often than the grid's step counts in an aggregate after a sample.
func (p Plan) carry() time.Duration {
	if p.By == ByIdentity || p.Period <= p.Step {
		return 0
	}
	return p.Period + p.Period/2
}
