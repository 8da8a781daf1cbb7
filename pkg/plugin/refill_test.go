package plugin

import (
	"testing"
	"time"
)

// Viewers are told once for all that comes in one go, soon of what goes on coming, and never often.
func TestRefill(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	var r refill
	r.begin(7)
	late := uint64(7)
	var told []time.Duration
	for after := time.Duration(0); after < 2*time.Minute; after += 250 * time.Millisecond {
		switch {
		case after >= time.Second && after < 3*time.Second: // an agent is back
			late += 10
		case after >= 40*time.Second && after < 80*time.Second: // one is always late
			late++
		}
		if r.due(late, start.Add(after)) {
			told = append(told, after)
		}
	}
	want := []time.Duration{3250 * time.Millisecond, 45 * time.Second, 75 * time.Second, 105 * time.Second}
	if len(told) != len(want) {
		t.Fatalf("told at %v", told)
	}
	for i := range want {
		if told[i] != want[i] {
			t.Errorf("told at %v, want %v", told, want)
		}
	}
	if custom, _ := r.custom().(map[string]any); custom["refill"] != start.Add(want[3]).UnixMilli() {
		t.Errorf("the schema says %v", r.custom())
	}
	if none := (&refill{}).custom(); none != nil {
		t.Errorf("nothing was late, and the schema says %v", none)
	}
}
