package catalog

import (
	"fmt"
	"math"
	"strings"
)

// candidate is a unit that a name leaves possible, and how large values in it may be.
type candidate struct {
	Unit  string  `yaml:"unit"`  // "" for the canonical unit
	Name  string  `yaml:"name"`  // in sentences
	Least float64 `yaml:"least"` // the smallest value but 0
	Most  float64 `yaml:"most"`  // the largest, 0 for no limit
	Whole bool    `yaml:"whole"` // has no fractions below 1
}

// unitWords are words in the HELP text of a series that name a unit.
type unitWords struct {
	Unit  string   `yaml:"unit"` // as a candidate has it
	Words []string `yaml:"words"`
}

func (c candidate) allows(value float64) bool {
	return value == 0 || value >= c.Least && (c.Most == 0 || value <= c.Most) && !(c.Whole && value < 1)
}

// DecideUnit settles the unit of a source from the HELP text of its series and the largest value that a target showed,
// NaN when there was none. What the values exclude is excluded whatever the text says: people copy texts. It tells why,
// and whether that is certain.
func (c *Catalog) DecideUnit(s Source, help string, observedMax float64) (conversion Conversion, why string, certain bool) {
	if !s.Conversion.Auto {
		return s.Conversion, "the unit of " + s.Series + " is known", true
	}
	all := c.openUnits[s.Conversion.Unit]
	seen := !math.IsNaN(observedMax) && !math.IsInf(observedMax, 0) && observedMax > 0
	possible := all
	if seen {
		possible = nil
		for _, one := range all {
			if one.allows(observedMax) {
				possible = append(possible, one)
			}
		}
	}
	word, said := c.unitIn(help, all)
	switch {
	case len(possible) == 1:
		why = fmt.Sprintf("the largest value, %.10g, can only be in %s", observedMax, possible[0].Name)
		if word != "" && said.Unit != possible[0].Unit {
			why += fmt.Sprintf(", though the HELP text says %q", word)
		}
		return c.chosen(possible[0]), why, true
	case word != "" && len(possible) > 0 && said.among(possible):
		return c.chosen(said), fmt.Sprintf("the HELP text says %q", word), true
	case len(possible) == 0:
		return c.chosen(all[0]), fmt.Sprintf("the largest value, %.10g, fits no unit that %s may have", observedMax, s.Series), false
	case !seen:
		why = "there are no values above 0, and the HELP text names no unit"
	default:
		why = fmt.Sprintf("the largest value, %.10g, fits several units, and the HELP text names none", observedMax)
	}
	return c.chosen(possible[0]), why + "; taken to be in " + possible[0].Name, false
}

// Decide settles the conversion of a source from the values of one target, false when they fit several.
func (c *Catalog) Decide(conversion Conversion, e Evidence) (Conversion, bool) {
	switch conversion.Unit {
	case "", "auto":
		return c.DecideAuto(e)
	}
	decided, _, certain := c.DecideUnit(Source{Conversion: conversion}, "", e.Largest)
	return decided, certain
}

func (c *Catalog) chosen(one candidate) Conversion {
	if known, ok := c.conversions[one.Unit]; ok {
		return Conversion{Unit: one.Unit, Multiplier: known.Multiplier, Divisor: known.Divisor}
	}
	return Conversion{Unit: one.Name, Multiplier: 1, Divisor: 1}
}

func (c candidate) among(list []candidate) bool {
	for _, other := range list {
		if other.Unit == c.Unit {
			return true
		}
	}
	return false
}

// longestHelp is how much of a HELP text is read.
const longestHelp = 500

// unitIn finds the word of a HELP text that names one of the candidates.
func (c *Catalog) unitIn(help string, candidates []candidate) (string, candidate) {
	help = strings.ToLower(help[:min(len(help), longestHelp)])
	for _, list := range c.unitWords {
		for _, one := range candidates {
			if one.Unit != list.Unit {
				continue
			}
			for _, word := range list.Words {
				if strings.Contains(help, word) {
					return word, one
				}
			}
		}
	}
	return "", candidate{}
}
