package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// howToProcesses is what a data source without agents needs for a list of processes.
const howToProcesses = "Processes come from warpwatch-agent alone: install it on the GPU nodes, and let Prometheus scrape it so that it is found, " +
	"or name its address in the data source's settings under agents."

// processes answers with the processes that use the GPUs of the scope now. Only agents know them.
func (d *Datasource) processes(ctx context.Context, r request) (data.Frames, error) {
	reach := reachOf(r.query, r.window.From, r.window.To, r.now)
	var got live.NowResult
	if reach.continues {
		got = d.live.Now(ctx, selectProcesses(r.query.Scope))
	} else if len(reach.notices) == 0 {
		reach.notices = []gpu.Notice{{Severity: gpu.Warning, Text: "Processes are known of now only: let the range end now."}}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rows, notices := processRows(got, r.query.Scope)
	notices = append(reach.notices, append(got.Notices, notices...)...)
	if len(rows) == 0 && reach.continues {
		if len(got.Nodes) > 0 && !slices.ContainsFunc(got.Nodes, func(n live.NodeNow) bool { return n.Processes != nil || n.Schema != nil }) {
			err := &sidesError{cause: errors.New("no agent can be reached"), text: "No processes are known. " + textOfNotices(got.Notices)}
			return nil, err
		}
		notices = append(notices, noProcesses(got, r.query.Scope))
	}
	o := frames.Options{Executed: fmt.Sprintf("# live: processes of %d agents", len(got.Nodes))}
	if r.static {
		o.Notices = d.shown(notices)
		return data.Frames{frames.ProcessNumbers(rows, o)}, nil
	}
	rows, cut := limitProcesses(rows, r.query.Rows())
	notices = append(notices, cut...)
	if r.query.Live && reach.continues && len(got.Nodes) > 0 {
		custom, notice := d.goesOn(ctx, r, len(rows), modeReplace, false)
		o.Custom, notices = custom, append(notices, notice...)
	}
	o.Notices = d.shown(notices)
	return data.Frames{frames.Processes(rows, o)}, nil
}

func selectProcesses(scope query.Scope) live.Select {
	selected := selectNodes(scope)
	selected.Processes = true
	return selected
}

// noProcesses says why a list is empty.
func noProcesses(got live.NowResult, scope query.Scope) gpu.Notice {
	known := 0
	for _, n := range got.Nodes {
		if n.Processes != nil {
			known++
		}
	}
	selected := ""
	if text := scope.String(); text != "" {
		selected = " Selected: " + text + "."
	}
	switch {
	case len(got.Nodes) == 0:
		return gpu.Notice{Severity: gpu.Warning, Text: "No agent was found." + selected + " " + howToProcesses}
	case known == 0:
		return gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf("None of the %d agents sent a list of processes. "+
			"Let warpwatch-agent see the processes of its node (hostPID in Kubernetes), and upgrade it if it is old.", len(got.Nodes))}
	}
	return gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("No process uses a GPU of the selection now, say %d of %d agents.%s", known, len(got.Nodes), selected)}
}

// processRows are the processes in the scope, by device and then by memory.
func processRows(got live.NowResult, scope query.Scope) ([]gpu.Process, []gpu.Notice) {
	var rows []gpu.Process
	var notices []gpu.Notice
	unmeasured := 0
	for _, n := range got.Nodes {
		if n.Processes == nil {
			continue
		}
		if why := n.Processes.Incomplete; why != "" {
			notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf("The list of %s is not complete: %s.", n.Status.Target, why)})
		}
		for _, p := range n.Processes.List {
			if !scope.Matches(p.Device) || scope.ByOwner() && !scope.MatchesOwner(p.Owner.Namespace, p.Owner.Pod, p.Owner.SlurmJob) {
				continue
			}
			if !p.MemoryBytes.OK() {
				unmeasured++
			}
			rows = append(rows, p)
		}
	}
	if unmeasured > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("The driver does not tell the memory of %d of %d processes "+
			"(unified memory, WSL, or a container without permission); their cells are empty.", unmeasured, len(rows))})
	}
	slices.SortStableFunc(rows, func(a, b gpu.Process) int {
		return cmp.Or(frames.CompareDevices(a.Device, b.Device), -cmp.Compare(a.MemoryBytes.Value, b.MemoryBytes.Value), cmp.Compare(a.PID, b.PID))
	})
	return rows, notices
}

// limitProcesses keeps so many rows, those with the most memory.
func limitProcesses(rows []gpu.Process, most int) ([]gpu.Process, []gpu.Notice) {
	if len(rows) <= most {
		return rows, nil
	}
	largest := slices.Clone(rows)
	slices.SortStableFunc(largest, func(a, b gpu.Process) int { return -cmp.Compare(a.MemoryBytes.Value, b.MemoryBytes.Value) })
	largest = largest[:most]
	slices.SortStableFunc(largest, func(a, b gpu.Process) int { return frames.CompareDevices(a.Device, b.Device) })
	return largest, []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"Showing %d of %d processes, those with the most memory: narrow the query, or set maxRows (up to %d).", most, len(rows), query.MaxRowsLimit)}}
}

func textOfNotices(notices []gpu.Notice) string {
	text := ""
	for _, n := range notices {
		text += n.Text + " "
	}
	return text + howToProcesses
}
