package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/events"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// ownersOfRange is who had which device within the range: events of one job belong together.
func (d *Datasource) ownersOfRange(ctx context.Context, r request, withLive bool) stock {
	r.static = true // nobody needs values
	return d.stock(ctx, r, withLive, r.window.From)
}

// jobs tells the names of the workloads of a board, and of its instances.
func (s stock) jobs(r request) func(gpu.Device) []string {
	byBoard := map[board][]string{}
	for _, row := range s.rows(r.query.Scope, r.window.To, r.now) {
		b := boardOf(row.Device)
		b.instance = ""
		for _, o := range row.Owners {
			if name := jobOf(o); name != "" && !slices.Contains(byBoard[b], name) {
				byBoard[b] = append(byBoard[b], name)
			}
		}
	}
	return func(d gpu.Device) []string {
		b := boardOf(d)
		b.instance = ""
		return byBoard[b]
	}
}

// jobOf is the name of what an owner is a part of: a Slurm job, or pods that are numbered or named after one controller.
func jobOf(o gpu.Owner) string {
	switch {
	case o.SlurmJob != "":
		return "job " + o.SlurmJob
	case o.Pod == "":
		return ""
	}
	stem := strings.TrimRight(o.Pod, "0123456789")
	if stem != o.Pod && strings.HasSuffix(stem, "-") {
		return o.Namespace + "/" + strings.TrimSuffix(stem, "-")
	}
	return o.Namespace + "/" + o.Pod
}

// grouped answers with a row for each group of related events, or for a rule with how many groups there were of each severity.
func (d *Datasource) grouped(r request, list []gpu.Event, groups []events.Group, o frames.Options) (data.Frames, error) {
	if r.static {
		o.Notices = d.shown(o.Notices)
		return data.Frames{groupCounts(groups, o)}, nil
	}
	if n, most := len(groups), r.query.Rows(); n > most {
		groups = groups[n-most:]
		o.Notices = append(o.Notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Showing the newest %d of %d groups of events: shorten the range, or set maxRows (up to %d).", most, n, query.MaxRowsLimit)})
	}
	o.Notices = d.shown(o.Notices)
	return data.Frames{eventGroups(list, groups, o)}, nil
}

// eventGroups is a row for each group of a list of events.
func eventGroups(list []gpu.Event, groups []events.Group, o frames.Options) *data.Frame {
	root := func(g events.Group) gpu.Event { return list[g.Root] }
	t := frames.SheetOf(groups)
	t.At("time", func(g events.Group) time.Time { return g.From })
	t.At("timeEnd", func(g events.Group) time.Time {
		if !g.Until.After(g.From) {
			return time.Time{}
		}
		return g.Until
	})
	t.Text("title", func(g events.Group) string { return frames.EventTitle(root(g)) })
	t.Text("text", func(g events.Group) string {
		parts := []string{root(g).Device.Name(), root(g).Detail, g.Text}
		return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n")
	})
	t.Text("tags", func(g events.Group) string {
		return strings.Join([]string{string(g.Scope), root(g).Kind, g.Severity.String()}, ",")
	})
	t.Text("severity", func(g events.Group) string { return g.Severity.String() }).Coloured(severityColours())
	t.Text("scope", func(g events.Group) string { return string(g.Scope) })
	t.Text("kind", func(g events.Group) string { return root(g).Kind })
	t.Device(func(g events.Group) gpu.Device { return root(g).Device })
	t.Code("xid", func(g events.Group) uint64 { return root(g).XID })
	t.Text("with", func(g events.Group) string { return g.Text })
	t.Text("job", func(g events.Group) string { return g.Job })
	t.Number("events", gpu.Count, "", func(g events.Group) gpu.Reading { return gpu.Read(float64(len(g.Events))) })
	t.Number("gpus", gpu.Count, "That it touches.", func(g events.Group) gpu.Reading { return gpu.Read(float64(g.GPUs)) })
	t.Text("nodes", func(g events.Group) string { return fewNames(g.Nodes) })
	return t.Table("events_grouped", o)
}

// groupFeed continues groups of events: what happens is judged within about a second, what fires every 15 s.
func (d *Datasource) groupFeed(c channel, q query.Query) feed {
	empty := func(o frames.Options) *data.Frame { return eventGroups(nil, nil, o) }
	return &judgedFeed{
		selected: selectEvents(q.Scope), empty: empty(frames.Options{}),
		answer: d.answerNow(c, q, d.events, "Events could not be grouped: ", empty),
	}
}

// fewNames joins names, and counts those that are too many.
func fewNames(names []string) string {
	if more := len(names) - namedDevices; more > 0 {
		return strings.Join(names[:namedDevices], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// groupCounts is how many groups there were of each severity; zeros where there were none.
func groupCounts(groups []events.Group, o frames.Options) *data.Frame {
	counts := map[insight.Severity]float64{}
	for _, g := range groups {
		counts[g.Severity]++
	}
	all := []insight.Severity{insight.Critical, insight.Warning, insight.Info}
	slices.SortFunc(all, func(a, b insight.Severity) int { return cmp.Compare(b, a) })
	t := frames.SheetOf(all)
	t.Text("severity", insight.Severity.String)
	t.Number("groups", gpu.Count, "", func(s insight.Severity) gpu.Reading { return gpu.Read(counts[s]) })
	return t.Numbers("events_grouped", o)
}
