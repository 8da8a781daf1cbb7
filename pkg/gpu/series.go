package gpu

// Series is one line of a chart: the samples of one device, or of one label set, in the order of time.
//
// Slices may be shared between series and are never written to after the series was handed on.
type Series struct {
	Device Device            // zero for a PromQL result and for an aggregate over several devices
	Labels map[string]string // of a PromQL result, or the group of an aggregate
	Times  []int64           // Unix milliseconds, strictly rising
	Values []float64         // one for each time; NaN is a gap
}

// Notice is something to tell the user beside the answer: a part that is missing, a value that was dropped.
type Notice struct {
	Severity Severity
	Text     string // one sentence that names the place and, where there is one, the remedy
}

// Severity of a Notice.
type Severity uint8

// Severities, in rising order.
const (
	Info Severity = iota
	Warning
	Error
)
