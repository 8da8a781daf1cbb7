package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// add takes a row of the files into the catalogue.
func (c *Catalog) add(row metricRow) error {
	if _, dup := c.byName[row.Name]; dup {
		return errors.New("listed twice")
	}
	m := Metric{
		Name: row.Name, Unit: row.Unit, Kind: row.Kind, Subject: row.Subject, Family: row.Family, Help: row.Help, Caveat: row.Caveat,
		NvidiaSMI: row.NvidiaSMI, Aggregations: row.Aggregations, Multiplier: row.Scale.Multiplier, Divisor: row.Scale.Divisor,
		PerInstance: row.Instance, Agent: row.Subject == SubjectDevice && (row.Agent == nil || *row.Agent), Group: row.Group,
		Max: row.Max, Signed: row.Signed, SumOver: row.SumOver, SumOf: row.SumOf, MIGSubstitute: row.MIGSubstitute,
		NoMIG: row.NoMIG, Latched: row.Latched, Witness: row.Witness, Pulse: row.Pulse,
	}
	m.Profile = c.agentGroups[m.Group]
	if m.Subject == SubjectWorkload && m.Multiplier == 0 && m.Divisor == 0 {
		m.Multiplier, m.Divisor = 1, 1
	}
	if m.Agent {
		m.Sources = append(m.Sources, Source{Metric: m.Name, Dialect: Warpwatch, Series: m.Name, Conversion: asIs})
	}
	for _, row := range row.Sources {
		sources, err := c.expand(m, row)
		if err != nil {
			return fmt.Errorf("source %s: %w", row.Series, err)
		}
		m.Sources = append(m.Sources, sources...)
	}
	c.order(&m)
	c.byName[m.Name] = len(c.metrics)
	c.metrics = append(c.metrics, m)
	return nil
}

// order sorts a metric's sources by preference.
func (c *Catalog) order(m *Metric) {
	slices.SortStableFunc(m.Sources, func(a, b Source) int { return c.rank[a.Dialect] - c.rank[b.Dialect] })
	for i := range m.Sources {
		m.Sources[i].Rank = i
	}
}

// index makes the sources of all metrics findable by the names of their series.
func (c *Catalog) index() {
	for _, m := range c.metrics {
		for _, s := range m.Sources {
			lower := strings.ToLower(s.Series)
			c.bySeries[lower] = append(c.bySeries[lower], s)
		}
	}
	for _, m := range c.metrics {
		for _, s := range m.Sources {
			c.exact[s.Series] = c.bySeries[strings.ToLower(s.Series)]
		}
	}
}

// asIs is the conversion of what is in the canonical unit already.
var asIs = Conversion{Multiplier: 1, Divisor: 1}

// conversion finds a unit of sources that can be turned into a canonical one.
func (c *Catalog) conversion(name string, to gpu.Unit) (Conversion, bool) {
	if name == "" {
		return asIs, true
	}
	known, ok := c.conversions[name]
	if !ok || known.To != to {
		return Conversion{}, false
	}
	_, open := c.openUnits[name]
	return Conversion{Unit: name, Multiplier: known.Multiplier, Divisor: known.Divisor, Auto: open}, true
}

// expand makes the sources that one line of the files stands for.
func (c *Catalog) expand(m Metric, row sourceRow) ([]Source, error) {
	conversion, ok := c.conversion(row.Unit, m.Unit)
	if !ok {
		return nil, fmt.Errorf("unit %q does not convert to %s", row.Unit, m.Unit)
	}
	source := Source{Metric: m.Name, Dialect: row.Dialect, Conversion: conversion, Generation: row.Generation, Part: row.Part}
	if row.Part != "" && m.SumOver == "" || row.Part != "" && row.Parts != "" {
		return nil, errors.New("part is of the label that sum_over names, and either one or several")
	}
	if len(row.Only) > 0 {
		conditions := make([]Condition, 0, len(row.Only))
		for _, label := range slices.Sorted(maps.Keys(row.Only)) {
			conditions = append(conditions, Condition{Label: label, Values: row.Only[label]})
		}
		source.only = &conditions
	}
	if row.Parts == "" {
		return spell(source, m.Kind, row.Series, row.Suffix), nil
	}
	from, to, _ := strings.Cut(row.Parts, "-")
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err := errors.Join(err1, err2); err != nil || m.SumOver == "" || !strings.Contains(row.Series, "%") {
		return nil, fmt.Errorf("parts %q is not like 0-17, with a %% in the series and a label in sum_over", row.Parts)
	}
	var all []Source
	for part := first; part <= last; part++ {
		source.Part = strconv.Itoa(part)
		all = append(all, spell(source, m.Kind, strings.ReplaceAll(row.Series, "%", source.Part), row.Suffix)...)
	}
	return all, nil
}

// spell gives a source all the names that its series may have in Prometheus. What comes by OpenTelemetry may or may not
// have its dots replaced and its unit appended, and colons do not pass some pipelines.
func spell(source Source, kind Kind, series string, suffix *string) []Source {
	names := []string{series}
	if plain := underscored(series); suffix != nil {
		names = []string{plain, series}
		if *suffix != "" {
			names = []string{plain + "_" + *suffix, series + "_" + *suffix, plain, series}
		}
	}
	if plain := plainName(series); plain != underscored(series) {
		names = append(names, plain)
	}
	all := make([]Source, 0, len(names))
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		source.Series = name
		if kind == Histogram {
			source.Series += "_bucket"
		}
		all = append(all, source)
	}
	return all
}

// plainName has no characters that some pipelines replace: mfu(%) is mfu___ there, and vllm:prompt_tokens_total has no colon.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

// underscored is a name of OpenTelemetry as Prometheus writes it by default.
func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }
