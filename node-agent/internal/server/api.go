package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

type eventsJSON struct {
	Epoch   string      `json:"epoch"`
	Newest  uint64      `json:"newest"`
	Dropped uint64      `json:"dropped"` // that came after the one asked for, and are forgotten
	Events  []eventJSON `json:"events"`
}

type eventJSON struct {
	Seq             uint64    `json:"seq"`
	Time            time.Time `json:"time"`
	Kind            string    `json:"kind"`
	Origin          string    `json:"origin"`
	UUID            string    `json:"uuid,omitempty"`
	PCIBusID        string    `json:"pciBusId,omitempty"`
	GPUInstance     string    `json:"gpuInstance,omitempty"`
	ComputeInstance string    `json:"computeInstance,omitempty"`
	XID             uint64    `json:"xid,omitempty"`
	Detail          string    `json:"detail,omitempty"`
}

// events answers what happened, after the event with a number.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	after, err := numberOf(r, "after")
	if err != nil {
		text(w, http.StatusBadRequest, err.Error())
		return
	}
	if after > s.newestEvent() {
		after = 0 // a number of another run says nothing about this one's
	}
	answer := eventsJSON{Epoch: s.o.Node.Epoch, Newest: after, Events: []eventJSON{}}
	if s.o.Events != nil {
		var events []snapshot.Event
		events, answer.Dropped, _ = s.o.Events.After(after, nil)
		for _, e := range events {
			answer.Newest = e.Seq
			answer.Events = append(answer.Events, eventJSON{
				Seq: e.Seq, Time: e.Time.UTC(), Kind: e.Kind.String(), Origin: string(e.Origin), UUID: e.UUID, PCIBusID: e.PCIBusID,
				GPUInstance: e.GPUInstance, ComputeInstance: e.ComputeInstance, XID: e.XID, Detail: e.Detail,
			})
		}
	}
	answerJSON(w, answer)
}

// numberOf is a number of the query, 0 when it is not there.
func numberOf(r *http.Request, name string) (uint64, error) {
	given := r.URL.Query().Get(name)
	if given == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%.40q: must be the number of an event", name, given)
	}
	return n, nil
}

type processesJSON struct {
	Time       *time.Time    `json:"time,omitempty"`
	Incomplete string        `json:"incomplete,omitempty"`
	Processes  []processJSON `json:"processes"`
}

type processJSON struct {
	UUID            string     `json:"uuid"`
	GPUInstance     string     `json:"gpuInstance,omitempty"`
	ComputeInstance string     `json:"computeInstance,omitempty"`
	PID             int        `json:"pid"`
	Name            string     `json:"name,omitempty"`
	User            string     `json:"user,omitempty"`
	Kind            string     `json:"kind"`
	MemoryBytes     *float64   `json:"memoryBytes,omitempty"`
	SM              *float64   `json:"smRatio,omitempty"`
	MemoryActivity  *float64   `json:"memoryActivityRatio,omitempty"`
	Encoder         *float64   `json:"encoderRatio,omitempty"`
	Decoder         *float64   `json:"decoderRatio,omitempty"`
	Owner           *ownerJSON `json:"owner,omitempty"`
}

// processes answers what uses the GPUs.
func (s *Server) processes(w http.ResponseWriter, _ *http.Request) {
	answer := processesJSON{Processes: []processJSON{}}
	switch list := newest(s.o.Processes); {
	case s.o.Processes == nil:
		answer.Incomplete = "processes are not listed here"
	case list == nil:
		answer.Incomplete = "processes were not listed yet"
	default:
		answer.Time, answer.Incomplete = utc(list.Time), list.Incomplete
		for _, p := range list.Processes {
			j := processJSON{
				UUID: p.UUID, GPUInstance: p.GPUInstance, ComputeInstance: p.ComputeInstance, PID: p.PID, Name: p.Name, User: p.User,
				Kind: string(p.Kind), MemoryBytes: number(p.Memory), SM: number(p.SM), MemoryActivity: number(p.MemoryActivity),
				Encoder: number(p.Encoder), Decoder: number(p.Decoder),
			}
			if p.Owner != nil {
				o := ownerOf(*p.Owner)
				o.UUID, o.GPUInstance = "", "" // said already
				j.Owner = &o
			}
			answer.Processes = append(answer.Processes, j)
		}
	}
	answerJSON(w, answer)
}

type ownersJSON struct {
	Time    *time.Time  `json:"time,omitempty"`
	Notices []string    `json:"notices,omitempty"`
	Owners  []ownerJSON `json:"owners"`
}

type ownerJSON struct {
	UUID        string `json:"uuid,omitempty"`
	GPUInstance string `json:"gpuInstance,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Pod         string `json:"pod,omitempty"`
	PodUID      string `json:"podUid,omitempty"`
	Container   string `json:"container,omitempty"`
	Replica     string `json:"replica,omitempty"`
	Claim       string `json:"claim,omitempty"`
	SlurmJob    string `json:"slurmJob,omitempty"`
	SlurmStep   string `json:"slurmStep,omitempty"`
	User        string `json:"user,omitempty"`
	ContainerID string `json:"containerId,omitempty"`
	Runtime     string `json:"runtime,omitempty"`
	Source      string `json:"source,omitempty"`
	Conflict    string `json:"conflict,omitempty"`
}

func ownerOf(o device.Owner) ownerJSON {
	return ownerJSON{
		UUID: o.UUID, GPUInstance: o.GPUInstance, Namespace: o.Namespace, Pod: o.Pod, PodUID: o.PodUID, Container: o.Container,
		Replica: o.Replica, Claim: o.Claim, SlurmJob: o.SlurmJob, SlurmStep: o.SlurmStep, User: o.User, ContainerID: o.ContainerID,
		Runtime: o.Runtime, Source: o.Source, Conflict: string(o.Conflict),
	}
}

// owners answers whom the GPUs were given to.
func (s *Server) owners(w http.ResponseWriter, _ *http.Request) {
	answer := ownersJSON{Owners: []ownerJSON{}}
	switch list := newest(s.o.Owners); {
	case s.o.Owners == nil:
		answer.Notices = []string{"nobody finds out whom the GPUs were given to"}
	case list != nil:
		answer.Time, answer.Notices = utc(list.Time), list.Notices
		for _, o := range list.Owners {
			answer.Owners = append(answer.Owners, ownerOf(o))
		}
	}
	answerJSON(w, answer)
}

func newest[T any](l *snapshot.Latest[T]) *T {
	if l == nil {
		return nil
	}
	value, _ := l.Get()
	return value
}

func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func answerJSON(w http.ResponseWriter, answer any) {
	body, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		text(w, http.StatusInternalServerError, fmt.Sprintf("write the answer: %v", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // whoever asked and went away needs no answer
}

// place is a device and a label, which tell the series of a metric apart.
type place struct {
	uuid, migUUID, gpuInstance, computeInstance, variant string
}

func placeOf(d gpu.Device, variant string) place {
	return place{d.UUID, d.MIGUUID, d.GPUInstance, d.ComputeInstance, variant}
}
