package timeline

import (
	"slices"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestMergeEvents(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1793400000+int64(seconds), 0).UTC() }
	event := func(seconds int, uuid string, xid uint64, seq uint64) gpu.Event {
		node := "gpu01"
		if seq == 0 {
			node = "gpu01.example.net" // an exporter's own idea
		}
		return gpu.Event{Time: at(seconds), Kind: gpu.KindXID, XID: xid, Seq: seq, Device: gpu.Device{Identity: gpu.Identity{Node: node, UUID: uuid}}}
	}
	live := []gpu.Event{event(100, "a", 31, 1), event(101, "a", 31, 2), event(300, "b", 79, 3), event(300, "b", 79, 3)}
	history := []gpu.Event{
		event(130, "a", 31, 0), // both of them, as a scrape saw them
		event(130, "a", 43, 0), // another code
		event(130, "c", 31, 0), // another GPU
		event(250, "b", 79, 0), // long before
		event(346, "b", 79, 0), // too late: again
		event(299, "b", 79, 0), // the same, clocks differ
	}
	got := MergeEvents(live, history, 30*time.Second)
	want := []gpu.Event{live[0], live[1], history[1], history[2], history[3], live[2], history[4]}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got := MergeEvents(nil, nil, 0); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
