// Package catalog knows every canonical metric – what it means, its unit, how to aggregate it – and under which names,
// labels and units the exporters in the field publish it. The knowledge is data: metrics.yaml and dialects.yaml.
package catalog

import (
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Kind says whether a metric is a level, a running total or a distribution.
type Kind string

// The kinds of metrics. It is the catalogue that decides, not the type that an exporter declares: some call a rate a
// counter. A counter is always answered as its per-second rate, in Unit.PerSecond. A histogram's sources are its bucket
// series, and it is answered as quantiles, or as the mean of what was observed.
const (
	Gauge     Kind = "gauge"
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
)

// Subject is what a metric is a fact of.
type Subject string

// The subjects. Metrics of workloads name no GPU; see Catalog.ResolveWorkload.
const (
	SubjectDevice   Subject = ""
	SubjectWorkload Subject = "workload"
)

// Dialect is a family of exporters that share names and labels.
type Dialect string

// The dialects of this build.
const (
	Warpwatch  Dialect = "warpwatch"  // our agent
	DCGM       Dialect = "dcgm"       // dcgm-exporter, from the 1.x names to those of DCGM 4.7
	NvidiaSMI  Dialect = "nvidia_smi" // nvidia_gpu_exporter
	Nvitop     Dialect = "nvitop"     // nvitop-exporter
	AllSMI     Dialect = "all_smi"    // all-smi
	OTel       Dialect = "otel"       // OpenTelemetry's conventions, as Prometheus gets them
	Triton     Dialect = "triton"     // Triton Inference Server, of GPUs and of models
	VLLM       Dialect = "vllm"
	SGLang     Dialect = "sglang"
	TRTLLM     Dialect = "trtllm" // TensorRT-LLM
	TGI        Dialect = "tgi"    // Text Generation Inference
	Megatron   Dialect = "megatron"
	TorchTitan Dialect = "torchtitan" // torchtitan's names, however they are brought to Prometheus
	DeepSpeed  Dialect = "deepspeed"
)

// Metric is a row of the catalogue. It is a value: copies may be kept, but its slices are shared and must not be changed.
type Metric struct {
	Name         string
	Unit         gpu.Unit // of the value itself; a counter is shown in Unit.PerSecond()
	Kind         Kind
	Subject      Subject
	Family       string
	Help         string   // what it is, one sentence
	Caveat       string   // what NVIDIA or experience says against misreading it
	NvidiaSMI    string   // the field of nvidia-smi that shows the same
	Aggregations []string // over devices, the first is the default; of avg, max, min, sum; of p50, p95, p99, avg for a histogram

	Multiplier, Divisor uint64 // the agent keeps integer × Multiplier ÷ Divisor; never 0

	// PerInstance metrics are measured on each MIG instance; all others are facts of the board.
	PerInstance bool
	// Agent reports whether the agent measures it.
	Agent bool
	// Group is the agent's group of metrics that it is read in, and Profile the smallest of the agent's profiles with that
	// group; "" for what the agent does not measure.
	Group, Profile string
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
	Series     string // of a histogram, that of its buckets
	Conversion Conversion
	Rank       int // position in the order of preference among all sources of the metric, 0 is best
	// Generation is the first version of the exporter that writes it so, "" for all.
	Generation string
	// Part is the value of the metric's SumOver label that this series is of, for dialects that have a series for each;
	// "" where the label itself tells.
	Part string
	// Prefix is what somebody put in front of the name, with its separator, and Suffix what behind it; see Catalog.Lookup.
	Prefix, Suffix string

	only *[]Condition
}

// Condition is a label that a series must have one of some values of to be a source.
type Condition struct {
	Label  string // as OpenTelemetry writes it; in Prometheus its dots may be underscores
	Values []string
}

// Conditions are what a series must fulfil besides its name. The slice is shared and must not be changed.
func (s Source) Conditions() []Condition {
	if s.only == nil {
		return nil
	}
	return *s.only
}

// Accepts reports whether a series with these labels is a source: one name may stand for several metrics, told apart by
// labels.
func (s Source) Accepts(labels Labels) bool {
	if OfOthers(s.Dialect, labels) {
		return false
	}
	for _, c := range s.Conditions() {
		value := labels.Get(c.Label)
		if value == "" {
			value = labels.Get(underscored(c.Label))
		}
		if !slices.Contains(c.Values, value) {
			return false
		}
	}
	return true
}

// Conversion turns a source's unit into the canonical one: value × Multiplier ÷ Divisor. With Auto the unit is not in the
// name, see Catalog.DecideAuto and Catalog.DecideUnit.
type Conversion struct {
	Unit                string // as the catalogue names it, "" for the canonical unit
	Multiplier, Divisor float64
	Auto                bool
}

// Apply converts one value. For an Auto conversion it assumes the canonical unit.
func (c Conversion) Apply(value float64) float64 { return value * c.Multiplier / c.Divisor }
