package plugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/insight/efficiency"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// tenures are who had each device of a judgement when. They are nil where history does not tell of any device: the owners at the
// end of the range then stand for all of it, as they do for single devices that it does not tell of, which is said.
func (j *judgement) tenures(ctx context.Context) ([]efficiency.Tenure, []gpu.Notice) {
	past, ok := j.history.(interface {
		Holdings(ctx context.Context, scope query.Scope, w query.Window) history.Holdings
	})
	grid := j.gathered.devices
	if !ok || j.request.query.Source == query.SourceLive || len(grid.Times) == 0 {
		return nil, nil
	}
	found := past.Holdings(ctx, j.gathered.scope, j.gathered.window)
	if found.Err != nil {
		return nil, []gpu.Notice{{Severity: gpu.Warning, Text: "Who had GPUs before the end of the range is not known: " + found.Err.Error() + "."}}
	}
	if len(found.Devices) == 0 {
		return nil, nil
	}
	known := make(map[board][]history.Tenure, len(found.Devices))
	for _, d := range found.Devices {
		if d.Tenures == nil {
			d.Tenures = []history.Tenure{}
		}
		known[boardOf(d.Device)] = d.Tenures
	}
	out, uncertain := []efficiency.Tenure{}, 0
	for i := range grid.Subjects {
		of, told := known[boardOf(grid.Subjects[i].Device)]
		gone := strings.HasPrefix(j.gathered.rows[i].State, "gone")
		all, certain := j.tenuresOf(i, of, gone && told)
		out = append(out, all...)
		if !certain {
			uncertain++
		}
	}
	if len(out) == 0 {
		return nil, nil // nobody had anything, as far as anyone knows
	}
	if uncertain > 0 {
		return out, []gpu.Notice{{Severity: gpu.Info, Text: fmt.Sprintf(
			"Since when the owners of %d of %d GPUs and MIG instances have them is not known: they count for the whole range.", uncertain, len(grid.Subjects))}}
	}
	return out, nil
}

// tenuresOf is who had one device. Its owners at the end are those that it has now, of whom more is known; certain tells
// whether history shows of each since when.
func (j *judgement) tenuresOf(i int, past []history.Tenure, gone bool) (all []efficiency.Tenure, certain bool) {
	grid := j.gathered.devices
	first, end := grid.Times[0], grid.Times[len(grid.Times)-1]+grid.Step.Milliseconds()
	last := end - grid.Step.Milliseconds()
	used := make([]bool, len(past))
	certain = true
	if !gone {
		for _, o := range grid.Subjects[i].Owners {
			from, found := end, false
			for k, t := range past {
				if t.To.UnixMilli() >= last && sameOwner(t.Owner, o) {
					from, found, used[k] = min(from, t.From.UnixMilli()), true, true
				}
			}
			if !found {
				from, certain = first, false
			}
			all = append(all, efficiency.Tenure{Subject: i, Owners: []gpu.Owner{o}, From: from, To: end})
		}
	}
	for k, t := range past {
		if !used[k] {
			all = append(all, efficiency.Tenure{Subject: i, Owners: []gpu.Owner{t.Owner}, From: t.From.UnixMilli(), To: t.To.UnixMilli()})
		}
	}
	return all, certain
}

// sameOwner reports whether two sources mean the same workload.
func sameOwner(a, b gpu.Owner) bool {
	if a.Pod != "" || b.Pod != "" {
		return a.Pod == b.Pod && a.Namespace == b.Namespace
	}
	if a.SlurmJob != "" || b.SlurmJob != "" {
		return a.SlurmJob == b.SlurmJob
	}
	return a.ContainerID == b.ContainerID && a.User == b.User
}
