package insight

import "github.com/warpwatch/warpwatch/pkg/gpu"

// Confidence is how far a judgement can be relied on.
type Confidence uint8

// The degrees of confidence, in rising order.
const (
	NoConfidence Confidence = iota // nothing could be judged
	Low                            // default exporter fields alone, GPU utilization for example
	Medium                         // the hardware's own counters: profiling metrics, clock event reasons
	High                           // hardware and application agree
)

// String is the confidence as answers show it.
func (c Confidence) String() string {
	switch c {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	default:
		return "none"
	}
}

// Severity is how soon somebody has to act.
type Severity uint8

// The severities, in rising order.
const (
	OK       Severity = iota // all that was looked at is as it should be
	Unknown                  // too little is known to say OK: never shown as healthy
	Info                     // worth knowing, nothing to do
	Warning                  // act in working hours
	Critical                 // act now
)

// String is the severity as answers show it.
func (s Severity) String() string {
	switch s {
	case OK:
		return "ok"
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Critical:
		return "critical"
	default:
		return "unknown"
	}
}

// Rank orders severities for what is shown first: what is not known comes before what is only worth knowing, because the latter is
// healthy. It is 0 for OK and 4 for Critical.
func (s Severity) Rank() int {
	switch s {
	case Critical:
		return 4
	case Warning:
		return 3
	case Unknown:
		return 2
	case Info:
		return 1
	default:
		return 0
	}
}

// Evidence is a measured value that a judgement rests on, with the limit that it was held against.
type Evidence struct {
	Metric string // canonical name, or an application's: "XID 79"
	Value  float64
	Unit   gpu.Unit
	// Limit is what Value was compared with, NaN when with nothing.
	Limit float64
	Above bool   // whether the judgement says that Value is above Limit; below otherwise
	Text  string // for people: "SM active 12 %, below 30 %"
}

// Reason is one thing that is wrong with a subject, or worth knowing of it.
type Reason struct {
	ID       string // stable, for links, rules and mappings: "xid-79", "row-remap-failure", "thermal"
	Severity Severity
	Text     string // one sentence for people
	Evidence []Evidence
	Action   Action
	Since    int64 // when it began in what was looked at, Unix milliseconds; 0 when not known
}

// Action is what to do about a reason.
type Action struct {
	Text    string // imperative: "Drain the node and reset the GPU."
	Who     gpu.XIDOwner
	NVIDIA  string // NVIDIA's own word for it: "RESET_GPU"; "" where it names none
	Runbook string // id of the runbook, "" for none; the same id as the page and the alert rules use
}
