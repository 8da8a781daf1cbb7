package gpu

// Instant is many series of one sample each, as columns: what a whole fleet is at one time, without a map and two slices for
// each series. It is never written to after it was handed on.
type Instant struct {
	Labels []LabelColumn // in no particular order, each name once
	Times  []int64       // Unix milliseconds, one for each row
	Values []float64     // one for each row; NaN is a gap
}

// LabelColumn is one label of all rows. A row without the label has the empty text, as in PromQL.
type LabelColumn struct {
	Name  string
	Codes []uint32 // one for each row: where its text is in Texts
	Texts []string // the first one is empty; a text may be there more than once
}

// Text is the label's value in a row.
func (c *LabelColumn) Text(row int) string { return c.Texts[c.Codes[row]] }

// Len is how many rows there are.
func (i *Instant) Len() int { return len(i.Values) }

// Series is one row as a series.
func (i *Instant) Series(row int) Series {
	labels := make(map[string]string, len(i.Labels))
	for at := range i.Labels {
		if text := i.Labels[at].Text(row); text != "" {
			labels[i.Labels[at].Name] = text
		}
	}
	return Series{Labels: labels, Times: i.Times[row : row+1 : row+1], Values: i.Values[row : row+1 : row+1]}
}
