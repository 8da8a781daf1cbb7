package main

import (
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// scrape turns samples of an agent's stream into what Prometheus would have stored had it scraped the agent then.
type scrape struct {
	agent   Agent
	columns []*series
	present []bool   // whether the tick before had a value for the column
	always  []sample // info series and up
	buffer  []sample
}

func newScrape(a Agent) *scrape { return &scrape{agent: a} }

// schema prepares the series of a stream.
func (s *scrape) schema(schema *wire.Schema) {
	devices := wire.ToDevices(schema)
	columns := schema.GetColumns()
	s.columns = make([]*series, len(columns))
	s.present = make([]bool, len(columns))
	for i, c := range columns {
		exposed := append(deviceLabels(devices[c.GetDevice()]), labels.MetricName, c.GetMetric())
		s.columns[i] = s.series(exposed)
	}
	s.always = []sample{{up(s.agent.Target), 1}, {s.series(agentInfo(schema, s.agent)), 1}}
	for _, d := range devices {
		s.always = append(s.always, sample{s.series(deviceInfo(d)), 1})
	}
}

func (s *scrape) series(exposed []string) *series {
	return &series{labels: targetLabels(s.agent.Target, labels.FromStrings(exposed...))}
}

// tick is the scrape at the time of a sample. A reading that has no value is not exposed; where there was one before,
// the series is ended.
func (s *scrape) tick(sampled wire.Sample) tick {
	s.buffer = append(s.buffer[:0], s.always...)
	for i, r := range sampled.Readings {
		switch {
		case r.OK():
			s.buffer = append(s.buffer, sample{s.columns[i], r.Value})
		case s.present[i]:
			s.buffer = append(s.buffer, sample{s.columns[i], stale()})
		}
		s.present[i] = r.OK()
	}
	return tick{sampled.Time.UnixMilli(), s.buffer}
}

// deviceLabels are the labels that the agent gives every series of a device, as name, value, name, value.
func deviceLabels(d gpu.Device) []string {
	set := []string{"node", d.Node, "gpu", strconv.Itoa(d.Index), "gpu_uuid", d.UUID, "model", d.Model}
	if d.Cluster != "" {
		set = append(set, "cluster", d.Cluster)
	}
	if d.IsMIG() {
		set = append(set, "mig_id", d.GPUInstance, "mig_profile", d.MIGProfile)
	}
	return set
}

func deviceInfo(d gpu.Device) []string {
	set := deviceLabels(d)
	if d.IsMIG() {
		return append(set, labels.MetricName, "gpu_mig_info", "mig_uuid", d.MIGUUID, "compute_instance_id", d.ComputeInstance)
	}
	return append(set, labels.MetricName, "gpu_info", "pci_bus_id", d.PCIBusID, "driver_version", d.Driver,
		"mig_enabled", strconv.FormatBool(d.MIGEnabled))
}

func agentInfo(schema *wire.Schema, a Agent) []string {
	set := []string{labels.MetricName, "warpwatch_agent_info", "node", schema.GetNode(), "version", schema.GetAgentVersion(),
		"address", a.Address, "scheme", a.Scheme, "source", schema.GetSource()}
	if schema.GetCluster() != "" {
		set = append(set, "cluster", schema.GetCluster())
	}
	return set
}
