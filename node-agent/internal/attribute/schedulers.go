package attribute

import (
	"context"
	"fmt"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/kubelet"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/locate"
)

// pods is what the kubelet gave to whom.
func (a *Attributor) pods(ctx context.Context, now time.Time, table *locate.Table, notices *notices) []*allocation {
	if a.o.Kubelet == nil {
		return nil
	}
	fresh, dropped, err := a.o.Kubelet.List(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if fresh == nil {
		fresh = []kubelet.Grant{}
	}
	grants, notice := a.kubelet.take(now, fresh, err)
	notices.add(notice)
	if dropped > 0 {
		a.m.refused.Add(float64(dropped))
		notices.add(fmt.Sprintf("the kubelet told of %d devices more than are kept", dropped))
	}
	unknown := map[string]bool{}
	var found []*allocation
	for _, g := range grants {
		find := func() (locate.Target, error) { return table.Plugin(g.ID) }
		if g.Claim != "" {
			find = func() (locate.Target, error) { return table.Claim(g.Device, g.CDI) }
		}
		target, err := find()
		if err != nil {
			unknown[fmt.Sprintf("pod %s/%s, container %s: %v", g.Namespace, g.Pod, g.Container, err)] = true
			continue
		}
		notices.add(target.Note)
		found = append(found, &allocation{owner: Owner{
			UUID: target.UUID, GPUInstance: target.GPUInstance, Replica: target.Replica + g.Share, Claim: g.Claim,
			Workload: Workload{Namespace: g.Namespace, Pod: g.Pod, Container: g.Container}, Source: FromKubelet, Allocated: true,
		}})
	}
	if !table.Empty() {
		a.kubelet.report(unknown, notices)
	}
	return found
}

// jobs is what Slurm gave to whom.
func (a *Attributor) jobs(now time.Time, table *locate.Table, notices *notices) []*allocation {
	if a.o.Slurm == nil {
		return nil
	}
	var fresh slurmJobs
	var err error
	fresh.jobs, fresh.problems, err = a.o.Slurm.Read()
	told, notice := a.slurm.take(now, fresh, err)
	notices.add(notice)
	notices.add(told.problems...)
	unknown := map[string]bool{}
	var found []*allocation
	for _, job := range told.jobs {
		find := table.Job
		if job.Mapping {
			find = table.Index
		}
		for _, text := range job.GPUs {
			target, err := find(text)
			if err != nil {
				unknown[fmt.Sprintf("Slurm job %s: %v", job.ID, err)] = true
				continue
			}
			notices.add(target.Note)
			found = append(found, &allocation{owner: Owner{
				UUID: target.UUID, GPUInstance: target.GPUInstance, Source: FromSlurmFile, Allocated: true,
				Workload: Workload{SlurmJob: job.ID, SlurmSLUID: job.SLUID, SlurmStep: job.Step, User: job.User},
			}})
		}
	}
	if !table.Empty() {
		a.slurm.report(unknown, notices)
	}
	return found
}

// names reads how pods and containers are called, where that can be told.
func (a *Attributor) names(notices *notices) kubelet.Names {
	if a.o.PodLogs == "" && a.o.ContainerLogs == "" {
		return kubelet.Names{}
	}
	n, err := kubelet.ReadNames(a.o.PodLogs, a.o.ContainerLogs)
	if err != nil {
		notices.add(err.Error())
	}
	return n
}
