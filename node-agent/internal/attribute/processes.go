package attribute

import (
	"errors"
	"fmt"

	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/proc"
)

// processes looks up whose the processes on the devices are, and remembers them in the snapshot.
func (a *Attributor) processes(s *Snapshot, notices *notices) []process {
	if a.o.Proc == nil {
		return nil
	}
	usage := a.o.Usage()
	if s.hostPIDs = a.o.Proc.HostPIDs(); !s.hostPIDs {
		a.m.up.WithLabelValues(sourceProcesses).Set(0)
		if len(usage) > 0 {
			notices.add(proc.HostPIDHint)
		}
		return nil
	}
	a.m.up.WithLabelValues(sourceProcesses).Set(1)
	if more := len(usage) - maxProcesses; more > 0 {
		usage = usage[:maxProcesses]
		a.m.refused.Add(float64(more))
		notices.add(fmt.Sprintf("%d processes on GPUs are left out, because at most %d are looked at", more, maxProcesses))
	}
	var found []process
	for _, u := range usage {
		k, ok := s.processes[u.PID]
		if !ok {
			info, err := a.o.Proc.Read(u.PID)
			if err != nil {
				if !errors.Is(err, proc.ErrGone) {
					notices.add(err.Error())
				}
				continue
			}
			k = know(info, s.names)
			s.processes[u.PID] = k
		}
		found = append(found, process{uuid: u.UUID, instance: u.GPUInstance, pid: u.PID, work: k.work})
	}
	return found
}

// remember keeps what was found out about processes beside what their control groups tell.
func (s *Snapshot) remember(processes []process) {
	for _, p := range processes {
		k := s.processes[p.pid]
		k.work = p.work
		s.processes[p.pid] = k
	}
}
