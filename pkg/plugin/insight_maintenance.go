package plugin

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/alerts"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/health"
)

// maintained is what nobody is to be bothered with at one time.
type maintained struct {
	nodes  map[nodeName]health.Maintenance
	boards map[gpu.Identity]health.Maintenance
}

// work is one maintenance, and what it is of.
type work struct {
	health.Maintenance

	whole  bool                  // of nodes, not of single boards
	covers func(gpu.Device) bool // boards; of a whole node a device that has only its name
}

// maintenance finds which of some boards and nodes somebody has announced work on, in the settings or by a silence.
func (d *Datasource) maintenance(ctx context.Context, at time.Time, subjects []insight.Subject, states []health.NodeState) (maintained, []gpu.Notice) {
	out := maintained{nodes: map[nodeName]health.Maintenance{}, boards: map[gpu.Identity]health.Maintenance{}}
	works := d.announced(at)
	var notices []gpu.Notice
	if len(d.managers) > 0 {
		said := alerts.AskSilences(ctx, d.managers)
		for _, err := range said.Failed {
			notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: "Who is in maintenance may not be known: Alertmanager " + err.Error() + "."})
		}
		works = append(works, d.silencing(said.Silences, at)...)
	}
	// What ends last is said: until then nobody needs to look.
	slices.SortStableFunc(works, func(a, b work) int { return time.UnixMilli(b.Until).Compare(time.UnixMilli(a.Until)) })
	for _, w := range works {
		w.note(out, subjects, states)
	}
	return out, notices
}

// note adds what a work covers and no other does.
func (w work) note(out maintained, subjects []insight.Subject, states []health.NodeState) {
	node := func(cluster, name string) {
		key := nodeName{cluster, name}
		if _, known := out.nodes[key]; known {
			return
		}
		if w.covers(gpu.Device{Identity: gpu.Identity{Cluster: cluster, Node: name}, Index: -1}) {
			out.nodes[key] = w.Maintenance
		}
	}
	if w.whole {
		last := nodeName{"\xff", ""}
		for i := range subjects {
			if n := (nodeName{subjects[i].Cluster, subjects[i].Node}); n != last {
				node(n.cluster, n.node)
				last = n
			}
		}
		for _, s := range states {
			node(s.Cluster, s.Node)
		}
		return
	}
	for i := range subjects {
		parent := subjects[i].Parent()
		if _, known := out.boards[parent]; !known && w.covers(subjects[i].Device) {
			out.boards[parent] = w.Maintenance
		}
	}
}

// announced is the work of the settings.
func (d *Datasource) announced(at time.Time) []work {
	var out []work
	for _, m := range d.settings.Insight.Maintenance {
		if at.Before(m.From) || !at.Before(m.Until) {
			continue
		}
		out = append(out, work{
			Maintenance: health.Maintenance{By: m.By, Why: m.Why, Until: m.Until.UnixMilli()}, whole: m.GPU == "",
			covers: func(device gpu.Device) bool { return m.Covers(device.Cluster, device.Node, device.UUID, at) },
		})
	}
	return out
}

// silencing is the work that silences announce: those that say where, and nothing of what. One that names an alert is about that
// alert, and hides no other fault.
func (d *Datasource) silencing(silences []alerts.Silence, at time.Time) []work {
	places := d.silencePlaces()
	single := append([]string{"gpu"}, d.catalog.UUIDLabels()...)
	var out []work
	for _, s := range silences {
		if s.State == "expired" || at.Before(s.Starts) || !at.Before(s.Ends) {
			continue
		}
		somewhere, whole, only := false, true, true
		for _, m := range s.Matchers {
			_, place := places[m.Name]
			somewhere = somewhere || place
			only = only && (place || anyAlert(m))
			whole = whole && !slices.Contains(single, m.Name)
		}
		if !somewhere || !only {
			continue
		}
		out = append(out, work{
			Maintenance: health.Maintenance{ID: s.ID, By: s.By, Why: s.Comment, Until: s.Ends.UnixMilli()}, whole: whole,
			covers: func(device gpu.Device) bool {
				return (s.Cluster == "" || s.Cluster == device.Cluster) && fitsPlaces(s.Matchers, places, device)
			},
		})
	}
	return out
}

// anyAlert reports whether a matcher is of every alert, which has to be said where a silence must not be empty.
func anyAlert(m alerts.Matcher) bool {
	return m.Name == "alertname" && m.Equal && m.Regex && slices.Contains([]string{".*", ".+"}, strings.TrimSpace(m.Value))
}
