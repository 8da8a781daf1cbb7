// Package rules is the set of recording and alert rules that Warpwatch ships, and the form of it for one exporter: the same rules
// without what only others write.
package rules

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Kind says what rules are for.
type Kind string

// The kinds of rules.
const (
	All        Kind = "all"
	Recording  Kind = "recording"
	Alerts     Kind = "alerts"     // on the health of GPUs, nodes and their data
	Efficiency Kind = "efficiency" // alerts on what is held and not used well
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{All, Recording, Alerts, Efficiency} }

// Rule is a recording or an alert rule of Prometheus.
type Rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// Kind is what the rule is for, never All.
func (r Rule) Kind() Kind {
	switch {
	case r.Record != "":
		return Recording
	case r.Labels["axis"] == "efficiency":
		return Efficiency
	}
	return Alerts
}

// Group are rules that are evaluated one after the other.
type Group struct {
	Name     string `yaml:"name"`
	Interval string `yaml:"interval,omitempty"`
	Rules    []Rule `yaml:"rules"`
}

//go:embed *.rules.yaml
var files embed.FS

// order is that of reading: what is recorded comes before what looks at it.
func order() []string {
	return []string{"rollup", "jobs", "devices", "alerts", "alerts-efficiency"}
}

// Shipped are all rules of this folder, for every exporter that they know.
func Shipped() ([]Group, error) {
	var all []Group
	for _, name := range order() {
		text, err := files.ReadFile(name + ".rules.yaml")
		if err != nil {
			return nil, err
		}
		groups, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("read %s.rules.yaml: %w", name, err)
		}
		all = append(all, groups...)
	}
	return all, nil
}

func parse(text []byte) ([]Group, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var file struct {
		Groups []Group `yaml:"groups"`
	}
	if err := decoder.Decode(&file); err != nil {
		return nil, err
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one document")
	}
	return file.Groups, nil
}

// Of are the rules of one kind. Groups without any are left out.
func Of(groups []Group, kind Kind) []Group {
	return filter(groups, func(r Rule) bool { return kind == All || r.Kind() == kind })
}

// filter keeps rules. The groups given are not changed.
func filter(groups []Group, keep func(Rule) bool) []Group {
	var kept []Group
	for _, g := range groups {
		var rules []Rule
		for _, r := range g.Rules {
			if keep(r) {
				rules = append(rules, r)
			}
		}
		if len(rules) > 0 {
			g.Rules = rules
			kept = append(kept, g)
		}
	}
	return kept
}

// Shadow marks alerts with mode="shadow", which the sample of Alertmanager sends to nobody. The groups given are not changed.
func Shadow(groups []Group) []Group {
	marked := make([]Group, len(groups))
	for i, g := range groups {
		rules := make([]Rule, len(g.Rules))
		for j, r := range g.Rules {
			if r.Alert != "" {
				labels := map[string]string{"mode": "shadow"}
				for name, value := range r.Labels {
					labels[name] = value
				}
				r.Labels = labels
			}
			rules[j] = r
		}
		g.Rules = rules
		marked[i] = g
	}
	return marked
}
