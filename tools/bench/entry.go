package main

import (
	_ "embed"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed benchmarks.yaml
var benchmarks []byte

// entry is a benchmark with a goal.
type entry struct {
	Name      string  `yaml:"name"`
	About     string  `yaml:"about"`
	Dir       string  `yaml:"dir"` // of the package's module, "" for the product's
	Package   string  `yaml:"package"`
	Run       string  `yaml:"run"`
	Count     int     `yaml:"count"`
	Benchtime string  `yaml:"benchtime"`
	Ours      side    `yaml:"ours"`
	Rival     side    `yaml:"rival"`
	Ratio     string  `yaml:"ratio"`
	Goal      float64 `yaml:"goal"`
}

// side is one of the two values that are compared: a benchmark's, or a fixed one.
type side struct {
	What      string  `yaml:"what"`
	Benchmark string  `yaml:"benchmark"`
	Unit      string  `yaml:"unit"`
	Value     float64 `yaml:"value"`
}

// rooms are what names of benchmarks start with.
const rooms = "history live agent insight panel"

func readEntries() ([]entry, error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(benchmarks)))
	decoder.KnownFields(true)
	var entries []entry
	if err := decoder.Decode(&entries); err != nil {
		return nil, fmt.Errorf("read benchmarks.yaml: %w", err)
	}
	for _, e := range entries {
		room, _, _ := strings.Cut(e.Name, "-")
		switch {
		case !strings.Contains(" "+rooms+" ", " "+room+" "):
			return nil, fmt.Errorf("benchmark %q must be named after one of: %s", e.Name, rooms)
		case e.Ratio != "faster" && e.Ratio != "share":
			return nil, fmt.Errorf("benchmark %s: ratio %q is neither faster nor share", e.Name, e.Ratio)
		case e.Ours.Benchmark == "" || e.Ours.Unit == "" || e.Rival.What == "" || (e.Rival.Benchmark == "") == (e.Rival.Value == 0):
			return nil, fmt.Errorf("benchmark %s: ours needs a benchmark and a unit, rival needs what and either a benchmark or a value", e.Name)
		case e.Goal <= 0 || e.Count <= 0:
			return nil, fmt.Errorf("benchmark %s needs a goal and a count", e.Name)
		}
	}
	return entries, nil
}
