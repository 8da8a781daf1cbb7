package health

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Options are what a query may say.
type Options struct {
	// Least is the lowest severity that is answered with: "critical", "warning", "unknown", "info", "ok" or "" for all. What is
	// not known stands between "warning" and "info".
	Least  string          `json:"least,omitempty"`
	Limits json.RawMessage `json:"limits,omitempty"` // Limits in part; what is not there is that of the settings
}

// Resolve puts the limits of a query over those of the settings.
func (o Options) Resolve(base Limits) (Limits, error) {
	if _, err := severityNamed(o.Least); err != nil {
		return base, fmt.Errorf("least: %w", err)
	}
	limits, err := base.Merge(o.Limits)
	if err != nil {
		return base, fmt.Errorf("limits: %w", err)
	}
	return limits, nil
}

func severityNamed(name string) (insight.Severity, error) {
	for _, s := range []insight.Severity{insight.OK, insight.Unknown, insight.Info, insight.Warning, insight.Critical} {
		if s.String() == name || (name == "" && s == insight.OK) {
			return s, nil
		}
	}
	return insight.OK, fmt.Errorf("%q must be critical, warning, unknown, info, ok or nothing", name)
}

// Merge puts limits that are given in part over these, which it does not change.
func (l Limits) Merge(part json.RawMessage) (Limits, error) {
	merged := l
	merged.Models = nil // what is given in part is read apart: a model's limits come together field by field
	if len(part) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(part))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&merged); err != nil {
			return l, fmt.Errorf("read limits: %w", err)
		}
	}
	models := maps.Clone(l.Models)
	for name, over := range merged.Models {
		if models == nil {
			models = make(map[string]ModelLimits)
		}
		m := models[name]
		for to, from := range map[**float64]*float64{
			&m.MarginCelsius: over.MarginCelsius, &m.MarginCriticalCelsius: over.MarginCriticalCelsius,
			&m.MemoryWarnCelsius: over.MemoryWarnCelsius, &m.MemoryCriticalCelsius: over.MemoryCriticalCelsius, &m.NVLinks: over.NVLinks,
		} {
			if from != nil {
				*to = from
			}
		}
		models[name] = m
	}
	merged.Models = models
	return merged, merged.Validate()
}

// Ranges are how far a grid, and events, should go back for full answers.
func (l Limits) Ranges() (grid, events time.Duration) {
	longest := max(60+l.CorrectedMinutes, 60+l.PCIeReplayMinutes, 10+l.ThermalShareMinutes, 2*l.MemoryMinutes, l.StaleMinutes, l.ProfilingLostMinutes,
		l.SoftwareThermalMinutes, l.HardwareThermalMinutes, l.NVLinkErrorMinutes, l.MissingMinutes)
	return minutes(longest), minutes(l.XIDHours * 60)
}

// AtLeast is the result without GPUs and nodes that are better than the severity that Options name. Incidents stay.
func (r Result) AtLeast(o Options) Result {
	least, err := severityNamed(o.Least)
	if err != nil || least == insight.OK {
		return r
	}
	better := func(s insight.Severity) bool { return s.Rank() < least.Rank() }
	r.Verdicts = slices.DeleteFunc(slices.Clone(r.Verdicts), func(v Verdict) bool { return better(v.Severity) })
	r.Nodes = slices.DeleteFunc(slices.Clone(r.Nodes), func(n NodeVerdict) bool { return better(n.Severity) })
	return r
}
