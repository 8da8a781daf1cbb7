package memory

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// OwnerVerdict is how it stands with the memory of one owner: a pod, a Slurm job, a user.
type OwnerVerdict struct {
	Cluster    string
	Owner      gpu.Owner // of its first device
	Devices    []int     // indexes in the grid's Subjects
	ID         string    // of the worst of them
	Severity   insight.Severity
	Confidence insight.Confidence // the least of them
	Text       string
	Missing    []string
	// UsedBytes and UsableBytes are sums over devices; what compute instances share is counted once. nil when one of them is
	// not known, for a sum without it would be too small.
	UsedBytes, UsableBytes *float64
	PeakRatio              *float64 // of the device with the highest
	HeadroomBytes          *float64 // of the device with the least
	Batch                  *Batch   // of the device on which the least fits
	Allocator              *Allocator
	Cache                  *Cache
}

type ownerKey struct{ cluster, namespace, pod, job, user, container string }

func keyOf(cluster string, o gpu.Owner) ownerKey {
	switch {
	case o.Pod != "":
		return ownerKey{cluster: cluster, namespace: o.Namespace, pod: o.Pod}
	case o.SlurmJob != "":
		return ownerKey{cluster: cluster, job: o.SlurmJob}
	case o.ContainerID != "":
		return ownerKey{cluster: cluster, container: o.ContainerID}
	case o.User != "":
		return ownerKey{cluster: cluster, user: o.User}
	default:
		return ownerKey{cluster: cluster, namespace: o.Namespace}
	}
}

// owners puts devices together by who was given them. A device that several share counts for each. The worst come first.
func owners(subjects []insight.Subject, verdicts []Verdict) []OwnerVerdict {
	at := make(map[ownerKey]int)
	var list []OwnerVerdict
	for row, s := range subjects {
		for _, o := range s.Owners {
			if !o.Known() {
				continue
			}
			key := keyOf(s.Cluster, o)
			i, known := at[key]
			if !known {
				i = len(list)
				at[key] = i
				list = append(list, OwnerVerdict{Cluster: s.Cluster, Owner: o})
			}
			if n := len(list[i].Devices); n == 0 || list[i].Devices[n-1] != row {
				list[i].Devices = append(list[i].Devices, row)
			}
		}
	}
	for i := range list {
		list[i].sum(subjects, verdicts)
	}
	slices.SortStableFunc(list, func(a, b OwnerVerdict) int {
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Owner.Name(), b.Owner.Name()))
	})
	return list
}

func (o *OwnerVerdict) sum(subjects []insight.Subject, verdicts []Verdict) {
	// In an order that does not depend on the grid's, so that the same owner has the same words.
	slices.SortFunc(o.Devices, func(a, b int) int { return compareIdentity(subjects[a].Identity, subjects[b].Identity) })
	worst := o.Devices[0]
	o.Confidence = verdicts[worst].Confidence
	used, usable, whole := 0.0, 0.0, true
	counted := make(map[gpu.Identity]bool, len(o.Devices))
	for _, row := range o.Devices {
		v := verdicts[row]
		if worse(v, verdicts[worst]) {
			worst = row
		}
		o.Confidence = min(o.Confidence, v.Confidence)
		o.Missing = append(o.Missing, v.Missing...)
		if v.Usage.PeakRatio != nil {
			highest(&o.PeakRatio, *v.Usage.PeakRatio)
		}
		if h := v.Usage.HeadroomBytes; h != nil && (o.HeadroomBytes == nil || *h < *o.HeadroomBytes) {
			o.HeadroomBytes = h
		}
		if v.Batch != nil && (o.Batch == nil || v.Batch.Factor < o.Batch.Factor) {
			o.Batch = v.Batch
		}
		o.Allocator, o.Cache = worseAllocator(o.Allocator, v.Allocator), fullerCache(o.Cache, v.Cache)
		memory := subjects[row].Identity
		if memory.ComputeInstance = ""; counted[memory] {
			continue
		}
		counted[memory] = true
		if v.Usage.UsedBytes == nil || v.Usage.UsableBytes == nil {
			whole = false
			continue
		}
		used, usable = used+*v.Usage.UsedBytes, usable+*v.Usage.UsableBytes
	}
	if whole {
		o.UsedBytes, o.UsableBytes = pointer(used), pointer(usable)
	}
	o.Missing = sortedUnique(o.Missing)
	o.ID, o.Severity, o.Text = verdicts[worst].ID, verdicts[worst].Severity, verdicts[worst].Text
	if len(o.Devices) > 1 {
		o.Text = fmt.Sprintf("Worst of %d devices, %s: %s", len(o.Devices), subjects[worst].Name(), o.Text)
	}
}

func compareIdentity(a, b gpu.Identity) int {
	return cmp.Or(
		cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node), cmp.Compare(a.UUID, b.UUID),
		cmp.Compare(a.GPUInstance, b.GPUInstance), cmp.Compare(a.ComputeInstance, b.ComputeInstance),
	)
}

// worse reports whether a is worse than b: by severity, then by what is full soonest.
func worse(a, b Verdict) bool {
	if a.Severity.Rank() != b.Severity.Rank() {
		return a.Severity.Rank() > b.Severity.Rank()
	}
	if a.TimeToFull != nil && (b.TimeToFull == nil || *a.TimeToFull < *b.TimeToFull) {
		return true
	}
	return b.TimeToFull == nil && a.Usage.PeakRatio != nil && b.Usage.PeakRatio != nil && *a.Usage.PeakRatio > *b.Usage.PeakRatio
}

func worseAllocator(a, b *Allocator) *Allocator {
	if a == nil || b != nil && b.PeakBytes != nil && (a.PeakBytes == nil || *b.PeakBytes > *a.PeakBytes) {
		return b
	}
	return a
}

func fullerCache(a, b *Cache) *Cache {
	if a == nil || b != nil && b.Ratio != nil && (a.Ratio == nil || *b.Ratio > *a.Ratio) {
		return b
	}
	return a
}
