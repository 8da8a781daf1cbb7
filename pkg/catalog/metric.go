// Package catalog knows every canonical metric – what it means, its unit, how to aggregate it – and under which names,
// labels and units the exporters in the field publish it. The knowledge is data: metrics.yaml and dialects.yaml.
package catalog

import "github.com/warpwatch/warpwatch/pkg/gpu"

// Kind says whether a metric is a level or a running total.
type Kind string

// The kinds of metrics. A counter is always answered as its per-second rate, in Unit.PerSecond.
const (
	Gauge   Kind = "gauge"
	Counter Kind = "counter"
)

// Dialect is a family of exporters that share names and labels.
type Dialect string

// The dialects of this build.
const (
	Warpwatch Dialect = "warpwatch"  // our agent
	DCGM      Dialect = "dcgm"       // dcgm-exporter, from the 1.x names to those of DCGM 4.7
	NvidiaSMI Dialect = "nvidia_smi" // nvidia_gpu_exporter
)

// Metric is a row of the catalogue. It is a value: copies may be kept, but its slices are shared and must not be changed.
type Metric struct {
	Name         string
	Unit         gpu.Unit // of the value itself; a counter is shown in Unit.PerSecond()
	Kind         Kind
	Family       string
	Help         string   // what it is, one sentence
	Caveat       string   // what NVIDIA or experience says against misreading it
	NvidiaSMI    string   // the field of nvidia-smi that shows the same
	Aggregations []string // over devices, the first is the default; of avg, max, min, sum

	Multiplier, Divisor uint64 // the agent keeps integer × Multiplier ÷ Divisor; never 0

	// PerInstance metrics are measured on each MIG instance; all others are facts of the board.
	PerInstance bool
	// Agent reports whether the agent measures it.
	Agent bool
	// Max is the largest plausible value in canonical units (of the rate, for a counter); 0 when there is no limit.
	Max float64
	// Signed metrics may be negative.
	Signed bool
	// SumOver is a label whose values are added up for one device, "" for none: gpu_xid_errors_total over xid.
	SumOver string
	// SumOf are metrics that add up to this one, for devices whose exporter does not report it.
	SumOf []string
	// MIGSubstitute is what stands in for it on MIG instances, where NVIDIA does not report it; "" for nothing.
	MIGSubstitute string
	// NoMIG metrics are reported neither for MIG-enabled GPUs nor, but for MIGSubstitute, for their instances.
	NoMIG bool
	// Latched metrics keep the last thing that happened, so they do not show when it happens again.
	Latched bool
	// Witness is a metric that cannot be high while this one is 0; "" for none.
	Witness string
	// Pulse is a metric that never stays the same for long on a GPU that is looked at; when it and a busy value of this
	// metric stand still, the exporter repeats old values. "" for none.
	Pulse string

	// Sources are all series that hold it, the most preferred first.
	Sources []Source
}

// ShownUnit is the unit of answers: the rate's unit for a counter.
func (m Metric) ShownUnit() gpu.Unit {
	if m.Kind == Counter {
		return m.Unit.PerSecond()
	}
	return m.Unit
}

// Aggregates reports whether fn is one of the metric's aggregations.
func (m Metric) Aggregates(fn string) bool {
	for _, known := range m.Aggregations {
		if known == fn {
			return true
		}
	}
	return false
}

// Source is one series of one dialect that holds a metric.
type Source struct {
	Metric     string // canonical name
	Dialect    Dialect
	Series     string
	Conversion Conversion
	Rank       int // position in the order of preference among all sources of the metric, 0 is best
}

// Conversion turns a source's unit into the canonical one: value × Multiplier ÷ Divisor. With Auto the source is
// either per cent or a ratio, see Catalog.DecideAuto.
type Conversion struct {
	Unit                string // as the catalogue names it, "" for the canonical unit
	Multiplier, Divisor float64
	Auto                bool
}

// Apply converts one value. For an Auto conversion it assumes a ratio.
func (c Conversion) Apply(value float64) float64 { return value * c.Multiplier / c.Divisor }
