package frames

import (
	"cmp"
	"slices"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Rows are the rows of an instant in the one order of all answers, see [Sort].
type Rows struct {
	instant *gpu.Instant
	names   []string // of the labels, as tables show them
	order   []uint32 // the instant's rows
}

// SortInstant puts the rows of an instant in order.
func SortInstant(instant *gpu.Instant) Rows {
	present := make(map[string]string, len(instant.Labels))
	for i := range instant.Labels {
		if len(instant.Labels[i].Texts) > 1 {
			present[instant.Labels[i].Name] = ""
		}
	}
	r := Rows{instant: instant, names: ordered(present), order: make([]uint32, instant.Len())}
	for i := range r.order {
		r.order[i] = uint32(i)
	}
	groups := []rowGroup{{0, len(r.order)}}
	for _, name := range r.names[:min(len(r.names), maxSortLabels)] {
		if groups = r.refine(groups, r.column(name)); len(groups) == 0 {
			break
		}
	}
	return r
}

// rowGroup is rows, from one to another, that are alike in all labels looked at.
type rowGroup struct{ from, to int }

func (r Rows) column(name string) *gpu.LabelColumn {
	for i := range r.instant.Labels {
		if r.instant.Labels[i].Name == name {
			return &r.instant.Labels[i]
		}
	}
	return nil
}

// refine sorts each group by one more label, and returns the groups of more than one row that are alike in it as well.
func (r Rows) refine(groups []rowGroup, by *gpu.LabelColumn) []rowGroup {
	var ranks []uint32
	var next []rowGroup
	for _, g := range groups {
		rows := r.order[g.from:g.to]
		if !rising(rows, by) {
			if ranks == nil {
				ranks = rankTexts(by.Texts)
			}
			sortRows(rows, by.Codes, ranks)
		}
		for from := 0; from < len(rows); {
			to := from + 1
			for to < len(rows) && (by.Codes[rows[from]] == by.Codes[rows[to]] || by.Text(int(rows[from])) == by.Text(int(rows[to]))) {
				to++
			}
			if to-from > 1 {
				next = append(next, rowGroup{g.from + from, g.from + to})
			}
			from = to
		}
	}
	return next
}

func rising(rows []uint32, by *gpu.LabelColumn) bool {
	for i := 1; i < len(rows); i++ {
		if a, b := by.Codes[rows[i-1]], by.Codes[rows[i]]; a != b && by.Texts[a] > by.Texts[b] {
			return false
		}
	}
	return true
}

// rankTexts numbers texts in their order; equal ones have one number.
func rankTexts(texts []string) []uint32 {
	order := make([]uint32, len(texts))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(texts[a], texts[b]) })
	ranks := make([]uint32, len(texts))
	for i := 1; i < len(order); i++ {
		ranks[order[i]] = ranks[order[i-1]]
		if texts[order[i]] != texts[order[i-1]] {
			ranks[order[i]]++
		}
	}
	return ranks
}

// sortRows sorts rows by the ranks of their codes, and leaves those of one rank in the order they are in.
func sortRows(rows, codes, ranks []uint32) {
	if len(ranks) > 4*len(rows) {
		slices.SortStableFunc(rows, func(a, b uint32) int { return cmp.Compare(ranks[codes[a]], ranks[codes[b]]) })
		return
	}
	place := make([]int, len(ranks)+1)
	for _, row := range rows {
		place[ranks[codes[row]]+1]++
	}
	for i := 1; i < len(place); i++ {
		place[i] += place[i-1]
	}
	sorted := make([]uint32, len(rows))
	for _, row := range rows {
		at := &place[ranks[codes[row]]]
		sorted[*at] = row
		*at++
	}
	copy(rows, sorted)
}

// Len is how many rows there are.
func (r Rows) Len() int { return len(r.order) }

// Latest is what [Latest] is of the rows as series.
func (r Rows) Latest(o Options) *data.Frame {
	keep, o := keepRows(len(r.order), len(r.order), latestRows(len(r.names)), o)
	order := r.order[:keep]
	frame := o.empty(data.FrameTypeNumericLong)
	if len(order) == 0 {
		return frame
	}
	values := make([]*float64, len(order))
	for i, row := range order {
		if v := &r.instant.Values[row]; finite(*v) {
			values[i] = v
		}
	}
	frame.Fields = textFields(r.names, len(order), nil, func(name string, texts []string) bool {
		column, said := r.column(name), false
		for i, row := range order {
			code := column.Codes[row]
			texts[i] = column.Texts[code]
			said = said || texts[i] != ""
		}
		return said
	})
	frame.Fields = append(frame.Fields, o.valueColumn(values))
	return frame
}

// Silent is what [Silent] is of the rows as series.
func (r Rows) Silent(naming Naming) []gpu.Notice {
	var silent silence
	for _, row := range r.order {
		if !finite(r.instant.Values[row]) {
			silent.add(func() gpu.Series { return r.instant.Series(int(row)) }, naming)
		}
	}
	return silent.notices(len(r.order))
}
