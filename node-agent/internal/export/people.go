package export

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// maxOwners bounds the series of owners.
const maxOwners = 4096

// appendOwners writes who owns the devices. What an owner does not have is no label.
func appendOwners(dst []byte, l *layout, list *snapshot.OwnerList) []byte {
	all := infoFamily{name: ownerInfo}
	seen := map[string]bool{}
	for _, o := range list.Owners {
		i, ok := l.find(o.UUID, o.GPUInstance, "")
		if !ok || len(seen) >= maxOwners {
			continue
		}
		text := l.labels[i] + ownerLabels(o)
		if !seen[text] {
			seen[text] = true
			all.add(text)
		}
	}
	return append(dst, all.text...)
}

func ownerLabels(o device.Owner) string {
	return known("namespace", o.Namespace) + known("pod", o.Pod) + known("pod_uid", o.PodUID) + known("container", o.Container) +
		known("replica", o.Replica) + known("claim", o.Claim) + known("slurm_job", o.SlurmJob) + known("slurm_step", o.SlurmStep) +
		known("user", o.User) + known("container_id", o.ContainerID) + known("runtime", o.Runtime) + known("source", o.Source) +
		known("conflict", string(o.Conflict))
}

// appendProcesses writes the figures of the processes, at most a number for each device: those with the most memory.
func appendProcesses(dst []byte, l *layout, list *snapshot.ProcessList, most int) []byte {
	type use struct{ device, pid int }
	byDevice, seen := make([][]snapshot.Process, len(l.labels)), map[use]bool{}
	for _, p := range list.Processes {
		if i, ok := l.find(p.UUID, p.GPUInstance, p.ComputeInstance); ok && !seen[use{i, p.PID}] {
			seen[use{i, p.PID}] = true
			byDevice[i] = append(byDevice[i], p)
		}
	}
	for i := range byDevice {
		slices.SortFunc(byDevice[i], func(a, b snapshot.Process) int {
			return cmp.Or(-cmp.Compare(a.Memory.Value, b.Memory.Value), cmp.Compare(a.PID, b.PID))
		})
		byDevice[i] = byDevice[i][:min(most, len(byDevice[i]))]
	}
	for _, figure := range []struct {
		name string
		of   func(snapshot.Process) gpu.Reading
	}{
		{processMemory, func(p snapshot.Process) gpu.Reading { return p.Memory }},
		{processSM, func(p snapshot.Process) gpu.Reading { return p.SM }},
	} {
		started := false
		for i, processes := range byDevice {
			for _, p := range processes {
				r := figure.of(p)
				if !r.OK() {
					continue
				}
				if !started {
					dst, started = append(dst, seriesHeader(figure.name, kindGauge)...), true
				}
				dst = append(dst, figure.name+"{"+l.labels[i]+label("pid", strconv.Itoa(p.PID))+known("name", p.Name)+known("user", p.User)+"} "...)
				dst = append(strconv.AppendFloat(dst, r.Value, 'g', -1, 64), '\n')
			}
		}
	}
	return dst
}
