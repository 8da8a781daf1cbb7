package check

import (
	"context"
	"encoding/json"
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

// Run asks every query of every dashboard, prints a line for each panel, and returns an error when one is not as it should
// be. A panel may be dark when it says why.
func Run(ctx context.Context, c Client, dashboards []Dashboard, out io.Writer) error {
	known, err := catalog.Load()
	if err != nil {
		return fmt.Errorf("read catalogue: %w", err)
	}
	n, bad, dark, seen := 0, 0, 0, asked{}
	for _, kind := range []string{"cluster", "node", "gpu", "mig"} {
		n++
		values, err := c.variables(ctx, kind)
		switch {
		case err != nil:
			bad++
			fmt.Fprintf(out, "BAD   variable %s: %v\n", kind, err)
		case values == 0:
			bad++
			fmt.Fprintf(out, "BAD   variable %s: empty\n", kind)
		default:
			fmt.Fprintf(out, "ok    variable %s: %d values\n", kind, values)
		}
	}
	for _, d := range dashboards {
		for _, p := range d.Panels {
			n++
			r, err := seen.panel(ctx, c, p, known)
			if err != nil {
				return err
			}
			switch r.mark {
			case markBad:
				bad++
			case markDark:
				dark++
			}
			fmt.Fprintf(out, "%-5s %s / %s: %s\n", r.mark, d.Title, p.Title, r.line)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d checks failed", bad, n)
	}
	fmt.Fprintf(out, "%d checks passed, %d panels of them are dark and say why\n", n, dark)
	return nil
}

// The marks of panels.
const (
	markOK   = "ok"
	markDark = "dark" // nothing to show, and the panel says why
	markBad  = "BAD"
)

// result is what became of one panel.
type result struct{ mark, line string }

// asked remembers panels: dashboards share them.
type asked map[string]result

func (a asked) panel(ctx context.Context, c Client, p Panel, known *catalog.Catalog) (result, error) {
	key, err := json.Marshal(p.Targets)
	if err != nil {
		return result{}, fmt.Errorf("write queries of %s: %w", p.Title, err)
	}
	r, before := a[string(key)]
	if !before {
		r = checkPanel(ctx, c, p, known)
		a[string(key)] = r
	}
	return r, nil
}

// checkPanel asks one panel over every range.
func checkPanel(ctx context.Context, c Client, p Panel, known *catalog.Catalog) result {
	var good, faults, dark []string
	for _, last := range ranges() {
		start := time.Now()
		answers, err := c.query(ctx, p.Targets, last)
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
			v := judge(t, a, known, p.Empty)
			for _, f := range v.faults {
				faults = append(faults, fmt.Sprintf("over %s: %s: %s", span(last), ref, f))
			}
			if len(v.faults) > 0 {
				faults = append(faults, v.notices...)
			}
			if v.dark != "" {
				dark = append(dark, fmt.Sprintf("over %s: %s: %s", span(last), ref, shorten(v.dark)))
			}
			sum.series, sum.values, sum.told, sum.unit = sum.series+v.series, sum.values+v.values, sum.told+v.told, v.unit
		}
		good = append(good, fmt.Sprintf("%s %d series %d values%s %s in %d ms", span(last), sum.series, sum.values, texts(sum.told), sum.unit, time.Since(start).Milliseconds()))
	}
	switch {
	case len(faults) > 0:
		return result{markBad, strings.Join(faults, "; ")}
	case len(dark) > 0:
		return result{markDark, strings.Join(dark, "; ")}
	}
	return result{markOK, strings.Join(good, ", ")}
}

func texts(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" %d texts", n)
}

// shorten keeps the line of a panel a line.
func shorten(text string) string {
	const most = 160
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// span is a duration without what is zero: "24h".
func span(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
}
