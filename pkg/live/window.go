package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// WindowResult is the minutes before now of one metric.
type WindowResult struct {
	Series []gpu.Series  // raw samples, one series for each device that reports the metric
	Period time.Duration // the longest of the nodes' sampling periods; 0 when none is known
	// Interval is how far apart the metric is measured where that is longest. Samples between repeat the last value.
	Interval time.Duration
	Nodes    []NodeStatus // of every node that matched
	Notices  []gpu.Notice // what is missing and why
}

// Window reads a metric out of the rings, and connects to the nodes that match and are not connected. It waits for
// those at most as long as the selection says, or ctx does, and answers with what is there. The nodes stay connected
// for a while. The answer's slices are the caller's.
func (h *Hub) Window(ctx context.Context, selected Select) WindowResult {
	ctx, cancel := context.WithTimeout(ctx, selected.Wait)
	defer cancel()
	var result WindowResult
	since := selected.Since
	if since.IsZero() {
		since = time.Now().Add(-h.cfg.Keep)
	}
	nodes, tooMany, err := h.look(ctx, selected, since)
	defer h.lookAway(nodes, selected)
	if err != nil {
		result.Notices = append(result.Notices, gpu.Notice{Severity: gpu.Warning, Text: sentence(err.Error())})
	}
	for _, n := range nodes {
		if n.waitSettled(ctx) {
			n.waitReach(ctx)
		}
	}

	var dropped []string
	var droppedTo time.Time
	for _, n := range nodes {
		n.mu.Lock()
		status := n.status()
		if selected.matches(n.where) {
			result.Nodes = append(result.Nodes, status)
			result.Series = append(result.Series, n.ring.series(selected.Metric, selected.Since.UnixMilli())...)
			result.Period = max(result.Period, status.Period)
			n.reach.read = time.Now()
			if from, lost := n.lost(since); lost {
				dropped = append(dropped, n.where.String())
				if from.After(droppedTo) {
					droppedTo = from
				}
			}
			if n.schema != nil {
				result.Interval = max(result.Interval, n.schema.Interval(selected.Metric))
			}
		}
		n.mu.Unlock()
	}
	sortNodes(result.Nodes)

	result.Notices = append(result.Notices, h.notices(result.Nodes, tooMany)...)
	if len(dropped) > 0 {
		result.Notices = append(result.Notices, h.roomNotice(dropped, droppedTo))
	}
	return result
}

// look looks at every node that matches, and waits for the first list of targets to do so. It also says how many were
// too many. since is from when on samples are wanted, zero: the newest.
func (h *Hub) look(ctx context.Context, selected Select, since time.Time) (nodes []*node, tooMany int, err error) {
	err = h.refresh(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, 0, err
	}
	h.watch()
	for _, t := range h.targets() {
		if !selected.matches(t) {
			continue
		}
		if n := h.acquire(t); n != nil {
			n.look(selected, since)
			nodes = append(nodes, n)
		} else {
			tooMany++
		}
	}
	return nodes, tooMany, err
}

func (h *Hub) lookAway(nodes []*node, selected Select) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range nodes {
		n.lookAway(selected)
		h.release(n)
	}
}

// notices are what there is to say of finding nodes and of those found.
func (h *Hub) notices(nodes []NodeStatus, tooMany int) []gpu.Notice {
	h.mu.Lock()
	notices := slices.Clone(h.found.notices)
	h.mu.Unlock()
	notices = append(notices, troubles(nodes)...)
	if twice, ok := h.twinNotice(nodes); ok {
		notices = append(notices, twice)
	}
	if tooMany > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"%d nodes are left out because %d are connected already: choose fewer nodes.", tooMany, h.cfg.MaxNodes)})
	}
	return notices
}

// namedTroubles is how many nodes with the same trouble are told one by one.
const namedTroubles = 3

// troubles are notices about the nodes that are not as they should be, few however many nodes that are.
func troubles(nodes []NodeStatus) []gpu.Notice {
	var notices []gpu.Notice
	var waiting, skewed []string
	byKind := make(map[Kind][]NodeStatus)
	var kinds []Kind
	for _, n := range nodes {
		if n.State == Connecting {
			waiting = append(waiting, n.Target.String())
		}
		if n.Correction != 0 {
			skewed = append(skewed, fmt.Sprintf("%s by %+.0f s", n.Target, n.Correction.Seconds()))
		}
		var e *Error
		if errors.As(n.Err, &e) {
			if byKind[e.Kind] == nil {
				kinds = append(kinds, e.Kind)
			}
			byKind[e.Kind] = append(byKind[e.Kind], n)
		}
	}
	for _, kind := range kinds {
		group := byKind[kind]
		for _, n := range group[:min(namedTroubles, len(group))] {
			notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: sentence(n.Err.Error())})
		}
		if more := group[min(namedTroubles, len(group)):]; len(more) > 0 {
			names := make([]string, len(more))
			for i, n := range more {
				names[i] = n.Target.String()
			}
			notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: "The same goes for " + list(names) + "."})
		}
	}
	if len(waiting) > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: "Not connected yet, live values follow: " + list(waiting) + "."})
	}
	if len(skewed) > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: "Clocks are off, samples were moved to the time they came: " +
			list(skewed) + "; let NTP or chrony keep the time there."})
	}
	return notices
}

// list names a few and counts the others.
func list(names []string) string {
	const few = 8
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// sentence makes one of an error's text.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
