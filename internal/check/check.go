package check

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// ranges are the time ranges that every panel is asked for: one that is mostly live, one that the scrape interval
// covers, and one that only the past covers.
func ranges() []time.Duration {
	return []time.Duration{15 * time.Minute, time.Hour, 24 * time.Hour}
}

// Run asks every query of every dashboard, prints a line for each panel, and returns an error when one is not as it
// should be.
func Run(ctx context.Context, c Client, dashboards []Dashboard, out io.Writer) error {
	known, err := catalog.Load()
	if err != nil {
		return fmt.Errorf("read catalogue: %w", err)
	}
	asked, bad := 0, 0
	for _, kind := range []string{"cluster", "node", "gpu", "mig"} {
		asked++
		n, err := c.variables(ctx, kind)
		switch {
		case err != nil:
			bad++
			fmt.Fprintf(out, "BAD   variable %s: %v\n", kind, err)
		case n == 0:
			bad++
			fmt.Fprintf(out, "BAD   variable %s: empty\n", kind)
		default:
			fmt.Fprintf(out, "ok    variable %s: %d values\n", kind, n)
		}
	}
	for _, d := range dashboards {
		for _, p := range d.Panels {
			asked++
			line, ok := checkPanel(ctx, c, p, known)
			if !ok {
				bad++
			}
			fmt.Fprintf(out, "%-5s %s / %s: %s\n", mark(ok), d.Title, p.Title, line)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d checks failed", bad, asked)
	}
	fmt.Fprintf(out, "%d checks passed\n", asked)
	return nil
}

func mark(ok bool) string {
	if ok {
		return "ok"
	}
	return "BAD"
}

// checkPanel asks one panel over every range.
func checkPanel(ctx context.Context, c Client, p Panel, known *catalog.Catalog) (line string, ok bool) {
	var good, faults []string
	for _, last := range ranges() {
		start := time.Now()
		answers, err := c.query(ctx, p.Targets, last)
		if err != nil {
			faults = append(faults, fmt.Sprintf("over %s: %v", span(last), err))
			continue
		}
		series, values, unit := 0, 0, ""
		for _, t := range p.Targets {
			ref, _ := t["refId"].(string)
			a, answered := answers[ref]
			if !answered {
				faults = append(faults, fmt.Sprintf("over %s: %s has no answer", span(last), ref))
				continue
			}
			v := judge(t, a, known)
			for _, f := range v.faults {
				faults = append(faults, fmt.Sprintf("over %s: %s: %s", span(last), ref, f))
			}
			if len(v.faults) > 0 {
				faults = append(faults, v.notices...)
			}
			series, values, unit = series+v.series, values+v.values, v.unit
		}
		good = append(good, fmt.Sprintf("%s %d series %d values %s in %d ms", span(last), series, values, unit, time.Since(start).Milliseconds()))
	}
	if len(faults) > 0 {
		return strings.Join(faults, "; "), false
	}
	return strings.Join(good, ", "), true
}

// span is a duration without what is zero: "24h".
func span(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
