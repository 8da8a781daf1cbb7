package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Fleet is one that every panel is asked of.
type Fleet struct {
	Name      string // as the table calls it
	Client    Client
	Ranges    []time.Duration // that every panel is asked for
	Variables []string        // kinds that must have values
	Agents    bool            // agents measure it, so that what they export by default must be there
}

// atOnce is how many panels are asked at the same time. More wait for the same servers.
const atOnce = 4

// Run asks every query of every dashboard of every fleet. It writes a line about each panel that is not as it should be and
// a sum for each fleet, and returns an error when there is such a panel. A panel may be dark when it says what to export.
func Run(ctx context.Context, fleets []Fleet, dashboards []Dashboard, out io.Writer) (Report, error) {
	known, err := catalog.Load()
	if err != nil {
		return Report{}, fmt.Errorf("read catalogue: %w", err)
	}
	report := newReport(fleets, dashboards)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for at, fleet := range fleets {
		for _, kind := range fleet.Variables {
			group.Go(func() error {
				report.variable(at, kind, fleet.hasValues(ctx, kind))
				return ctx.Err()
			})
		}
		for key, panel := range panels(dashboards) {
			group.Go(func() error {
				report.panel(at, key, fleet.panel(ctx, panel, known))
				return ctx.Err()
			})
		}
	}
	if err := group.Wait(); err != nil {
		return Report{}, fmt.Errorf("ask panels: %w", err)
	}
	bad := report.summarize(out)
	if bad > 0 {
		return report.Report, fmt.Errorf("%d checks failed", bad)
	}
	return report.Report, nil
}

// hasValues is why a variable would list nothing, "" where it lists something.
func (f Fleet) hasValues(ctx context.Context, kind string) string {
	values, err := f.Client.variables(ctx, kind)
	switch {
	case err != nil:
		return err.Error()
	case values == 0:
		return "empty"
	}
	return ""
}

// panels are the different panels of dashboards, by their key: dashboards share them.
func panels(dashboards []Dashboard) map[string]Panel {
	all := map[string]Panel{}
	for _, d := range dashboards {
		for _, p := range d.Panels {
			all[p.key()] = p
		}
	}
	return all
}

// key is the same for panels that ask the same and say the same where there is nothing.
func (p Panel) key() string {
	text, err := json.Marshal(struct {
		Targets []map[string]any
		Empty   string
	}{p.Targets, p.Empty})
	if err != nil {
		return p.Title // what was read from JSON can be written again
	}
	return string(text)
}

// panel asks one panel over every range.
func (f Fleet) panel(ctx context.Context, p Panel, known *catalog.Catalog) Cell {
	var good, faults, dark, quiet []string
	for _, last := range f.Ranges {
		start := time.Now()
		answers, err := f.Client.query(ctx, p.Targets, last)
		if err != nil {
			faults = append(faults, fmt.Sprintf("over %s: %v", span(last), err))
			continue
		}
		var sum verdict
		for _, t := range p.Targets {
			ref, _ := t["refId"].(string)
			a, answered := answers[ref]
			if !answered {
				faults = append(faults, fmt.Sprintf("over %s: %s has no answer", span(last), ref))
				continue
			}
			v := judge(t, a, known, judged{empty: p.Empty, agents: f.Agents, long: last > time.Hour})
			for _, fault := range v.faults {
				faults = append(faults, fmt.Sprintf("over %s: %s: %s", span(last), ref, fault))
			}
			if len(v.faults) > 0 {
				faults = append(faults, v.notices...)
			}
			dark, quiet = append(dark, v.dark...), append(quiet, v.quiet...)
			sum.series, sum.values, sum.told, sum.unit = sum.series+v.series, sum.values+v.values, sum.told+v.told, v.unit
		}
		if sum.values+sum.told > 0 {
			good = append(good, fmt.Sprintf("%s %d series %d values%s %s in %d ms", span(last), sum.series, sum.values, texts(sum.told), sum.unit, time.Since(start).Milliseconds()))
		}
	}
	switch {
	case len(faults) > 0:
		return Cell{MarkBad, strings.Join(faults, "; ")}
	case len(good) > 0:
		return Cell{MarkValue, strings.Join(good, ", ")}
	case len(dark) > 0:
		return Cell{MarkDark, dark[0]}
	}
	return Cell{MarkQuiet, strings.Join(quiet[:min(1, len(quiet))], "")}
}

func texts(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" %d texts", n)
}

// span is a duration without what is zero: "24h".
func span(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
