package catalog

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

//go:embed metrics.yaml
var metricsYAML []byte

//go:embed serve.yaml
var serveYAML []byte

//go:embed train.yaml
var trainYAML []byte

//go:embed dialects.yaml
var dialectsYAML []byte

// Load is the built-in catalogue. It is read once, as it never changes. An error means that the build itself is broken.
func Load() (*Catalog, error) { return builtIn() }

var builtIn = sync.OnceValues(func() (*Catalog, error) { return load(dialectsYAML, metricsYAML, serveYAML, trainYAML) })

// metricRow and the types below are the files' shape; see the comments there for the meaning.
type metricRow struct {
	Name          string   `yaml:"name"`
	Unit          gpu.Unit `yaml:"unit"`
	Kind          Kind     `yaml:"kind"`
	Subject       Subject  `yaml:"subject"`
	Family        string   `yaml:"family"`
	Group         string   `yaml:"group"`
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
	Sources []sourceRow `yaml:"sources"`
}

type sourceRow struct {
	Dialect    Dialect             `yaml:"dialect"`
	Series     string              `yaml:"series"`
	Unit       string              `yaml:"unit"`
	Generation string              `yaml:"generation"`
	Part       string              `yaml:"part"`
	Parts      string              `yaml:"parts"`
	Suffix     *string             `yaml:"suffix"`
	Only       map[string][]string `yaml:"only"`
}

type labelRules struct {
	Node       []string      `yaml:"node"`
	UUID       []string      `yaml:"uuid"`
	Index      []string      `yaml:"index"`
	Model      []string      `yaml:"model"`
	MIGID      []string      `yaml:"mig_id"`
	MIGProfile []string      `yaml:"mig_profile"`
	MIGUUID    []string      `yaml:"mig_uuid"`
	PCIBusID   []string      `yaml:"pci_bus_id"`
	Driver     []string      `yaml:"driver"`
	MIGEnabled []string      `yaml:"mig_enabled"`
	Job        []string      `yaml:"job"`
	Owner      []ownerLabels `yaml:"owner"`
}

// ownerLabels are the labels of one way in which series name a workload.
type ownerLabels struct {
	Pod       string `yaml:"pod"`
	Namespace string `yaml:"namespace"`
	Container string `yaml:"container"`
}

// workloadLabels are where series of workloads say what they are of.
type workloadLabels struct {
	Cluster   []string `yaml:"cluster"`
	Node      []string `yaml:"node"`
	Namespace []string `yaml:"namespace"`
	Pod       []string `yaml:"pod"`
	Job       []string `yaml:"job"`
	Model     []string `yaml:"model"`
	Rank      []string `yaml:"rank"`
	Instance  []string `yaml:"instance"`
}

type interval struct {
	From float64 `yaml:"from"`
	To   float64 `yaml:"to"`
}

type dialectFile struct {
	Dialects     []Dialect                `yaml:"dialects"`
	Info         []Info                   `yaml:"info"`
	Labels       labelRules               `yaml:"labels"`
	UselessHosts []string                 `yaml:"useless_hosts"`
	ExporterPods []string                 `yaml:"exporter_pods"`
	ExporterJobs []string                 `yaml:"exporter_jobs"`
	ExporterRuns []string                 `yaml:"exporter_containers"`
	Sentinels    []interval               `yaml:"sentinels"`
	Filters      []Filter                 `yaml:"filters"`
	Identity     []string                 `yaml:"identity"`
	Presence     []string                 `yaml:"presence"`
	Owners       []Dialect                `yaml:"owners"`
	MIGModes     []string                 `yaml:"mig_modes"`
	Legacy       []string                 `yaml:"legacy_labels"`
	Conversions  map[string]conversionRow `yaml:"conversions"`
	Workload     workloadLabels           `yaml:"workload_labels"`
	Renamable    []string                 `yaml:"renamable"`
	Levels       []string                 `yaml:"levels"`
	Beginnings   []string                 `yaml:"beginnings"`
	OpenUnits    map[string][]candidate   `yaml:"open_units"`
	UnitWords    []unitWords              `yaml:"unit_words"`
	AgentGroups  map[string]string        `yaml:"agent_groups"`
	Defaults     []string                 `yaml:"defaults"`
	Advice       []advice                 `yaml:"advice"`
	Remarks      []remark                 `yaml:"remarks"`
	AgentSeries  []string                 `yaml:"agent_series"`
}

type conversionRow struct {
	Multiplier float64  `yaml:"multiplier"`
	Divisor    float64  `yaml:"divisor"`
	To         gpu.Unit `yaml:"to"`
}

func load(dialects []byte, metrics ...[]byte) (*Catalog, error) {
	var rules dialectFile
	if err := decodeStrict(dialects, &rules); err != nil {
		return nil, fmt.Errorf("read dialects.yaml: %w", err)
	}
	c := &Catalog{
		byName: map[string]int{}, bySeries: map[string][]Source{}, exact: map[string][]Source{}, rank: map[Dialect]int{},
		info: rules.Info, labels: rules.Labels, workload: rules.Workload, sentinels: rules.Sentinels,
		filters: rules.Filters, identity: rules.Identity, presence: rules.Presence, owners: rules.Owners,
		migModes: rules.MIGModes, legacy: rules.Legacy, renamable: rules.Renamable, known: rules.Beginnings, levels: rules.Levels,
		conversions: rules.Conversions, openUnits: rules.OpenUnits, unitWords: rules.UnitWords,
		agentGroups: rules.AgentGroups, advice: rules.Advice, remarks: rules.Remarks, agentSeries: rules.AgentSeries,
	}
	if len(c.filters) == 0 || c.filters[len(c.filters)-1].Mark != "" {
		return nil, errors.New("read dialects.yaml: filters: the last one must be for all other series, with an empty mark")
	}
	for i, d := range rules.Dialects {
		c.rank[d] = i
	}
	c.given = make(map[string]bool, len(rules.Defaults))
	for _, series := range rules.Defaults {
		c.given[series] = true
	}
	for _, list := range []struct {
		name     string
		patterns []string
		into     **regexp.Regexp
	}{
		{"useless_hosts", rules.UselessHosts, &c.useless}, {"exporter_pods", rules.ExporterPods, &c.exporters},
		{"exporter_containers", rules.ExporterRuns, &c.exporterContainers}, {"exporter_jobs", rules.ExporterJobs, &c.exporterJobs},
	} {
		re, err := anyOf(list.patterns)
		if err != nil {
			return nil, fmt.Errorf("read dialects.yaml: %s: %w", list.name, err)
		}
		*list.into = re
	}
	c.percent, _ = c.conversion("percent", gpu.Ratio)
	for _, text := range metrics {
		var rows struct {
			Metrics []metricRow `yaml:"metrics"`
		}
		if err := decodeStrict(text, &rows); err != nil {
			return nil, fmt.Errorf("read metrics.yaml: %w", err)
		}
		for _, row := range rows.Metrics {
			if err := c.add(row); err != nil {
				return nil, fmt.Errorf("read metrics.yaml: %s: %w", row.Name, err)
			}
		}
	}
	c.index()
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
