package insight

import (
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Field is a metric, and what of it a grid's value is.
type Field struct {
	Metric string // canonical name. A counter's values are its rate per second
	Of     Of
}

// Of says which value of a step stands for it.
type Of string

// What a value may be of the samples in its step.
const (
	Mean    Of = ""        // their mean; the last of them for what has no mean, a state or a bit mask
	Max     Of = "max"     // the highest: no spike is lost however long the step
	Min     Of = "min"     // the lowest
	Rise    Of = "rise"    // how much a counter rose in the step, resets taken into account
	AnyBits Of = "anybits" // every bit of a bit mask that was set at any time
	Total   Of = "total"   // what a counter stood at, at the end of the step
)

// Subject is what is judged: a GPU or a MIG instance, with who owned it.
type Subject struct {
	gpu.Device
	Owners []gpu.Owner // at the end of the range, most trusted first
	Class  Class
}

// Class is a kind of work. Limits differ by it.
type Class string

// The classes of work.
const (
	Unclassified Class = ""
	Training     Class = "training"
	Inference    Class = "inference"
)

// Workload is a process that reports train_* or serve_* metrics: a rank of a training job, or a replica of a server.
type Workload struct {
	Cluster, Node, Namespace, Pod, Job, Model, Rank, Instance string
}

// Devices is a grid of GPUs and MIG instances.
type Devices = Grid[Subject]

// Workloads is a grid of ranks and servers.
type Workloads = Grid[Workload]

// Grid holds values of several subjects at the same times: one row of values for each subject and field.
type Grid[S any] struct {
	// Times are the starts of the steps, Unix milliseconds, Step apart.
	Times    []int64
	Step     time.Duration
	Subjects []S

	columns map[Field][][]float64
}

// NewGrid is a grid without values. Steps start at from and end at to or before.
func NewGrid[S any](from, to time.Time, step time.Duration, subjects []S) *Grid[S] {
	g := &Grid[S]{Step: step, Subjects: subjects, columns: make(map[Field][][]float64)}
	for t := from; !t.Add(step).After(to); t = t.Add(step) {
		g.Times = append(g.Times, t.UnixMilli())
	}
	return g
}

// Set gives a subject's values of a field, one for each time, NaN where there is none. The slice is kept. Values that are
// infinite count as absent.
func (g *Grid[S]) Set(field Field, subject int, values []float64) {
	if len(values) != len(g.Times) {
		panic("insight: values do not fit the grid's times")
	}
	for i, v := range values {
		if math.IsInf(v, 0) {
			values[i] = math.NaN()
		}
	}
	rows, ok := g.columns[field]
	if !ok {
		rows = make([][]float64, len(g.Subjects))
		g.columns[field] = rows
	}
	rows[subject] = values
}

// Values are a subject's values of a field, one for each time; nil when it was not measured at all. The slice must not
// be changed.
func (g *Grid[S]) Values(field Field, subject int) []float64 {
	if rows, ok := g.columns[field]; ok {
		return rows[subject]
	}
	return nil
}

// Column are all subjects' values of a field, one row for each subject, nil where it was not measured; nil when no subject
// has it. It is Values for whoever reads whole grids. Nothing in it must be changed.
func (g *Grid[S]) Column(field Field) [][]float64 { return g.columns[field] }

// First is the first of several fields that was measured of a subject, and its values; nil values when none was.
func (g *Grid[S]) First(subject int, fields ...Field) (Field, []float64) {
	for _, f := range fields {
		if values := g.Values(f, subject); values != nil {
			return f, values
		}
	}
	return Field{}, nil
}

// Has reports whether any subject has the field.
func (g *Grid[S]) Has(field Field) bool {
	_, ok := g.columns[field]
	return ok
}

// At is one of the values that Values returns, NaN when there are none.
func At(values []float64, i int) float64 {
	if i < 0 || i >= len(values) {
		return math.NaN()
	}
	return values[i]
}

// Present appends the values that are not NaN to buffer, which may be nil.
func Present(buffer, values []float64) []float64 {
	for _, v := range values {
		if !math.IsNaN(v) {
			buffer = append(buffer, v)
		}
	}
	return buffer
}
