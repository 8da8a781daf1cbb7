package catalog

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

//go:embed metrics.yaml
var metricsYAML []byte

//go:embed dialects.yaml
var dialectsYAML []byte

// Load reads the built-in catalogue. An error means that the build itself is broken.
func Load() (*Catalog, error) { return load(metricsYAML, dialectsYAML) }

// metricRow and the types below are the files' shape; see the comments there for the meaning.
type metricRow struct {
	Name          string   `yaml:"name"`
	Unit          gpu.Unit `yaml:"unit"`
	Kind          Kind     `yaml:"kind"`
	Family        string   `yaml:"family"`
	Help          string   `yaml:"help"`
	Caveat        string   `yaml:"caveat"`
	NvidiaSMI     string   `yaml:"nvidia_smi"`
	Aggregations  []string `yaml:"aggregations"`
	Instance      bool     `yaml:"instance"`
	Agent         *bool    `yaml:"agent"`
	Max           float64  `yaml:"max"`
	Signed        bool     `yaml:"signed"`
	SumOver       string   `yaml:"sum_over"`
	SumOf         []string `yaml:"sum_of"`
	MIGSubstitute string   `yaml:"mig_substitute"`
	NoMIG         bool     `yaml:"no_mig"`
	Latched       bool     `yaml:"latched"`
	Witness       string   `yaml:"witness"`
	Pulse         string   `yaml:"pulse"`
	Scale         struct {
		Multiplier uint64 `yaml:"multiplier"`
		Divisor    uint64 `yaml:"divisor"`
	} `yaml:"scale"`
	Sources []struct {
		Dialect Dialect `yaml:"dialect"`
		Series  string  `yaml:"series"`
		Unit    string  `yaml:"unit"`
	} `yaml:"sources"`
}

type labelRules struct {
	Node       []string `yaml:"node"`
	UUID       []string `yaml:"uuid"`
	Index      []string `yaml:"index"`
	Model      []string `yaml:"model"`
	MIGID      []string `yaml:"mig_id"`
	MIGProfile []string `yaml:"mig_profile"`
	MIGUUID    []string `yaml:"mig_uuid"`
	PCIBusID   []string `yaml:"pci_bus_id"`
	Driver     []string `yaml:"driver"`
	MIGEnabled []string `yaml:"mig_enabled"`
	Job        []string `yaml:"job"`
	Owner      []struct {
		Pod       string `yaml:"pod"`
		Namespace string `yaml:"namespace"`
		Container string `yaml:"container"`
	} `yaml:"owner"`
}

type interval struct {
	From float64 `yaml:"from"`
	To   float64 `yaml:"to"`
}

type dialectFile struct {
	Dialects     []Dialect  `yaml:"dialects"`
	Info         []Info     `yaml:"info"`
	Labels       labelRules `yaml:"labels"`
	UselessHosts []string   `yaml:"useless_hosts"`
	ExporterPods []string   `yaml:"exporter_pods"`
	ExporterJobs []string   `yaml:"exporter_jobs"`
	ExporterRuns []string   `yaml:"exporter_containers"`
	Sentinels    []interval `yaml:"sentinels"`
	Filters      []Filter   `yaml:"filters"`
	Identity     []string   `yaml:"identity"`
	Presence     []string   `yaml:"presence"`
	Owners       []Dialect  `yaml:"owners"`
	MIGModes     []string   `yaml:"mig_modes"`
	Legacy       []string   `yaml:"legacy_labels"`
	Conversions  map[string]struct {
		Multiplier float64  `yaml:"multiplier"`
		Divisor    float64  `yaml:"divisor"`
		To         gpu.Unit `yaml:"to"`
	} `yaml:"conversions"`
}

func load(metrics, dialects []byte) (*Catalog, error) {
	var rows struct {
		Metrics []metricRow `yaml:"metrics"`
	}
	if err := decodeStrict(metrics, &rows); err != nil {
		return nil, fmt.Errorf("read metrics.yaml: %w", err)
	}
	var rules dialectFile
	if err := decodeStrict(dialects, &rules); err != nil {
		return nil, fmt.Errorf("read dialects.yaml: %w", err)
	}
	c := &Catalog{
		byName: make(map[string]int, len(rows.Metrics)), bySeries: map[string][]Source{}, rank: map[Dialect]int{},
		info: rules.Info, labels: rules.Labels, sentinels: rules.Sentinels,
		filters: rules.Filters, identity: rules.Identity, presence: rules.Presence, owners: rules.Owners,
		migModes: rules.MIGModes, legacy: rules.Legacy,
	}
	if len(c.filters) == 0 || c.filters[len(c.filters)-1].Mark != "" {
		return nil, errors.New("read dialects.yaml: filters: the last one must be for all other series, with an empty mark")
	}
	for i, d := range rules.Dialects {
		c.rank[d] = i
	}
	var err error
	if c.useless, err = anyOf(rules.UselessHosts); err != nil {
		return nil, fmt.Errorf("read dialects.yaml: useless_hosts: %w", err)
	}
	if c.exporters, err = anyOf(rules.ExporterPods); err != nil {
		return nil, fmt.Errorf("read dialects.yaml: exporter_pods: %w", err)
	}
	if c.exporterContainers, err = anyOf(rules.ExporterRuns); err != nil {
		return nil, fmt.Errorf("read dialects.yaml: exporter_containers: %w", err)
	}
	if c.exporterJobs, err = anyOf(rules.ExporterJobs); err != nil {
		return nil, fmt.Errorf("read dialects.yaml: exporter_jobs: %w", err)
	}
	percent := rules.Conversions["percent"]
	c.percent = Conversion{Unit: "percent", Multiplier: percent.Multiplier, Divisor: percent.Divisor}
	for _, row := range rows.Metrics {
		if err := c.add(row, rules); err != nil {
			return nil, fmt.Errorf("read metrics.yaml: %s: %w", row.Name, err)
		}
	}
	return c, c.check()
}

func decodeStrict(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}

func anyOf(patterns []string) (*regexp.Regexp, error) {
	return regexp.Compile(`(?i)^(?:` + strings.Join(patterns, "|") + `)$`)
}

func (c *Catalog) add(row metricRow, rules dialectFile) error {
	if _, dup := c.byName[row.Name]; dup {
		return errors.New("listed twice")
	}
	m := Metric{
		Name: row.Name, Unit: row.Unit, Kind: row.Kind, Family: row.Family, Help: row.Help, Caveat: row.Caveat,
		NvidiaSMI: row.NvidiaSMI, Aggregations: row.Aggregations, Multiplier: row.Scale.Multiplier, Divisor: row.Scale.Divisor,
		PerInstance: row.Instance, Agent: row.Agent == nil || *row.Agent, Max: row.Max, Signed: row.Signed, SumOver: row.SumOver,
		SumOf: row.SumOf, MIGSubstitute: row.MIGSubstitute, NoMIG: row.NoMIG, Latched: row.Latched, Witness: row.Witness, Pulse: row.Pulse,
	}
	if m.Agent {
		m.Sources = append(m.Sources, Source{
			Metric: m.Name, Dialect: Warpwatch, Series: m.Name, Conversion: Conversion{Multiplier: 1, Divisor: 1},
		})
	}
	for _, s := range row.Sources {
		conversion := Conversion{Unit: s.Unit, Multiplier: 1, Divisor: 1}
		if s.Unit != "" {
			known, ok := rules.Conversions[s.Unit]
			if !ok || known.To != m.Unit {
				return fmt.Errorf("source %s: unit %q does not convert to %s", s.Series, s.Unit, m.Unit)
			}
			conversion.Multiplier, conversion.Divisor, conversion.Auto = known.Multiplier, known.Divisor, s.Unit == "auto"
		}
		m.Sources = append(m.Sources, Source{Metric: m.Name, Dialect: s.Dialect, Series: s.Series, Conversion: conversion})
	}
	slices.SortStableFunc(m.Sources, func(a, b Source) int { return c.rank[a.Dialect] - c.rank[b.Dialect] })
	for i := range m.Sources {
		m.Sources[i].Rank = i
		key := strings.ToLower(m.Sources[i].Series)
		c.bySeries[key] = append(c.bySeries[key], m.Sources[i])
	}
	c.byName[m.Name] = len(c.metrics)
	c.metrics = append(c.metrics, m)
	return nil
}

var (
	validName     = regexp.MustCompile(`^gpu_[a-z0-9]+(_[a-z0-9]+)*$`)
	knownFamilies = []string{
		"utilization", "profiling", "memory", "power", "temperature", "clocks", "throttling", "interconnect", "errors", "cooling", "configuration",
	}
	knownAggregations = []string{"avg", "max", "min", "sum"}
)

// check finds rows that contradict themselves or each other.
func (c *Catalog) check() error {
	for _, m := range c.metrics {
		if err := c.checkMetric(m); err != nil {
			return fmt.Errorf("read metrics.yaml: %s: %w", m.Name, err)
		}
	}
	for series, sources := range c.bySeries {
		if len(sources) > 1 {
			return fmt.Errorf("read metrics.yaml: series %s is listed as a source of both %s and %s",
				series, sources[0].Metric, sources[1].Metric)
		}
	}
	return nil
}

func (c *Catalog) checkMetric(m Metric) error {
	switch {
	case !validName.MatchString(m.Name):
		return errors.New("name is not gpu_ and lower-case words")
	case !m.Unit.Valid():
		return fmt.Errorf("unit %q is not known", m.Unit)
	case m.Kind != Gauge && m.Kind != Counter:
		return fmt.Errorf("kind %q is neither gauge nor counter", m.Kind)
	case !slices.Contains(knownFamilies, m.Family):
		return fmt.Errorf("family %q is not one of %s", m.Family, strings.Join(knownFamilies, ", "))
	case m.Help == "" || m.Caveat == "" || m.NvidiaSMI == "":
		return errors.New("help, caveat and nvidia_smi must be given")
	case len(m.Aggregations) == 0:
		return errors.New("aggregations must be given")
	case m.Multiplier == 0 || m.Divisor == 0:
		return errors.New("scale must be given")
	case !strings.HasSuffix(m.Name, suffix(m)):
		return fmt.Errorf("name does not end in %s", suffix(m))
	}
	for _, fn := range m.Aggregations {
		if !slices.Contains(knownAggregations, fn) {
			return fmt.Errorf("aggregation %q is not one of %s", fn, strings.Join(knownAggregations, ", "))
		}
	}
	for _, s := range m.Sources {
		if _, ok := c.rank[s.Dialect]; !ok {
			return fmt.Errorf("source %s: dialect %q is not known", s.Series, s.Dialect)
		}
	}
	for _, name := range append(slices.Clone(m.SumOf), m.MIGSubstitute) {
		if name == "" {
			continue
		}
		other, ok := c.Metric(name)
		if !ok || other.Unit != m.Unit || other.Kind != m.Kind {
			return fmt.Errorf("%s is not a %s in %s", name, m.Kind, m.Unit)
		}
	}
	for _, name := range []string{m.Witness, m.Pulse} {
		if _, ok := c.Metric(name); name != "" && !ok {
			return fmt.Errorf("witness or pulse %s is not known", name)
		}
	}
	return nil
}

// suffix is how a metric's name must end, by the naming rules of Prometheus; counts and codes are named freely.
func suffix(m Metric) string {
	text := ""
	if m.Unit != gpu.Count && m.Unit != gpu.Code {
		text = "_" + string(m.Unit)
	}
	if m.Kind == Counter {
		text += "_total"
	}
	return text
}
