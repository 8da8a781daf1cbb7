package history

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Tags of the two questions that tell where series begin and end.
const (
	appearedTag = "appeared "
	vanishedTag = "vanished "
)

// sightings of one label set: whether it is there at the end, and where it came and went before.
type sightings struct {
	of                 deviceKey
	atEnd              bool
	appeared, vanished []int64
}

// presence is which devices were there at which points of the grid. Those of which nothing changed have no entry.
type presence struct {
	grid    grid
	roster  roll
	devices map[deviceKey][]bool // MIG instances
	boards  map[deviceKey][]bool // a board is there when it or any of its instances is
	began   map[deviceKey]int
	asked   []string
	notices []gpu.Notice
}

// sighted is one server's part.
type sighted struct {
	sets   map[labelled]*sightings
	roster roll
	asked  string
	notes  []gpu.Notice
}

// labelled is a label set as exporters of a dialect have it.
type labelled struct{ dialect, labels string }

func (sighted) gaps() bool { return true }

// presence asks who came and went. Only changes are sent: most of the time nothing does.
func (s *search) presence(ctx context.Context) (presence, error) {
	outcomes := fanOut(ctx, s.endpoints, s.sightings)
	good, failed, err := split(outcomes)
	p := presence{
		grid: gridOf(false, s.w), devices: map[deviceKey][]bool{}, boards: map[deviceKey][]bool{},
		began: map[deviceKey]int{}, notices: failed,
	}
	if err != nil {
		return p, err
	}
	changed := map[deviceKey]bool{}
	var asked []question
	for _, o := range good {
		p.roster.take(o.value.roster)
		p.notices = append(p.notices, o.value.notes...)
		asked = append(asked, question{o.endpoint.ID, o.value.asked})
		for _, seen := range o.value.sets {
			if len(seen.appeared)+len(seen.vanished) > 0 {
				changed[seen.of.parent()] = true
			}
		}
	}
	p.asked = strings.Split(executed(asked), "\n")
	p.roster.complete()
	for _, o := range good {
		for _, seen := range o.value.sets {
			key := seen.of
			board := key.parent()
			if !changed[board] || !s.scope.Matches(p.roster.at(key).device) {
				continue
			}
			times := seen.on(p.grid)
			if key != board {
				p.devices[key] = thereInEither(p.devices[key], times)
				times = slices.Clone(times)
			}
			p.boards[board] = thereInEither(p.boards[board], times)
		}
	}
	for key, there := range p.boards {
		if first := firstTrue(there); first > 0 {
			p.began[key] = first
		}
	}
	return p, nil
}

// thereInEither is b, which may be changed, where there is no a.
func thereInEither(a, b []bool) []bool {
	if a == nil {
		return b
	}
	for i := range a {
		a[i] = a[i] || b[i]
	}
	return a
}

// on is where on the grid the label set was there.
func (s *sightings) on(g grid) []bool {
	slices.Sort(s.appeared)
	slices.Sort(s.vanished)
	there := make([]bool, len(g.times))
	// Before its first change it was there if it then went, and not if it came.
	state := s.atEnd
	switch {
	case len(s.vanished) > 0 && (len(s.appeared) == 0 || s.vanished[0] < s.appeared[0]):
		state = true
	case len(s.appeared) > 0:
		state = false
	}
	a, v := 0, 0
	for i, t := range g.times {
		for a < len(s.appeared) && s.appeared[a] <= t {
			state = true
			a++
		}
		for v < len(s.vanished) && s.vanished[v] <= t {
			if a == 0 || s.vanished[v] > s.appeared[a-1] {
				state = false
			}
			v++
		}
		there[i] = state
	}
	return there
}

// sightings asks one server.
func (s *search) sightings(ctx context.Context, e *endpoint) (sighted, error) {
	found := sighted{sets: map[labelled]*sightings{}}
	words, err := s.h.words(ctx, e)
	if err != nil {
		return found, err
	}
	changes, now := s.presenceExprs(words, s.h.pushDown(s.scope, words, s.h.known(ctx, e.Cluster)))
	if now == "" {
		return found, nil
	}
	found.asked = describe(changes, false, s.w)
	there, err := e.query(ctx, instantPath, url.Values{"query": {now}, "time": {timestamp(s.w.End())}})
	if err != nil {
		return found, err
	}
	moved, err := e.evaluateOurs(ctx, changes, false, s.w)
	if err != nil {
		return found, err
	}
	found.notes = append(remarks(e, there), remarks(e, moved)...)
	found.sets = make(map[labelled]*sightings, len(there.Series))
	for _, series := range there.Series {
		if seen := s.h.sight(&found, e, series.Labels.Get(tag), series.Labels); seen != nil {
			seen.atEnd = true
		}
	}
	for _, series := range moved.Series {
		what := series.Labels.Get(tag)
		if dialect, ok := strings.CutPrefix(what, appearedTag); ok {
			if seen := s.h.sight(&found, e, dialect, series.Labels); seen != nil {
				seen.appeared = append(seen.appeared, series.Times...)
			}
		} else if dialect, ok := strings.CutPrefix(what, vanishedTag); ok {
			if seen := s.h.sight(&found, e, dialect, series.Labels); seen != nil {
				seen.vanished = append(seen.vanished, series.Times...)
			}
		}
	}
	return found, nil
}

// sight finds the entry of a label set; nil when it names no device.
func (h *History) sight(found *sighted, e *endpoint, dialect string, labels labelSet) *sightings {
	who := h.bearer(e, labels)
	if !who.named || catalog.OfOthers(catalog.Dialect(dialect), labels) {
		return nil
	}
	set := labelled{dialect, labels.textWithout(tag)}
	seen, ok := found.sets[set]
	if !ok {
		seen = &sightings{of: who.key}
		found.sets[set] = seen
		found.roster.add(who, h.catalog.Rank(catalog.Dialect(dialect)))
	}
	return seen
}

// presenceExprs ask where the label sets of devices came and went, and which are there; both "" when the server has none.
func (s *search) presenceExprs(words vocabulary, alternatives []string) (changes, now string) {
	if len(alternatives) == 0 {
		alternatives = []string{""}
	}
	labels := s.h.deviceLabels(words)
	before := " offset " + model.Duration(s.w.Step).String()
	var moved, there []string
	for _, dialect := range s.h.catalog.Dialects() {
		var is, was []string
		for _, name := range s.h.presence(words, dialect) {
			for _, matchers := range alternatives {
				selector := selectMatching([]string{name}, joinMatchers(s.h.required(name), matchers))
				is, was = append(is, selector), append(was, selector+before)
			}
		}
		if len(is) == 0 {
			continue
		}
		present := fmt.Sprintf("group by (%s) (%s)", labels, strings.Join(is, " or "))
		past := fmt.Sprintf("group by (%s) (%s)", labels, strings.Join(was, " or "))
		tagged := func(expr, mark string) string {
			return fmt.Sprintf(`label_replace(%s,%s,%s,"","")`, expr, query.Quote(tag), query.Quote(mark+string(dialect)))
		}
		moved = append(moved, tagged(present+" unless "+past, appearedTag), tagged(past+" unless "+present, vanishedTag))
		there = append(there, tagged(present, ""))
	}
	return strings.Join(moved, " or "), strings.Join(there, " or ")
}

// findings are what the comings and goings mean.
func (p presence) findings(s search, q query.Query) findings {
	out := findings{asked: p.asked, notices: p.notices}
	quiet := max(time.Minute, 3*s.w.ScrapeInterval, s.w.Step+1)
	for _, there := range p.boards {
		closeGaps(there, s.w.Step, quiet)
	}
	for _, there := range p.devices {
		closeGaps(there, s.w.Step, quiet)
	}
	nodes := p.byNode()
	for _, key := range sortedKeys(p.boards) {
		device := p.roster.at(key).device
		for _, gap := range absences(p.boards[key]) {
			e := gpu.Event{Time: at(p.grid, gap.from), Kind: gpu.KindLost, Origin: fromHistory, Device: device, Detail: "no exporter shows it any more"}
			back := gap.to < len(p.grid.times)-1
			if back {
				e.Until = at(p.grid, gap.to+1)
			} else {
				e.Until = s.w.To
			}
			together := nodes[placeOf(device)]
			if together.allGone(p, gap.from) {
				if !together.first(key, p, gap.from) {
					continue
				}
				e.Kind, e.Detail = gpu.KindUnavailable, fmt.Sprintf("nothing shows any of its %s: the node, its exporter or its scraping is down",
					plural(len(together), "GPU", "GPUs"))
				e.Device = gpu.Device{Identity: gpu.Identity{Cluster: device.Cluster, Node: device.Node}, Index: -1}
			}
			if q.WantsKind(e.Kind) {
				out.events = append(out.events, e)
			}
			if back && e.Kind == gpu.KindLost && q.WantsKind(gpu.KindReturned) {
				out.events = append(out.events, gpu.Event{
					Time: at(p.grid, gap.to+1), Kind: gpu.KindReturned, Origin: fromHistory, Device: device,
					Detail: "an exporter shows it again after " + at(p.grid, gap.to+1).Sub(e.Time).String(),
				})
			}
		}
	}
	if q.WantsKind(gpu.KindMIGLayoutChanged) {
		out.events = append(out.events, p.layouts(s.w.Step)...)
	}
	return out
}

// absences are the spells in which a device was not there that had been.
func absences(there []bool) []spell {
	var all []spell
	first := firstTrue(there)
	for i := max(first, 0); first >= 0 && i < len(there); i++ {
		switch n := len(all); {
		case there[i]:
		case n > 0 && all[n-1].to == i-1:
			all[n-1].to = i
		default:
			all = append(all, spell{i, i})
		}
	}
	return all
}

type place struct{ cluster, node string }

func placeOf(d gpu.Device) place { return place{d.Cluster, d.Node} }

// nodeBoards are the boards of one node.
type nodeBoards []deviceKey

func (p presence) byNode() map[place]nodeBoards {
	nodes := map[place]nodeBoards{}
	boards := make([]deviceKey, 0, len(p.boards))
	for key := range p.roster.all() {
		if key.instance() == "" {
			boards = append(boards, key)
		}
	}
	slices.SortFunc(boards, compareKeys)
	for _, key := range boards {
		at := placeOf(p.roster.at(key).device)
		nodes[at] = append(nodes[at], key)
	}
	return nodes
}

// allGone reports whether none of a node's boards is there right after a point, of several that were.
func (n nodeBoards) allGone(p presence, at int) bool {
	after := min(at+1, len(p.grid.times)-1)
	for _, key := range n {
		if there, changed := p.boards[key]; !changed || there[after] {
			return false
		}
	}
	return true
}

// first reports whether of a node's boards that went together this one stands for all.
func (n nodeBoards) first(key deviceKey, p presence, at int) bool {
	for _, other := range n {
		if other == key {
			return true
		}
		// It went at the same time, or a point before or after.
		for i := max(at-1, 1); i <= min(at+1, len(p.grid.times)-1); i++ {
			if there := p.boards[other]; there[i-1] && !there[i] {
				return false
			}
		}
	}
	return true
}

// settling is how long a new layout takes: instances are taken away and made one after the other.
const settling = 2 * time.Minute

// layouts finds where the MIG instances of boards that stayed were changed.
func (p presence) layouts(step time.Duration) []gpu.Event {
	instances := map[deviceKey][]deviceKey{}
	for _, key := range sortedKeys(p.devices) {
		if key.instance() != "" {
			instances[key.parent()] = append(instances[key.parent()], key)
		}
	}
	wait := max(2, int(settling/step))
	var events []gpu.Event
	for _, board := range sortedKeys(instances) {
		there := p.boards[board]
		for i := 1; i < len(there); i++ {
			if !p.relaid(instances[board], i) || !there[i-1] || !there[i] {
				continue
			}
			before, end := p.layout(instances[board], i-1), i
			for k := i; k < min(i+wait, len(there)); k++ {
				if there[k] && p.relaid(instances[board], k) {
					end = k
				}
			}
			after := p.layout(instances[board], end)
			if !slices.Equal(before, after) {
				events = append(events, gpu.Event{
					Time: at(p.grid, i), Kind: gpu.KindMIGLayoutChanged, Origin: fromHistory, Device: p.roster.at(board).device,
					Detail: p.describe(before) + " → " + p.describe(after),
				})
			}
			i = end
		}
	}
	return events
}

// relaid reports whether an instance came or went at a point.
func (p presence) relaid(instances []deviceKey, i int) bool {
	return slices.ContainsFunc(instances, func(key deviceKey) bool { return p.devices[key][i] != p.devices[key][i-1] })
}

// layout is the instances there were at a point.
func (p presence) layout(instances []deviceKey, i int) []deviceKey {
	var there []deviceKey
	for _, key := range instances {
		if p.devices[key][i] {
			there = append(there, key)
		}
	}
	return there
}

// describe counts instances by profile: "3 × 1g.18gb, 1 × 3g.71gb".
func (p presence) describe(instances []deviceKey) string {
	if len(instances) == 0 {
		return "no MIG instances"
	}
	counts := map[string]int{}
	for _, key := range instances {
		profile := p.roster.at(key).device.MIGProfile
		if profile == "" {
			profile = "#" + key.instance()
		}
		counts[profile]++
	}
	var parts []string
	for _, profile := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, strconv.Itoa(counts[profile])+" × "+profile)
	}
	return strings.Join(parts, ", ")
}
