package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

var (
	validName     = regexp.MustCompile(`^(gpu|serve|train)_[a-z0-9]+(_[a-z0-9]+)*$`)
	knownFamilies = []string{
		"utilization", "profiling", "memory", "power", "temperature", "clocks", "throttling", "interconnect", "errors", "cooling", "configuration",
		"latency", "load", "throughput", "cache", "progress", "efficiency",
	}
	knownAggregations     = []string{"avg", "max", "min", "sum"}
	histogramAggregations = []string{"p50", "p95", "p99", "avg"}
)

// check finds rows that contradict themselves or each other.
func (c *Catalog) check() error {
	for _, m := range c.metrics {
		if err := c.checkMetric(m); err != nil {
			return fmt.Errorf("read metrics.yaml: %s: %w", m.Name, err)
		}
	}
	for series, sources := range c.bySeries {
		if err := disjoint(sources); err != nil {
			return fmt.Errorf("read metrics.yaml: series %s is listed as a source of both %w", series, err)
		}
	}
	return nil
}

// disjoint reports two sources that a series may be at once.
func disjoint(sources []Source) error {
	for i, a := range sources {
		for _, b := range sources[:i] {
			if !apart(a, b) {
				return fmt.Errorf("%s and %s", b.Metric, a.Metric)
			}
		}
	}
	return nil
}

// apart reports whether a label must differ between series of two sources.
func apart(a, b Source) bool {
	for _, one := range a.Conditions() {
		for _, other := range b.Conditions() {
			if one.Label == other.Label && !slices.ContainsFunc(one.Values, func(v string) bool { return slices.Contains(other.Values, v) }) {
				return true
			}
		}
	}
	return false
}

func (c *Catalog) checkMetric(m Metric) error {
	workload := m.Subject == SubjectWorkload
	switch {
	case !validName.MatchString(m.Name):
		return errors.New("name is not gpu_, serve_ or train_ and lower-case words")
	case m.Subject != SubjectDevice && !workload:
		return fmt.Errorf("subject %q is not workload", m.Subject)
	case workload == strings.HasPrefix(m.Name, "gpu_"):
		return errors.New("gpu_ is for metrics of devices, serve_ and train_ are for those of workloads")
	case !m.Unit.Valid():
		return fmt.Errorf("unit %q is not known", m.Unit)
	case m.Kind != Gauge && m.Kind != Counter && m.Kind != Histogram:
		return fmt.Errorf("kind %q is neither gauge nor counter nor histogram", m.Kind)
	case !slices.Contains(knownFamilies, m.Family):
		return fmt.Errorf("family %q is not one of %s", m.Family, strings.Join(knownFamilies, ", "))
	case m.Help == "" || m.Caveat == "" || m.NvidiaSMI == "" && !workload:
		return errors.New("help, caveat and nvidia_smi must be given")
	case len(m.Aggregations) == 0:
		return errors.New("aggregations must be given")
	case m.Multiplier == 0 || m.Divisor == 0:
		return errors.New("scale must be given")
	case !strings.HasSuffix(m.Name, suffix(m)):
		return fmt.Errorf("name does not end in %s", suffix(m))
	case m.Group != "" && m.Profile == "":
		return fmt.Errorf("group %q is not one of the agent's", m.Group)
	}
	aggregations := knownAggregations
	if m.Kind == Histogram {
		aggregations = histogramAggregations
	}
	for _, fn := range m.Aggregations {
		if !slices.Contains(aggregations, fn) {
			return fmt.Errorf("aggregation %q is not one of %s", fn, strings.Join(aggregations, ", "))
		}
	}
	for _, s := range m.Sources {
		if _, ok := c.rank[s.Dialect]; !ok {
			return fmt.Errorf("source %s: dialect %q is not known", s.Series, s.Dialect)
		}
	}
	return c.checkReferences(m)
}

// checkReferences finds names of other rows that are not there, or not alike.
func (c *Catalog) checkReferences(m Metric) error {
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
