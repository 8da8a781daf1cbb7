package efficiency

import (
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Tenure is who had a device for a stretch of time. Several at the same time share the device.
type Tenure struct {
	Subject  int // of the grid
	Owners   []gpu.Owner
	From, To int64 // Unix milliseconds, To is the first that is not in it
}

// The names that groups have where an owner has none.
const (
	// NotOwned is the name of what nobody has: unallocated, broken and absent hours.
	NotOwned = ""
	// Unattributed is the name of an owner that shows by its work or its processes and that nobody names.
	Unattributed = "(unattributed)"
	// Unnamed is a known owner's name in a dimension that it has none in: the job of a pod.
	Unnamed = "(none)"
)

// notGiven marks owners that use a device that somebody else was given, or nobody.
const notGiven = "not_given"

// holders are the workloads that share a device, one for each share. Of several sources the most trusted counts; what it
// does not know of a single holder, others add. given is false when they only run there.
func holders(owners []gpu.Owner) (shares []gpu.Owner, given bool) {
	var first *gpu.Owner
	for i := range owners {
		if o := &owners[i]; o.Known() && (first == nil || first.Conflict == notGiven && o.Conflict != notGiven) {
			first = o
		}
	}
	if first == nil {
		return nil, false
	}
	given = first.Conflict != notGiven
	for _, o := range owners {
		if !o.Known() || o.Source != first.Source || (o.Conflict != notGiven) != given {
			continue
		}
		o.Container, o.ContainerID, o.SlurmStep = "", "", "" // containers of a pod and steps of a job are one holder
		if !slices.Contains(shares, o) {
			shares = append(shares, o)
		}
	}
	if len(shares) == 1 && given {
		complete(&shares[0], owners)
	}
	return shares, given
}

// complete adds what other sources know of the only holder of a device.
func complete(o *gpu.Owner, owners []gpu.Owner) {
	for _, other := range owners {
		if other.Conflict == notGiven {
			continue
		}
		if o.Namespace == "" && o.Pod == "" {
			o.Namespace, o.Pod = other.Namespace, other.Pod
		}
		if o.SlurmJob == "" {
			o.SlurmJob = other.SlurmJob
		}
		if o.User == "" {
			o.User = other.User
		}
	}
}

// tenancy is a stretch of steps in which a device has the same holders.
type tenancy struct {
	from, to int // steps
	shares   []gpu.Owner
	given    bool
}

// tenancies are the stretches of a device. Tenures count by the middle of a step.
func (r *run) tenancies(buffer []tenancy, subject int, owners []gpu.Owner) []tenancy {
	steps := len(r.times)
	if r.tenures == nil {
		shares, given := holders(owners)
		return append(buffer, tenancy{0, steps, shares, given})
	}
	mine := r.tenures[subject]
	if len(mine) == 0 {
		return append(buffer, tenancy{to: steps})
	}
	cuts := []int{0, steps}
	for _, t := range mine {
		cuts = append(cuts, r.stepAt(t.From), r.stepAt(t.To))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for i := range len(cuts) - 1 {
		var owners []gpu.Owner
		for _, t := range mine {
			if r.stepAt(t.From) <= cuts[i] && cuts[i+1] <= r.stepAt(t.To) {
				owners = append(owners, t.Owners...)
			}
		}
		shares, given := holders(owners)
		if n := len(buffer); n > 0 && buffer[n-1].to == cuts[i] && buffer[n-1].given == given && slices.Equal(buffer[n-1].shares, shares) {
			buffer[n-1].to = cuts[i+1]
			continue
		}
		buffer = append(buffer, tenancy{cuts[i], cuts[i+1], shares, given})
	}
	return buffer
}

// stepAt is the first step whose middle is at or behind a time.
func (r *run) stepAt(ms int64) int {
	i, _ := slices.BinarySearch(r.times, ms-r.stepMS/2)
	return i
}
