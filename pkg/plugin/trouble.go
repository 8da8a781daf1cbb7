package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// namedTroubles is how many agents in trouble a stream's notices name.
const namedTroubles = 3

// troubled are the agents that a stream hears nothing of, by address, and why. It is nil until the first.
type troubled map[string]error

// status takes note of a node's state.
func (t *troubled) status(s live.NodeStatus) {
	if s.Err == nil {
		delete(*t, s.Address)
		return
	}
	if *t == nil {
		*t = troubled{}
	}
	(*t)[s.Address] = s.Err
}

// notices name the agents that are in trouble, in a stable order.
func (t troubled) notices() []gpu.Notice {
	addresses := slices.Sorted(maps.Keys(t))
	var notices []gpu.Notice
	for _, address := range addresses[:min(namedTroubles, len(addresses))] {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: "Live data is interrupted: " + t[address].Error()})
	}
	if more := len(addresses) - namedTroubles; more > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf("Live data of %d more agents is interrupted.", more)})
	}
	return notices
}

// lossEvery is how often the count of losses in a notice changes at most: each change sends the schema again.
const lossEvery = 10 * time.Second

// losses are what a stream did not show, and why. They are told as long as there are new ones. What came too late for its row
// is not among them: viewers ask for it, see refill.
type losses struct {
	samples uint64 // that were overtaken by newer ones, because packets were taken too slowly
	rows    uint64 // that were complete and did not wait for so slow a reader

	told []gpu.Notice
	last [3]uint64
	next time.Time
}

// begin leaves out what was dropped so far.
func (l *losses) begin(dropped timeline.Dropped) {
	l.last = [3]uint64{l.samples, l.rows, dropped.Ahead}
}

// notices of what was lost since the last ones.
func (l *losses) notices(now time.Time, dropped timeline.Dropped) []gpu.Notice {
	if now.Before(l.next) {
		return l.told
	}
	counts := [3]uint64{l.samples, l.rows, dropped.Ahead}
	var parts []string
	for i, text := range []string{
		"%d samples because they were read too slowly", "%d rows because Grafana took packets too slowly",
		"%d samples whose time is in the future",
	} {
		if fresh := counts[i] - l.last[i]; fresh > 0 {
			parts = append(parts, fmt.Sprintf(text, fresh))
		}
	}
	l.last, l.told = counts, nil
	if len(parts) > 0 {
		l.told = []gpu.Notice{{Severity: gpu.Warning, Text: "Not shown of the last seconds: " + strings.Join(parts, "; ") + ". The newest are shown."}}
	}
	if len(parts) > 0 || !l.next.IsZero() {
		l.next = now.Add(lossEvery)
	}
	return l.told
}
