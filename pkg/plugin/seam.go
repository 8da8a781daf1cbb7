package plugin

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// seam is an answer's input, sorted by whether a stream can continue it. All of continued begins to be live at one
// time: rows are shared, and a column that is still on history's coarser grid would be full of gaps beside one that is
// live.
type seam struct {
	history, live []gpu.Series // of lines that agents continue
	rest          []gpu.Series // history of the others
	partial       []string     // groups that are on history though agents know some of their devices
}

// sew separates devices, or for an aggregate whole groups of them: a group that agents know only in part would change
// its meaning at the seam, so it stays on history.
//
// A device that was gone before current does not make its group one that agents know in part.
func sew(history, live []gpu.Series, by timeline.By, step time.Duration, current time.Time) seam {
	live = fromCommonStart(live, step)
	present := make(map[board]bool, len(live))
	for _, l := range live {
		present[boardOf(l.Device)] = true
	}
	partial := map[string]bool{} // groups with a device that no agent continues
	if by != timeline.ByIdentity {
		for _, h := range history {
			if n := len(h.Times); !present[boardOf(h.Device)] && n > 0 && h.Times[n-1] >= current.UnixMilli() {
				partial[groupOf(h.Device, by)] = true
			}
		}
	}
	var s seam
	continued := map[string]bool{} // groups that agents know devices of
	if by != timeline.ByIdentity {
		for _, l := range live {
			continued[groupOf(l.Device, by)] = true
		}
	}
	for _, h := range history {
		if group := groupOf(h.Device, by); (present[boardOf(h.Device)] || continued[group]) && !partial[group] {
			s.history = append(s.history, h)
		} else {
			s.rest = append(s.rest, h)
		}
	}
	for _, l := range live {
		switch group := groupOf(l.Device, by); {
		case !partial[group]:
			s.live = append(s.live, l)
		case !slices.Contains(s.partial, group):
			s.partial = append(s.partial, group)
		}
	}
	return s
}

// begins is when the live samples begin that follow history's, Unix milliseconds, 0 where there are not both.
func (s seam) begins() int64 {
	if len(s.history) == 0 || len(s.live) == 0 {
		return 0
	}
	begin := s.live[0].Times[0]
	for _, l := range s.live {
		begin = min(begin, l.Times[0])
	}
	return begin
}

// rateNotice tells that a counter's rates are over other spans on both sides of the seam, where a step is no change.
func rateNotice(s seam, history, live time.Duration) (gpu.Notice, bool) {
	if s.begins() == 0 || history < 2*live {
		return gpu.Notice{}, false
	}
	return gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(
		"History's rates are over %s each and live ones over %s, so that the line is less smooth from %s on.",
		history, live, time.UnixMilli(s.begins()).UTC().Format("15:04:05 UTC"))}, true
}

// notices tell which aggregates have no live part though some could be expected.
func (s seam) notices() []gpu.Notice {
	if len(s.partial) == 0 {
		return nil
	}
	const shown = 5
	names := strings.Join(s.partial[:min(shown, len(s.partial))], ", ")
	if more := len(s.partial) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return []gpu.Notice{{Severity: gpu.Info, Text: "No live data, because agents know only some of the GPUs: " +
		strings.ReplaceAll(names, groupSeparator, " ") + "."}}
}

// fromCommonStart cuts all series at the latest of their beginnings, on the grid, and leaves out those that had ended by then.
func fromCommonStart(live []gpu.Series, step time.Duration) []gpu.Series {
	var start int64
	for _, l := range live {
		if len(l.Times) > 0 {
			start = max(start, l.Times[0])
		}
	}
	if ms := step.Milliseconds(); ms > 0 {
		start -= start % ms
	}
	kept := make([]gpu.Series, 0, len(live))
	for _, l := range live {
		at := sort.Search(len(l.Times), func(i int) bool { return l.Times[i] >= start })
		if at == len(l.Times) {
			continue
		}
		l.Times, l.Values = l.Times[at:], l.Values[at:]
		kept = append(kept, l)
	}
	return kept
}

// board is what all sources agree on about a device: exporters write node names in ways of their own, UUIDs are unique.
type board struct{ cluster, uuid, instance, node string }

func boardOf(d gpu.Device) board {
	b := board{cluster: d.Cluster, uuid: d.UUID, instance: d.GPUInstance}
	if d.UUID == "" {
		b.node = d.Node
	}
	return b
}

// groupSeparator stands in no name.
const groupSeparator = "\xff"

// groupOf names the line that a device is part of.
func groupOf(d gpu.Device, by timeline.By) string {
	switch by {
	case timeline.ByNode:
		return strings.TrimPrefix(d.Cluster+groupSeparator+d.Node, groupSeparator)
	case timeline.ByCluster:
		return d.Cluster
	case timeline.ByModel:
		return gpu.ShortModel(d.Model)
	}
	return ""
}

// lastComplete is the time of the newest bin that holds all it will ever hold: it is over, or every line has its one
// sample of it. Later bins are in the answer too, with what is known of them; the stream sends them again when they
// are complete.
func lastComplete(series []gpu.Series, step, period time.Duration, now time.Time) int64 {
	ms := step.Milliseconds()
	last := (now.UnixMilli()/ms - 1) * ms
	if period < step || len(series) == 0 {
		return last
	}
	newest := last + ms
	for _, s := range series {
		if n := len(s.Times); n == 0 || s.Times[n-1] < newest {
			return last
		}
	}
	return newest
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
