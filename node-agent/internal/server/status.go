package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// stuckAfter is how old the newest frame may be before the agent counts as stuck: far more than any period.
func (s *Server) stuckAfter() time.Duration { return max(time.Minute, 10*s.o.Node.Period) }

// healthy says whether the process should go on living. A node without a driver, or with a sick GPU, is not its fault.
func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) {
	f := s.o.Store.Newest()
	switch {
	case f == nil:
		text(w, http.StatusOK, "starting")
	case !f.Status.Alive():
		text(w, http.StatusServiceUnavailable, "the agent lost access to the GPUs and has to be started again")
	case time.Since(f.Time) > s.stuckAfter():
		text(w, http.StatusServiceUnavailable, fmt.Sprintf("no sample for %s", time.Since(f.Time).Round(time.Second)))
	default:
		text(w, http.StatusOK, "ok")
	}
}

// ready says whether the agent knows what this node has.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	f := s.o.Store.Newest()
	if f == nil {
		text(w, http.StatusServiceUnavailable, "the source was not opened yet")
		return
	}
	if c := f.Status.Source; c.State != snapshot.StateOK {
		text(w, http.StatusOK, string(c.State)+": "+c.Reason)
		return
	}
	text(w, http.StatusOK, "ok")
}

func text(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, message) // whoever asked and went away needs no answer
}

type inventoryJSON struct {
	Cluster   string        `json:"cluster,omitempty"`
	Node      string        `json:"node"`
	Version   string        `json:"version"`
	Source    string        `json:"source"`
	Driver    string        `json:"driver,omitempty"`
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
	Condition       *conditionJSON `json:"condition,omitempty"` // of boards
	LastXID         uint64         `json:"lastXid,omitempty"`
}

// inventory answers what the node has, and how it is.
func (s *Server) inventory(w http.ResponseWriter, _ *http.Request) {
	n := s.o.Node
	answer := inventoryJSON{
		Cluster: n.Cluster, Node: n.Name, Version: n.Version, Source: n.Source, Epoch: n.Epoch, PeriodMS: n.Period.Milliseconds(),
		Condition: conditionJSON{State: string(snapshot.StateStarting)}, Devices: []deviceJSON{},
	}
	if f := s.o.Store.Newest(); f != nil {
		answer.Driver, answer.Condition = f.Schema.Driver, condition(f.Status.Source)
		boards := map[string]snapshot.Board{}
		for _, b := range f.Status.Boards {
			boards[b.Device.UUID] = b
		}
		for _, d := range f.Schema.Devices {
			j := deviceJSON{
				UUID: d.UUID, Index: d.Index, Model: d.Model, PCIBusID: d.PCIBusID, MIGEnabled: d.MIGEnabled,
				GPUInstance: d.GPUInstance, ComputeInstance: d.ComputeInstance, MIGProfile: d.MIGProfile, MIGUUID: d.MIGUUID,
			}
			if b, ok := boards[d.UUID]; ok && !d.IsMIG() {
				c := condition(b.Condition)
				j.Condition, j.LastXID = &c, b.LastXID
			}
			answer.Devices = append(answer.Devices, j)
		}
	}
	body, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		text(w, http.StatusInternalServerError, fmt.Sprintf("write the inventory: %v", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}

func condition(c snapshot.Condition) conditionJSON {
	j := conditionJSON{State: string(c.State), Reason: c.Reason}
	if !c.Since.IsZero() {
		since := c.Since.UTC()
		j.Since = &since
	}
	return j
}
