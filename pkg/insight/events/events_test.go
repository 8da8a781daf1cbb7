package events

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

var start = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// event of a device "n1/GPU-1", a node "n1" or nothing, so many seconds after the start.
func event(second int, where, kind string, xid uint64) gpu.Event {
	node, uuid, _ := strings.Cut(where, "/")
	return gpu.Event{Time: start.Add(time.Duration(second) * time.Second), Kind: kind, XID: xid, Device: gpu.Device{Identity: gpu.Identity{Node: node, UUID: uuid}}}
}

func lines(list []gpu.Event, groups []Group) []string {
	var out []string
	for _, g := range groups {
		root := list[g.Root]
		out = append(out, strings.TrimSpace(fmt.Sprint(g.Scope, " ", g.Severity, " ", nameOf(root), " ", len(g.Events), " events, ", g.GPUs, " GPUs, ", strings.Join(g.Nodes, "+"), " ", g.Job, ": ", g.Text)))
	}
	return out
}

func TestCorrelate(t *testing.T) {
	train := func(d gpu.Device) []string {
		if d.UUID == "GPU-9" {
			return nil
		}
		return []string{"train"}
	}
	alert := event(90, "n1", gpu.KindAlert, 0)
	alert.Detail = "GpuMissing: n1 reports 7 GPUs"
	silence := event(120, "n1", gpu.KindSilence, 0)
	for name, c := range map[string]struct {
		list []gpu.Event
		jobs func(gpu.Device) []string
		want []string
	}{
		"a GPU falls off the bus": {
			[]gpu.Event{
				event(2, "n1/GPU-1", gpu.KindXID, 45), event(0, "n1/GPU-1", gpu.KindXID, 79), event(3, "n1/GPU-1", gpu.KindXID, 154), event(30, "n1/GPU-1", gpu.KindLost, 0),
				alert, silence,
			}, nil,
			[]string{"gpu critical XID 79 5 events, 1 GPUs, n1 : XID 154, XID 45, alert GpuMissing, lost", "node info silence 1 events, 0 GPUs, n1 :"},
		},
		"what follows comes first in the log": {
			[]gpu.Event{event(0, "n1/GPU-1", gpu.KindXID, 45), event(1, "n1/GPU-1", gpu.KindXID, 48)}, nil,
			[]string{"gpu critical XID 48 2 events, 1 GPUs, n1 : XID 45"},
		},
		"a job ends on all its nodes": {
			[]gpu.Event{
				event(0, "n1/GPU-1", gpu.KindXID, 79), event(5, "n2/GPU-2", gpu.KindXID, 45), event(6, "n3/GPU-3", gpu.KindXID, 45), event(7, "n4/GPU-9", gpu.KindXID, 45),
				event(8, "n5/GPU-5", gpu.KindThrottle, 0),
			}, train,
			[]string{"job critical XID 79 3 events, 3 GPUs, n1+n2+n3 train: XID 45 ×2", "gpu info XID 45 1 events, 1 GPUs, n4 :", "gpu warning throttle 1 events, 1 GPUs, n5 :"},
		},
		"links of a node": {
			[]gpu.Event{event(0, "n1/GPU-1", gpu.KindXID, 74), event(1, "n1/GPU-2", gpu.KindXID, 74), event(4, "n1/GPU-2", gpu.KindXID, 45)}, nil,
			[]string{"fabric critical XID 74 3 events, 2 GPUs, n1 : XID 45, XID 74"},
		},
		"the window": {
			[]gpu.Event{event(0, "n1/GPU-1", gpu.KindXID, 31), event(600, "n1/GPU-1", gpu.KindXID, 31), event(1201, "n1/GPU-1", gpu.KindXID, 31)}, nil,
			[]string{"gpu warning XID 31 2 events, 1 GPUs, n1 : XID 31", "gpu warning XID 31 1 events, 1 GPUs, n1 :"},
		},
		"other nodes": {
			[]gpu.Event{event(0, "n1/GPU-1", gpu.KindXID, 79), event(0, "n2/GPU-2", gpu.KindXID, 79), event(1, "", gpu.KindAlert, 0)}, nil,
			[]string{"gpu critical XID 79 1 events, 1 GPUs, n1 :", "gpu critical XID 79 1 events, 1 GPUs, n2 :", "cluster warning alert  1 events, 0 GPUs,  :"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, lines(c.list, Correlate(c.list, c.jobs, DefaultWindow)))
		})
	}
}

// Every event is in one group, groups hold nothing else, and the order of the list does not matter.
func TestCorrelateKeepsAll(t *testing.T) {
	kinds := []string{gpu.KindXID, gpu.KindLost, gpu.KindAlert, gpu.KindSilence, gpu.KindThrottle, "new_kind"}
	rapid.Check(t, func(rt *rapid.T) {
		var list []gpu.Event
		for i := range rapid.IntRange(0, 30).Draw(rt, "n") {
			e := event(i*7+rapid.IntRange(0, 5).Draw(rt, "at")*900, rapid.SampledFrom([]string{"n1/GPU-1", "n1/GPU-2", "n2/GPU-3", "n2", ""}).Draw(rt, "where"),
				rapid.SampledFrom(kinds).Draw(rt, "kind"), rapid.SampledFrom([]uint64{0, 31, 45, 74, 79, 99999}).Draw(rt, "xid"))
			if rapid.Bool().Draw(rt, "lasts") {
				e.Until = e.Time.Add(time.Duration(rapid.IntRange(-60, 3600).Draw(rt, "for")) * time.Second)
			}
			list = append(list, e)
		}
		jobs := func(d gpu.Device) []string { return []string{d.Node, "all"}[:len(d.Node)] }
		seen := map[int]int{}
		groups := Correlate(list, jobs, DefaultWindow)
		for _, g := range groups {
			require.Contains(rt, g.Events, g.Root)
			require.False(rt, g.Until.Before(g.From))
			for _, i := range g.Events {
				seen[i]++
				require.LessOrEqual(rt, causeOf(list[i]), causeOf(list[g.Root]))
			}
		}
		require.Len(rt, seen, len(list))
		for _, n := range seen {
			require.Equal(rt, 1, n)
		}
		shuffled := rapid.Permutation(list).Draw(rt, "order")
		require.Len(rt, Correlate(shuffled, jobs, DefaultWindow), len(groups))
	})
}

func TestOptions(t *testing.T) {
	require.NoError(t, Options{Group: true, WindowMinutes: 5}.Validate())
	assert.Equal(t, 5*time.Minute, Options{WindowMinutes: 5}.Window())
	assert.Equal(t, DefaultWindow, Options{}.Window())
	require.ErrorContains(t, Options{Group: true, WindowMinutes: 1e9}.Validate(), "windowMinutes: 1e+09 must be from 0 to 1440")
	require.ErrorContains(t, Options{WindowMinutes: 5}.Validate(), "set group, too")
	assert.Equal(t, insight.Info, severityOf(gpu.Event{Kind: gpu.KindSilence}))
}
