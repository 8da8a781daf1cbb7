package server

import (
	"net/http"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

type inventoryJSON struct {
	Cluster   string        `json:"cluster,omitempty"`
	Node      string        `json:"node"`
	Version   string        `json:"version"`
	Source    string        `json:"source"`
	Driver    string        `json:"driver,omitempty"`
	NVML      string        `json:"nvml,omitempty"`
	CUDA      string        `json:"cuda,omitempty"`
	Epoch     string        `json:"epoch"`
	PeriodMS  int64         `json:"periodMs"`
	Condition conditionJSON `json:"condition"`
	Devices   []deviceJSON  `json:"devices"`
}

type conditionJSON struct {
	State  string     `json:"state"`
	Reason string     `json:"reason,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
}

type deviceJSON struct {
	UUID            string         `json:"uuid"`
	Index           int            `json:"index"`
	Model           string         `json:"model"`
	PCIBusID        string         `json:"pciBusId"`
	MIGEnabled      bool           `json:"migEnabled"`
	GPUInstance     string         `json:"gpuInstance,omitempty"`
	ComputeInstance string         `json:"computeInstance,omitempty"`
	MIGProfile      string         `json:"migProfile,omitempty"`
	MIGUUID         string         `json:"migUuid,omitempty"`
	Placement       *placementJSON `json:"placement,omitempty"` // of MIG instances
	Condition       *conditionJSON `json:"condition,omitempty"` // of a MIG instance, that of its board
	LastXID         uint64         `json:"lastXid,omitempty"`
	Facts           *factsJSON     `json:"facts,omitempty"` // of boards
}

// placementJSON is in memory slices.
type placementJSON struct {
	Start int `json:"start"`
	Size  int `json:"size"`
}

type factsJSON struct {
	Serial            string `json:"serial,omitempty"`
	Brand             string `json:"brand,omitempty"`
	Architecture      string `json:"architecture,omitempty"`
	ComputeCapability string `json:"computeCapability,omitempty"`
	VBIOS             string `json:"vbios,omitempty"`
	InfoROM           string `json:"inforom,omitempty"`
	PartNumber        string `json:"partNumber,omitempty"`
	Minor             *int   `json:"minor,omitempty"`
	MemoryBusBits     *int   `json:"memoryBusBits,omitempty"`
	Cores             *int   `json:"cores,omitempty"`
}

func factsOf(f device.Facts) *factsJSON {
	// A number that is not known is -1.
	number := func(n int) *int {
		if n < 0 {
			return nil
		}
		return &n
	}
	return &factsJSON{
		Serial: f.Serial, Brand: f.Brand, Architecture: f.Architecture, ComputeCapability: f.ComputeCapability, VBIOS: f.VBIOS,
		InfoROM: f.InfoROM, PartNumber: f.BoardPart, Minor: number(f.Minor), MemoryBusBits: number(f.MemoryBusBits), Cores: number(f.Cores),
	}
}

// inventory answers what the node has, and how it is.
func (s *Server) inventory(w http.ResponseWriter, _ *http.Request) {
	n := s.o.Node
	answer := inventoryJSON{
		Cluster: n.Cluster, Node: n.Name, Version: n.Version, Source: n.Source, Epoch: n.Epoch, PeriodMS: n.Period.Milliseconds(),
		Condition: conditionJSON{State: string(snapshot.StateStarting)}, Devices: []deviceJSON{},
	}
	if f := s.o.Store.Newest(); f != nil {
		answer.PeriodMS = f.Schema.Node.Period.Milliseconds()
		answer.Driver, answer.Condition = f.Schema.Driver, condition(f.Status.Source)
		answer.NVML, answer.CUDA = f.Status.Versions.NVML, f.Status.Versions.CUDA
		boards := map[string]snapshot.Board{}
		for _, b := range f.Status.Boards {
			boards[b.Device.UUID] = b
		}
		for _, d := range f.Schema.Devices {
			j := deviceJSON{
				UUID: d.UUID, Index: d.Index, Model: d.Model, PCIBusID: d.PCIBusID, MIGEnabled: d.MIGEnabled,
				GPUInstance: d.GPUInstance, ComputeInstance: d.ComputeInstance, MIGProfile: d.MIGProfile, MIGUUID: d.MIGUUID,
			}
			if b, ok := boards[d.UUID]; ok {
				c := condition(b.Condition)
				j.Condition = &c
				if !d.IsMIG() {
					j.LastXID, j.Facts = b.LastXID, factsOf(b.Facts)
				} else if p, ok := b.Facts.Placements[d.GPUInstance]; ok {
					j.Placement = &placementJSON{p.Start, p.Size}
				}
			}
			answer.Devices = append(answer.Devices, j)
		}
	}
	answerJSON(w, answer)
}

func condition(c snapshot.Condition) conditionJSON {
	j := conditionJSON{State: string(c.State), Reason: c.Reason}
	if !c.Since.IsZero() {
		since := c.Since.UTC()
		j.Since = &since
	}
	return j
}
