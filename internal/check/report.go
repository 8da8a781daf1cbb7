package check

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// The marks of panels.
const (
	MarkValue = "value"
	MarkQuiet = "quiet" // a list that has nothing to tell, and the panel says what that means
	MarkDark  = "dark"  // nothing to show, and the panel says what to export
	MarkBad   = "BAD"
)

// Cell is what became of one panel in one fleet.
type Cell struct {
	Mark string
	Text string // how many values there are, why there is none, or what is wrong
}

// Row is a panel of a dashboard, or a variable.
type Row struct {
	Dashboard, Panel string
	Cells            []Cell // by fleet
}

// Report is a table of dashboard, panel and fleet.
type Report struct {
	Fleets []string
	Rows   []Row
}

// Markdown is the table, and below it every reason that a panel gives, once.
func (r Report) Markdown() string {
	var out strings.Builder
	out.WriteString("# What every panel shows in every fleet\n\n`value`: it has values. `quiet`: a list without rows, which the panel explains. `dark`: nobody exports it, and the panel says what to export.\n\n")
	fmt.Fprintf(&out, "| dashboard | panel | %s |\n|---|---|%s\n", strings.Join(r.Fleets, " | "), strings.Repeat("---|", len(r.Fleets)))
	numbers, reasons := map[string]int{}, []string{}
	for _, row := range r.Rows {
		cells := make([]string, 0, len(row.Cells))
		for _, c := range row.Cells {
			if c.Mark == MarkValue {
				cells = append(cells, c.Mark)
				continue
			}
			if numbers[c.Text] == 0 {
				reasons = append(reasons, c.Text)
				numbers[c.Text] = len(reasons)
			}
			cells = append(cells, fmt.Sprintf("%s (%d)", c.Mark, numbers[c.Text]))
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", row.Dashboard, row.Panel, strings.Join(cells, " | "))
	}
	out.WriteString("\n")
	for i, text := range reasons {
		fmt.Fprintf(&out, "%d. %s\n", i+1, strings.Join(strings.Fields(text), " "))
	}
	return out.String()
}

// report is a Report that is filled by several at once.
type report struct {
	Report
	mu    sync.Mutex
	keys  map[string][]int // rows of a panel, by its key
	kinds map[string]int   // the row of a variable
}

func newReport(fleets []Fleet, dashboards []Dashboard) *report {
	r := &report{keys: map[string][]int{}, kinds: map[string]int{}}
	add := func(dashboard, panel string) int {
		cells := make([]Cell, len(fleets))
		for i := range cells {
			cells[i] = Cell{MarkQuiet, "not asked of this fleet"}
		}
		r.Rows = append(r.Rows, Row{dashboard, panel, cells})
		return len(r.Rows) - 1
	}
	for _, f := range fleets {
		r.Fleets = append(r.Fleets, f.Name)
		for _, kind := range f.Variables {
			if _, has := r.kinds[kind]; !has {
				r.kinds[kind] = add("variables", kind)
			}
		}
	}
	for _, d := range dashboards {
		for _, p := range d.Panels {
			r.keys[p.key()] = append(r.keys[p.key()], add(d.Title, p.Title))
		}
	}
	return r
}

func (r *report) variable(fleet int, kind, trouble string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cell := Cell{Mark: MarkValue}
	if trouble != "" {
		cell = Cell{MarkBad, trouble}
	}
	r.Rows[r.kinds[kind]].Cells[fleet] = cell
}

func (r *report) panel(fleet int, key string, c Cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range r.keys[key] {
		r.Rows[row].Cells[fleet] = c
	}
}

// summarize writes what is wrong and how many panels of each fleet are how, and returns how many are wrong.
func (r *report) summarize(out io.Writer) int {
	bad := 0
	for i, fleet := range r.Fleets {
		marks := map[string]int{}
		for _, row := range r.Rows {
			c := row.Cells[i]
			marks[c.Mark]++
			if c.Mark == MarkBad {
				bad++
				fmt.Fprintf(out, "%-5s %s: %s / %s: %s\n", c.Mark, fleet, row.Dashboard, row.Panel, c.Text)
			}
		}
		fmt.Fprintf(out, "  %-22s %d with values, %d quiet, %d dark and say what to export, %d bad\n", fleet, marks[MarkValue], marks[MarkQuiet], marks[MarkDark], marks[MarkBad])
	}
	return bad
}
