package history

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// decision is what the values of one series at one target are taken to be in.
type decision struct {
	series     string // as the server has it
	conversion catalog.Conversion
	why        string
	certain    bool
}

// units are the conversions of series whose name does not tell their unit.
type units struct {
	target func(labels labelSet, series string) target
	known  map[target]decision
}

// of is the conversion of a series.
func (u units) of(w *want, labels labelSet) catalog.Conversion {
	if w.source.Conversion.Auto {
		if known, ok := u.known[u.target(labels, strings.ToLower(w.source.Series))]; ok {
			return known.conversion
		}
	}
	return w.source.Conversion
}

// notices tell, for each series, where its unit could only be guessed.
func (u units) notices() []gpu.Notice {
	where, why := map[string][]string{}, map[string]string{}
	for t, d := range u.known {
		if !d.certain {
			where[d.series] = append(where[d.series], t.name())
			why[d.series] = max(why[d.series], d.why)
		}
	}
	var notices []gpu.Notice
	for _, series := range sortedNames(where) {
		places := where[series]
		slices.Sort(places)
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"The unit of %s at %s is not certain: %s. A query of the type coverage says more; a dialect in the data source's settings can say which it is.",
			series, listed(slices.Compact(places)), why[series])})
	}
	return notices
}

func sortedNames[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// name is how people know a target.
func (t target) name() string {
	switch {
	case t.instance == "" && t.host == "":
		return "an exporter without a name"
	case t.instance == "" || strings.HasPrefix(t.instance, t.host):
		return max(t.instance, t.host)
	case t.host == "":
		return t.instance
	}
	return t.instance + " (" + t.host + ")"
}

// isShare reports whether a unit is either per cent or a ratio.
func isShare(c catalog.Conversion) bool { return c.Unit == "" || c.Unit == "auto" }

// undecided is a series at a target whose unit is to be decided, with what was seen of it.
type undecided struct {
	name     string // of the series, as the server has it
	source   catalog.Source
	rates    bool // what was seen are rates or quantiles, which say nothing about the unit
	evidence catalog.Evidence
}

// largest is the value that the unit is decided by.
func (o undecided) largest() float64 {
	if isShare(o.source.Conversion) {
		return o.evidence.Max
	}
	return o.evidence.Largest
}

// units decides for each target the unit of what the catalogue does not know it of: from the values of this answer, where
// these fit several from the largest value of the past hours, and then from what the exporter declares. What the values
// exclude is excluded whatever was declared.
func (h *History) units(ctx context.Context, e *endpoint, p plan, a *answer) (units, error) {
	found := map[target]*undecided{}
	for _, s := range a.Series {
		w, ok := p.find(s.Labels)
		if !ok || !w.source.Conversion.Auto {
			continue
		}
		t := h.targetOf(s.Labels, strings.ToLower(w.source.Series))
		if found[t] == nil {
			found[t] = &undecided{name: p.nameOf(s.Labels), source: w.source, rates: p.metric.Kind != catalog.Gauge}
		}
		found[t].evidence.Legacy = found[t].evidence.Legacy || h.catalog.IsLegacy(s.Labels)
		for _, v := range s.Values {
			// The mean of whole per cents is a fraction too.
			if !p.over.averaged() || v > catalog.MaxPlausibleRatio {
				h.catalog.Observe(&found[t].evidence, v)
			}
		}
	}
	known, err := h.decide(ctx, e, found)
	return units{target: h.targetOf, known: known}, err
}

// decide settles what was found.
func (h *History) decide(ctx context.Context, e *endpoint, found map[target]*undecided) (map[target]decision, error) {
	known := make(map[target]decision, len(found))
	unsure, levels := map[string]catalog.Source{}, map[string]catalog.Source{}
	settle := func(help func(target) (string, error)) error {
		clear(unsure)
		clear(levels)
		for t, o := range found {
			if known[t].certain {
				continue
			}
			text, err := help(t)
			if err != nil {
				return err
			}
			known[t] = h.decision(*o, text)
			if !known[t].certain {
				unsure[o.name] = o.source
				if !o.rates {
					levels[o.name] = o.source
				}
			}
		}
		return nil
	}
	silent := func(target) (string, error) { return "", nil }
	if err := settle(silent); err != nil || len(unsure) == 0 {
		return known, err
	}
	if len(levels) > 0 {
		past, err := h.pastMaximum(ctx, e, levels)
		if err != nil && ctx.Err() != nil {
			return known, err
		}
		// What is heavy for the server, or not allowed, leaves the unit in doubt, which is said.
		for t, largest := range past {
			if o, ok := found[t]; ok {
				h.catalog.Observe(&o.evidence, largest)
			}
		}
		if err := settle(silent); err != nil || len(unsure) == 0 {
			return known, err
		}
	}
	return known, settle(func(t target) (string, error) { return h.help(ctx, e, t, found[t].name) })
}

// decision is what one series at one target is in.
func (h *History) decision(o undecided, help string) decision {
	if o.rates {
		conversion, why, certain := h.catalog.DecideUnit(o.source, help, math.NaN())
		return decision{o.name, conversion, why, certain}
	}
	conversion, certain := h.catalog.Decide(o.source.Conversion, o.evidence)
	largest := o.largest()
	decided, why, sure := h.catalog.DecideUnit(o.source, help, largest)
	share := isShare(o.source.Conversion)
	switch {
	case certain && share && o.evidence.Fraction > 0 && o.evidence.Fraction <= catalog.MaxPlausibleRatio:
		return decision{o.name, conversion, fmt.Sprintf("values like %.4g are fractions, so they are a ratio", o.evidence.Fraction), true}
	case certain:
		return decision{o.name, conversion, why, true}
	case sure:
		return decision{o.name, decided, why, true}
	case share && o.evidence.Legacy:
		return decision{o.name, conversion, "the labels are those of exporters that write per cent", true}
	case largest == 0:
		return decision{o.name, conversion, "it is 0, which is the same in every unit", true}
	}
	return decision{o.name, conversion, why, false}
}

// help is what a target declares a series to be, "" when that is not known.
func (h *History) help(ctx context.Context, e *endpoint, t target, series string) (string, error) {
	known, err := h.metadata(ctx, e)
	if err != nil {
		return "", ctx.Err() // not knowing is no failure
	}
	meanings := known.of(series)
	same := len(meanings) > 0 && !slices.ContainsFunc(meanings, func(m meaning) bool { return m.text() != meanings[0].text() })
	if same || len(meanings) == 0 {
		if len(meanings) == 0 {
			return "", nil
		}
		return meanings[0].text(), nil
	}
	targets, err := h.targetMetadata(ctx, e, series)
	if err != nil {
		return "", ctx.Err()
	}
	for _, d := range targets {
		if d.Target.Instance == t.instance && (t.job == "" || d.Target.Job == t.job) {
			return d.text(), nil
		}
	}
	return "", nil
}
