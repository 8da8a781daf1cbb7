package history

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Tenure is who had a device from when to when.
type Tenure struct {
	Owner    gpu.Owner
	From, To time.Time // To is when it ended, the end of the window for one that goes on
}

// Holding is a device whose owners series name, and who they were in the order of time; none where nobody had it.
type Holding struct {
	Device  gpu.Device
	Tenures []Tenure
}

// Holdings are the owners of devices over a range.
type Holdings struct {
	Devices  []Holding
	Notices  []gpu.Notice
	Executed string
	Err      error // set when no endpoint answered
}

// maxHeld bounds the sets of labels of devices and owners that changed in a range.
const maxHeld = 200_000

// held is one server's part: who was seen to have what at the points of the grid.
type held struct {
	roster roster
	owners map[ownedBy][]bool
	asked  string
	notes  []gpu.Notice
}

type ownedBy struct {
	key   deviceKey
	owner gpu.Owner
}

func (held) gaps() bool { return true }

// Holdings finds who had the devices of a scope from when to when, by the series of exporters that name owners and by those of
// the agent. Times are those of the window's points: an owner who came and went between two of them is not seen.
func (h *History) Holdings(ctx context.Context, scope query.Scope, w query.Window) Holdings {
	endpoints, notices := h.inScope(scope)
	out := Holdings{Notices: notices}
	if len(endpoints) == 0 {
		return out
	}
	plain, err := scope.WithoutOwners()
	if err != nil {
		out.Err = err
		return out
	}
	g := gridOf(false, w)
	outcomes := fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) (held, error) { return h.heldOn(ctx, e, plain, w, g) })
	good, failed, err := split(outcomes)
	out.Notices = append(out.Notices, failed...)
	if out.Err = err; err != nil {
		return out
	}
	all := roster{}
	owners := map[deviceKey]map[gpu.Owner][]bool{}
	var asked []question
	for _, o := range good {
		all.take(o.value.roster)
		out.Notices = append(out.Notices, o.value.notes...)
		asked = append(asked, question{o.endpoint.ID, o.value.asked})
		for by, there := range o.value.owners {
			if owners[by.key] == nil {
				owners[by.key] = map[gpu.Owner][]bool{}
			}
			owners[by.key][by.owner] = thereInEither(owners[by.key][by.owner], there)
		}
	}
	out.Executed = executed(asked)
	all.complete()
	for _, key := range sortedKeys(all) {
		if device := all[key].device; plain.Matches(device) {
			out.Devices = append(out.Devices, Holding{Device: device, Tenures: tenures(owners[key], g, w)})
		}
	}
	return out
}

// tenures are the stretches in which owners were there.
func tenures(owners map[gpu.Owner][]bool, g grid, w query.Window) []Tenure {
	quiet := max(time.Minute, 3*w.ScrapeInterval, w.Step+1)
	var all []Tenure
	for owner, there := range owners {
		closeGaps(there, w.Step, quiet)
		for i := 0; i < len(there); i++ {
			if !there[i] {
				continue
			}
			from := i
			for i+1 < len(there) && there[i+1] {
				i++
			}
			all = append(all, Tenure{Owner: owner, From: at(g, from).Add(-w.Step), To: at(g, i)})
		}
	}
	slices.SortFunc(all, func(a, b Tenure) int {
		if c := a.From.Compare(b.From); c != 0 {
			return c
		}
		return strings.Compare(a.Owner.Name()+a.Owner.Source, b.Owner.Name()+b.Owner.Source)
	})
	return all
}

// heldOn asks one server where sets of labels that name a device and its owner came and went, and which are there at the end:
// only changes are sent.
func (h *History) heldOn(ctx context.Context, e *endpoint, scope query.Scope, w query.Window, g grid) (held, error) {
	out := held{roster: roster{}, owners: map[ownedBy][]bool{}}
	words, err := h.words(ctx, e)
	if err != nil {
		return out, err
	}
	changes, now := h.heldExprs(words, h.pushDown(scope, words, h.known(ctx, e.Cluster)), w.Step)
	if now == "" {
		return out, nil
	}
	out.asked = describe(changes, false, w)
	var there, moved *answer
	var errNow, errMoved error
	var wg sync.WaitGroup
	wg.Go(func() {
		there, errNow = e.query(ctx, instantPath, url.Values{"query": {now}, "time": {timestamp(w.End())}})
	})
	wg.Go(func() { moved, errMoved = e.evaluateOurs(ctx, changes, false, w) })
	wg.Wait()
	if errNow != nil {
		return out, errNow
	}
	if errMoved != nil {
		return out, errMoved
	}
	out.notes = append(remarks(e, there), remarks(e, moved)...)
	if n := len(there.Series) + len(moved.Series); n > maxHeld {
		return out, &Error{Endpoint: e.ID, Kind: KindIncomplete, Message: fmt.Sprintf("%d owners are too many to tell when each of them had a GPU; narrow the query", n)}
	}
	sets := map[ownedBy]map[string]*sightings{}
	see := func(dialect string, labels labelSet) *sightings {
		by, set, ok := h.heldBy(&out, e.Cluster, dialect, labels)
		if !ok {
			return nil
		}
		if sets[by] == nil {
			sets[by] = map[string]*sightings{}
		}
		if sets[by][set] == nil {
			sets[by][set] = &sightings{}
		}
		return sets[by][set]
	}
	for _, s := range there.Series {
		if seen := see(s.Labels.Get(tag), s.Labels); seen != nil {
			seen.atEnd = true
		}
	}
	for _, s := range moved.Series {
		what := s.Labels.Get(tag)
		if dialect, ok := strings.CutPrefix(what, appearedTag); ok {
			if seen := see(dialect, s.Labels); seen != nil {
				seen.appeared = append(seen.appeared, s.Times...)
			}
		} else if dialect, ok := strings.CutPrefix(what, vanishedTag); ok {
			if seen := see(dialect, s.Labels); seen != nil {
				seen.vanished = append(seen.vanished, s.Times...)
			}
		}
	}
	for by, each := range sets {
		for _, seen := range each {
			out.owners[by] = thereInEither(out.owners[by], seen.on(g))
		}
	}
	return out, nil
}

// heldBy is whose a device is by a set of labels, which may be nobody's: then only the device is noted.
func (h *History) heldBy(out *held, cluster, what string, labels labelSet) (by ownedBy, set string, ok bool) {
	dialect, said := catalog.Dialect(what), catalog.Labels(nil)
	if what == ownerTag {
		dialect, said = catalog.Warpwatch, labels
	}
	id, known := h.catalog.Resolve(labels)
	if !known || catalog.OfOthers(dialect, labels) {
		return by, "", false
	}
	id.Device.Cluster = cluster
	out.roster.add(id, h.catalog.Rank(dialect))
	owner := ownerOf(id.Owner, said)
	if !owner.Known() {
		return by, "", false
	}
	plain := map[string]string{tag: what}
	for _, l := range labels.all() {
		if l.Name != tag {
			plain[l.Name] = l.Value
		}
	}
	return ownedBy{keyOf(id.Device), owner}, labelKey(plain), true
}

// heldExprs ask where the sets of labels came and went, and which are there; both "" when no series names owners.
func (h *History) heldExprs(words vocabulary, alternatives []string, step time.Duration) (changes, now string) {
	if len(alternatives) == 0 {
		alternatives = []string{""}
	}
	before := " offset " + model.Duration(step).String()
	var moved, there []string
	add := func(mark, labels string, selectors []string) {
		if len(selectors) == 0 {
			return
		}
		past := make([]string, len(selectors))
		for i, s := range selectors {
			past[i] = s + before
		}
		group := func(of []string) string { return fmt.Sprintf("group by (%s) (%s)", labels, strings.Join(of, " or ")) }
		tagged := func(expr, mark string) string {
			return fmt.Sprintf(`label_replace(%s,%s,%s,"","")`, expr, query.Quote(tag), query.Quote(mark))
		}
		moved = append(moved, tagged(group(selectors)+" unless "+group(past), appearedTag+mark), tagged(group(past)+" unless "+group(selectors), vanishedTag+mark))
		there = append(there, tagged(group(selectors), mark))
	}
	for _, dialect := range h.catalog.Dialects() {
		if !h.catalog.NamesOwners(dialect) {
			continue
		}
		var selectors []string
		for _, name := range h.presence(words, dialect) {
			for _, matchers := range alternatives {
				selectors = append(selectors, selectMatching([]string{name}, joinMatchers(h.required(name), matchers)))
			}
		}
		add(string(dialect), h.holderLabels(words), selectors)
	}
	if words.series[ownerInfo] {
		add(ownerTag, h.holderLabels(words, "slurm_step", "user", "container_id", "replica", "source"), []string{ownerInfo})
	}
	return strings.Join(moved, " or "), strings.Join(there, " or ")
}

// holderLabels are the labels that name devices and owners on a server, and some more.
func (h *History) holderLabels(words vocabulary, more ...string) string {
	wanted := slices.Concat(h.catalog.DeviceLabels(), h.catalog.JobLabels(), more)
	for _, family := range h.catalog.OwnerLabels() {
		wanted = append(wanted, family.Pod, family.Namespace, family.Container)
	}
	var kept []string
	for _, name := range words.labels {
		if slices.Contains(wanted, name) {
			kept = append(kept, name)
		}
	}
	return query.QuoteLabels(kept)
}
