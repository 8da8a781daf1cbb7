package simulate

import (
	"context"
	"fmt"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// firstPID is the lowest process id that is given out.
const firstPID = 2048

// pid is the id of the process that worker i of the board has: the same as long as it works.
func (b *Board) pid(i int) int { return firstPID + b.devices[0].Index*16 + i }

// Processes implements device.Board: one for each worker that has memory.
func (b *Board) Processes(_ context.Context, into []device.Process) ([]device.Process, error) {
	for i := range b.workers {
		l := &b.latest[i]
		if !l.held {
			continue
		}
		p := device.Process{
			PID: b.pid(i), Kind: device.Compute, Memory: gpu.Read(l.memory),
			SM: gpu.Absent(gpu.NotSupported), MemoryActivity: gpu.Absent(gpu.NotSupported),
			Encoder: gpu.Absent(gpu.NotSupported), Decoder: gpu.Absent(gpu.NotSupported),
		}
		if len(b.instances) > 0 {
			d := b.devices[i+1]
			p.GPUInstance, p.ComputeInstance = d.GPUInstance, d.ComputeInstance
		} else {
			p.SM, p.MemoryActivity = gpu.Read(percent(l.intensity.sm)), gpu.Read(percent(l.intensity.dram))
			p.Encoder, p.Decoder = gpu.Read(0), gpu.Read(0)
		}
		into = append(into, p)
	}
	return into, nil
}

// latest is what a worker did in the newest sample.
type latest struct {
	held      bool
	memory    float64 // bytes
	intensity intensity
}

// Describe names a process of the node: its program, its user and its workload.
func (s *Source) Describe(pid int) (name, user string, owner *device.Owner, ok bool) {
	for _, b := range s.boards {
		for i, w := range b.workers {
			if b.pid(i) != pid || w.job == nothing {
				continue
			}
			o := b.owner(i)
			return w.job.program(), o.User, &o, true
		}
	}
	return "", "", nil, false
}

// Owners are the workloads that the boards were given.
func (s *Source) Owners() []device.Owner {
	var owners []device.Owner
	for _, b := range s.boards {
		for i, w := range b.workers {
			if w.job != nothing {
				owners = append(owners, b.owner(i))
			}
		}
	}
	return owners
}

// owner is the workload of worker i.
func (b *Board) owner(i int) device.Owner {
	o := device.Owner{UUID: b.devices[0].UUID, Source: "simulate"}
	if len(b.instances) > 0 {
		o.GPUInstance = b.devices[i+1].GPUInstance
	}
	number := mix(b.workers[i].key, 50) % 10000
	switch b.workers[i].job {
	case train:
		o.Namespace, o.Pod, o.Container = "research", fmt.Sprintf("pretrain-7b-%d", b.devices[0].Index), "trainer"
	case serve:
		o.Namespace, o.Pod, o.Container = "serving", fmt.Sprintf("vllm-chat-%04d", number), "vllm"
	case notebook:
		o.SlurmJob, o.SlurmStep, o.User = fmt.Sprint(118000+number%1000), "0", [...]string{"ana", "bo", "chen", "dara"}[number%4]
	case reserved:
		o.Namespace, o.Pod, o.Container = "research", fmt.Sprintf("sweep-%04d", number), "main"
	case nothing:
	}
	return o
}

// program is what the worker's process is called.
func (j job) program() string {
	switch j {
	case serve:
		return "VLLM::EngineCore"
	case notebook:
		return "python3 (ipykernel)"
	default:
		return "python3"
	}
}
