package plugin

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// heldFor adds the default fields of GPU i of node n1 from a second until another, when Prometheus learns that the series have ended.
// Labels are pairs.
func heldFor(s *promtest.Store, i, from, to int, value float64, labels ...string) {
	for _, name := range []string{"DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE"} {
		all := map[string]string{
			"__name__": name, "gpu": fmt.Sprint(i), "UUID": fmt.Sprintf("GPU-n1-%d", i), "modelName": "NVIDIA H100 80GB HBM3", "Hostname": "n1",
			"instance": "n1:9400", "job": "dcgm",
		}
		for j := 0; j < len(labels); j += 2 {
			all[labels[j]] = labels[j+1]
		}
		points := every15s(func(second int) float64 {
			if second < from || second >= to {
				return math.NaN()
			}
			return value
		})
		last := points[len(points)-1].Time
		s.Add(all, append(points, promtest.Point{Time: last + 15_000, Value: promtest.Stale()})...)
	}
}

func ofPod(namespace, pod string) []string {
	return []string{"namespace", namespace, "pod", pod, "container", "main"}
}

const hoursByOwner = `{"queryType":"efficiency","minStep":"1m","options":{"by":["namespace"],"show":"groups","limits":{"idleMinutes":2}}}`

// Hours are those of whoever had a GPU at the time, whoever has it at the end.
func TestOwnersCountForTheirTime(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		heldFor(s, 0, -900, 315, 0.9, ofPod("old", "a")...)
		heldFor(s, 0, 315, 900, 0.9, ofPod("new", "b")...)
		heldFor(s, 1, -900, 900, 0.9, ofPod("ml", "c")...)
		heldFor(s, 2, -900, 255, 0.9, ofPod("gone", "d")...)
		heldFor(s, 2, 255, 900, 0)
	})
	answer := answerTo(t, d, hoursByOwner)
	minutes := func(m float64) string { return fmt.Sprint(m / 60) }
	want := []string{"ml|" + minutes(10) + "|0", "new|" + minutes(5) + "|0", "old|" + minutes(5) + "|0", "gone|" + minutes(4) + "|0", "|0|" + minutes(6)}
	if got := cellTexts(t, answer[0], "namespace", "allocated_hours", "unallocated_hours"); !sameRows(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if text := noticeTexts(answer); strings.Contains(text, "at the end of the range") || strings.Contains(text, "Since when") {
		t.Errorf("notices %s", text)
	}
}

// Where nothing names an owner in history, that of the end counts for the whole range, and the answer says so.
func TestOwnersWithoutAPast(t *testing.T) {
	at := func(minute int) time.Time { return recordedAt.Add(time.Duration(minute) * time.Minute) }
	pod := func(name string) gpu.Owner { return gpu.Owner{Namespace: "ml", Pod: name, Source: "exporter"} }
	user := gpu.Owner{Namespace: "ml", Pod: "b", User: "ada", Source: "kubelet"}
	grid := insight.NewGrid(at(0), at(10), time.Minute, []insight.Subject{{Owners: []gpu.Owner{user}}})
	j := &judgement{gathered: &gathered{devices: grid}}
	past := []history.Tenure{{Owner: pod("a"), From: at(-1), To: at(4)}, {Owner: pod("b"), From: at(4), To: at(10)}}

	all, certain := j.tenuresOf(0, past, false)
	if !certain || len(all) != 2 || all[0].Owners[0] != user || all[0].From != at(4).UnixMilli() || all[1].Owners[0] != pod("a") || all[1].To != at(4).UnixMilli() {
		t.Errorf("%+v", all)
	}
	all, certain = j.tenuresOf(0, past[:1], false)
	if certain || len(all) != 2 || all[0].From != at(0).UnixMilli() {
		t.Errorf("without a beginning: %+v", all)
	}
	// Whose a device was that is gone says nothing of the end.
	if all, certain = j.tenuresOf(0, past[:1], true); !certain || len(all) != 1 || all[0].Owners[0] != pod("a") {
		t.Errorf("gone: %+v", all)
	}
	d := exported(t, func(s *promtest.Store) { heldFor(s, 0, -900, 900, 0.9) })
	if text := noticeTexts(answerTo(t, d, hoursByOwner)); !strings.Contains(text, "No owner of any GPU is known") {
		t.Errorf("notices %s", text)
	}
}
