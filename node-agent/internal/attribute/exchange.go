package attribute

import (
	"cmp"

	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/locate"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// DevicesOf are the devices of a frame, with the numbers of device files and the places of MIG instances that it tells.
func DevicesOf(f *snapshot.Frame) []locate.Device {
	if f == nil {
		return nil
	}
	facts := map[string]device.Facts{}
	boards := map[int]int{} // how many boards have a minor number
	if f.Status != nil {
		for _, b := range f.Status.Boards {
			facts[b.Device.UUID] = b.Facts
			boards[b.Facts.Minor]++
		}
	}
	devices := locate.Devices(f.Schema.Devices)
	for i := range devices {
		d := &devices[i]
		known, ok := facts[d.UUID]
		switch {
		case !ok:
		case d.IsMIG():
			if place, ok := known.Placements[d.GPUInstance]; ok {
				d.Start = place.Start
			}
		// A number that several boards have was not read.
		case known.Minor >= 0 && boards[known.Minor] == 1:
			d.Minor = known.Minor
		}
	}
	return devices
}

// UsagesOf are the processes of a list.
func UsagesOf(list *snapshot.ProcessList) []Usage {
	if list == nil {
		return nil
	}
	usages := make([]Usage, len(list.Processes))
	for i, p := range list.Processes {
		usages[i] = Usage{UUID: p.UUID, GPUInstance: p.GPUInstance, PID: p.PID}
	}
	return usages
}

// List is the snapshot as the agent publishes it. Owners that differ in nothing that is published are told once.
func (s *Snapshot) List() *snapshot.OwnerList {
	list := &snapshot.OwnerList{Time: s.At, Notices: s.Notices}
	seen := map[device.Owner]bool{}
	for _, o := range s.Owners {
		d := o.Workload.owner()
		d.UUID, d.GPUInstance, d.Replica, d.Claim, d.Source = o.UUID, o.GPUInstance, o.Replica, o.Claim, o.Source
		switch {
		case o.Conflict && o.Running:
			d.Conflict = device.NotGiven
		case o.Conflict:
			d.Conflict = device.NotUsed
		}
		if !seen[d] {
			seen[d] = true
			list.Owners = append(list.Owners, d)
		}
	}
	return list
}

// owner is a workload on no device in particular.
func (w Workload) owner() device.Owner {
	return device.Owner{
		Namespace: w.Namespace, Pod: w.Pod, PodUID: w.PodUID, Container: w.Container,
		SlurmJob: cmp.Or(w.SlurmJob, w.SlurmSLUID), SlurmStep: w.SlurmStep, User: w.User, ContainerID: w.ContainerID, Runtime: w.Runtime,
	}
}

// Describer names processes for the list of processes.
type Describer struct{ *Attributor }

// Describe tells a process's program, user and workload, nil when it has none. ok is false when nothing is known.
func (d Describer) Describe(pid int) (name, user string, owner *device.Owner, ok bool) {
	p, ok := d.Attributor.Describe(pid)
	if !ok || p.HostPID {
		return "", "", nil, false
	}
	if o := p.owner(); o != (device.Owner{User: o.User}) {
		o.Source = sourceOf(p.Workload)
		owner = &o
	}
	return p.Name, p.User, owner, true
}
