package gpu

// Exemplar is one observation out of those that a series counts, kept because it says where it comes from: most often it
// names a trace.
type Exemplar struct {
	Series map[string]string // labels of the series that counts it
	Labels map[string]string // the exemplar's own, like trace_id
	Time   int64             // Unix milliseconds
	Value  float64
}

// Cell is a bucket of a native histogram at a time: how many observations were between two values.
type Cell struct {
	Time      int64 // Unix milliseconds
	Low, High float64
	Count     float64
}

// Histogram is a series of native histograms. Empty buckets have no cell.
type Histogram struct {
	Labels map[string]string
	Cells  []Cell // in the order of time, and of values within each
}
