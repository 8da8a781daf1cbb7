package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// newestFirst cuts candidates that one exporter has of one device where the next of them begins. Exporters that write the
// code into a label, too, start a new series for each, and a server may repeat the one before for minutes.
func newestFirst(candidates []candidate) []candidate {
	type ranked struct {
		origin
		rank int
	}
	groups := map[ranked][]int{}
	for i, c := range candidates {
		if len(c.times) > 0 {
			at := ranked{origin{c.key, *c.from}, c.want.rank}
			groups[at] = append(groups[at], i)
		}
	}
	out := slices.Clone(candidates)
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b int) int { return cmp.Compare(out[a].times[0], out[b].times[0]) })
		for n, i := range group[:len(group)-1] {
			next := out[group[n+1]].times[0]
			if next == out[i].times[0] {
				continue // both were there from the start: the larger counts
			}
			end := sort.Search(len(out[i].times), func(k int) bool { return out[i].times[k] >= next })
			out[i].times, out[i].values = out[i].times[:end], out[i].values[:end]
		}
	}
	return out
}

// lastXID is where NVIDIA's list of XIDs ends; exporters have codes of their own beyond.
const lastXID = 172

// latchedNotices tell since when the last thing that happened is shown, and what such a metric cannot show.
func latchedNotices(metric string, series []Line, g grid) []gpu.Notice {
	var names []string
	for _, s := range series {
		last := s.Values[len(s.Values)-1]
		if last == 0 || math.IsNaN(last) {
			continue
		}
		unknown := ""
		if last > lastXID {
			unknown = " (unknown)"
		}
		name := fmt.Sprintf("%.0f%s on %s", last, unknown, s.Device.Name())
		at := len(s.Values) - 1
		for at > 0 && s.Values[at-1] == last {
			at--
		}
		switch {
		case g.instant:
		case at == 0 && s.Times[0] == g.times[0]:
			name += " since before this range"
		default:
			name += " since " + clock(s.Times[at])
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	return []gpu.Notice{{Severity: gpu.Info, Text: fmt.Sprintf("%s is the last code, not a count: %s. It stays until another code comes, and the same code "+
		"again does not show. gpu_xid_errors_total counts each (the agent's, or DCGM_EXP_XID_ERRORS_TOTAL of dcgm-exporter).", metric, listed(names))}}
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }
