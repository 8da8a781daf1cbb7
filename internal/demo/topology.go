// Package demo runs the whole of Warpwatch on one machine: a simulated fleet in two clusters, a real Prometheus for
// each, two weeks of history, and the built plugin in Grafana or, where there is none, in the preview.
package demo

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/warpwatch/warpwatch/internal/ports"
)

// Topology is what runs, and on which ports.
type Topology struct {
	UIPort     int
	ReplayPort int // of the process that plays every exporter
	Clusters   []Cluster

	LonePort int       // of the preview that shows the fleets of one kind; 0 where there are none
	Lone     []Cluster // fleets that one kind of exporter measures, each of which has a data source of its own
}

// all are the clusters of every fleet.
func (t Topology) all() []Cluster { return slices.Concat(t.Clusters, t.Lone) }

// Cluster is a Prometheus and what it scrapes.
type Cluster struct {
	Name           string
	PrometheusPort int
	Nodes          []Node
	Exporters      []Exporter
	Kind           string // what measures it, of a fleet of one kind
}

// Node runs an agent with simulated GPUs.
type Node struct {
	Name    string
	Port    int
	Seed    int
	Model   string
	Profile string   // what the node is used for
	Faults  []string // what goes wrong on it
	MIG     []string // profiles that its boards are split into
}

// Exporter is an exporter of another kind, replayed from a file.
type Exporter struct {
	Job      string
	Instance string // as Prometheus would call it
	File     string // in provisioning/replay, without its ending
}

// fleet is the topology without its ports.
func fleet() []Cluster {
	return []Cluster{
		{
			Name: "north",
			Nodes: []Node{
				{Name: "north-gpu-01", Seed: 11, Model: "H200", Profile: "training", Faults: []string{"straggler", "thermal"}},
				{Name: "north-gpu-02", Seed: 12, Model: "H100", Profile: "mixed", Faults: []string{"ecc", "xid"}},
				{Name: "north-gpu-03", Seed: 13, Model: "H200", Profile: "inference", MIG: []string{"3g.71gb", "2g.35gb", "1g.18gb", "1g.18gb"}},
			},
			Exporters: []Exporter{
				{Job: "dcgm-exporter", Instance: "north-gpu-04:9400", File: "dcgm-4.8"},
				{Job: "dcgm-exporter", Instance: "north-gpu-05:9400", File: "dcgm-4.9"},
				{Job: "dcgm-exporter", Instance: "north-gpu-06:9400", File: "dcgm-mig"},
				{Job: "nvidia-gpu-exporter", Instance: "north-gpu-07:9835", File: "nvidia-smi-h200"},
			},
		},
		{
			Name: "south",
			Nodes: []Node{
				{Name: "south-gpu-01", Seed: 21, Model: "H100", Profile: "training", Faults: []string{"straggler"}},
				{Name: "south-gpu-02", Seed: 22, Model: "H100", Profile: "inference", Faults: []string{"thermal", "xid"}},
				{Name: "south-gpu-03", Seed: 23, Model: "H200", Profile: "mixed", MIG: []string{"1g.18gb", "1g.18gb", "1g.18gb", "1g.18gb", "1g.18gb", "1g.18gb", "1g.18gb"}},
			},
			Exporters: []Exporter{
				{Job: "dcgm-exporter", Instance: "south-gpu-04:9400", File: "dcgm-pods"},
				{Job: "nvidia-gpu-exporter", Instance: "south-gpu-05:9835", File: "nvidia-smi-h200-mig"},
				{Job: "nvidia-gpu-exporter", Instance: "south-ws-01:9835", File: "nvidia-smi-rtx-4080"},
				{Job: "nvidia-gpu-exporter", Instance: "south-ws-02:9835", File: "nvidia-smi-windows"},
			},
		},
	}
}

// portBaseVariable moves every fixed port, for machines where the usual ones are taken.
const portBaseVariable = "WARPWATCH_DEMO_PORT_BASE"

// FixedPorts is the topology on the ports that the documentation names, or, where base (the value of
// WARPWATCH_DEMO_PORT_BASE) is not empty, on those from base on.
func FixedPorts(base string) (Topology, error) {
	ui, prometheus, agents, replay := 3000, 9190, 19850, 19870
	if base != "" {
		n, err := strconv.Atoi(base)
		if err != nil || n < 1024 || n > 65000 {
			return Topology{}, fmt.Errorf("%s=%q: must be a port between 1024 and 65000", portBaseVariable, base)
		}
		ui, prometheus, agents, replay = n, n+10, n+20, n+40
	}
	t := Topology{UIPort: ui, ReplayPort: replay, Clusters: fleet()}
	for c := range t.Clusters {
		cluster := &t.Clusters[c]
		cluster.PrometheusPort = prometheus + c
		for i := range cluster.Nodes {
			cluster.Nodes[i].Port = agents
			agents++
		}
	}
	return t, nil
}

// loneFleets are what the bundled dashboards must also be good for: a fleet with nothing but agents, and fleets with nothing but
// dcgm-exporter as it comes.
func loneFleets() []Cluster {
	return []Cluster{
		{
			Name: "agents", Kind: "agent only",
			Nodes: []Node{
				{Name: "agents-gpu-01", Seed: 31, Model: "H200", Profile: "training", Faults: []string{"straggler", "thermal"}},
				{Name: "agents-gpu-02", Seed: 32, Model: "H100", Profile: "inference", MIG: []string{"3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"}},
			},
		},
		{Name: "dcgm48", Kind: "dcgm-exporter 4.8", Exporters: []Exporter{{Job: "dcgm-exporter", Instance: "old-gpu-01:9400", File: "dcgm-4.8-default"}}},
		{Name: "dcgm49", Kind: "dcgm-exporter 4.9", Exporters: []Exporter{{Job: "dcgm-exporter", Instance: "new-gpu-01:9400", File: "dcgm-4.9-default"}}},
	}
}

// FreePorts is the topology with the fleets of one kind, on ports that nothing listens on.
func FreePorts() (Topology, error) {
	t := Topology{Clusters: fleet(), Lone: loneFleets()}
	slots := t.slots()
	found, err := ports.Free(len(slots))
	if err != nil {
		return Topology{}, err
	}
	for i, s := range slots {
		*s.port = found[i]
	}
	return t, nil
}

// Wants are the topology's ports and what each is for.
func (t *Topology) Wants() []ports.Want {
	slots := t.slots()
	wants := make([]ports.Want, 0, len(slots))
	for _, s := range slots {
		wants = append(wants, ports.Want{Port: *s.port, For: s.use})
	}
	return wants
}

// slot is a place in the topology that holds a port.
type slot struct {
	port *int
	use  string
}

func (t *Topology) slots() []slot {
	slots := []slot{{&t.UIPort, "the user interface"}, {&t.ReplayPort, "the replayed exporters"}}
	var clusters []*Cluster
	for i := range t.Clusters {
		clusters = append(clusters, &t.Clusters[i])
	}
	for i := range t.Lone {
		clusters = append(clusters, &t.Lone[i])
	}
	if len(t.Lone) > 0 {
		slots = append(slots, slot{&t.LonePort, "the preview of the fleets of one kind"})
	}
	for _, cluster := range clusters {
		slots = append(slots, slot{&cluster.PrometheusPort, "Prometheus of cluster " + cluster.Name})
		for i := range cluster.Nodes {
			slots = append(slots, slot{&cluster.Nodes[i].Port, "the agent of " + cluster.Nodes[i].Name})
		}
	}
	return slots
}

// address is a port on loopback.
func address(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// url is the root of a server on loopback.
func url(port int) string { return "http://" + address(port) }
