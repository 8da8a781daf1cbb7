package history

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// InventoryRow is a GPU or MIG instance as Prometheus knows it at the end of a range.
type InventoryRow struct {
	Device gpu.Device
	Owners []gpu.Owner
	// Values are the newest values by metric, in canonical units. What is not known is not there.
	Values map[string]float64
	// Sampled is when the newest sample was measured; zero where that is not known.
	Sampled time.Time
	// Gone: there were samples in the range, and there are none at its end. Last is the time of the last one, to a step; zero
	// when it is not known.
	Gone bool
	Last time.Time
}

// Inventory is the devices of a scope, in the order of their place.
type Inventory struct {
	Rows     []InventoryRow
	Down     []DownExporter // in the scope, at the end of the window
	Notices  []gpu.Notice
	Executed string
	Err      error // set when no endpoint answered
}

// Inventory lists the GPUs and MIG instances of a scope with their owners and the values of some metrics at the end of the
// window, whatever exporters report them, and those that there were samples of within the window and are none any more.
func (h *History) Inventory(ctx context.Context, scope query.Scope, w query.Window, metrics []catalog.Metric) Inventory {
	endpoints, notices := h.inScope(scope)
	inv := Inventory{Notices: notices}
	if len(endpoints) == 0 {
		return inv
	}
	devices, err := scope.WithoutOwners()
	if err != nil {
		inv.Err = err
		return inv
	}
	var values []Result
	var wg sync.WaitGroup
	if !scope.ByOwner() {
		wg.Go(func() { values = h.valuesNow(ctx, devices, w, metrics) })
	}
	var before []found
	var beforeNotes []gpu.Notice
	if w.Length() > 0 {
		wg.Go(func() { before, beforeNotes = h.foundBefore(ctx, endpoints, w) })
	}
	all, asked, failed, err := h.attendAll(ctx, endpoints, devices, w)
	wg.Wait()
	inv.Notices = append(append(inv.Notices, failed...), all.notes...)
	inv.Executed, inv.Err = executed(asked), err
	if err != nil {
		return inv
	}
	inv.Down = all.down.exporters(scope, all.roster)
	inv.Notices = append(append(inv.Notices, beforeNotes...), all.down.notices(scope, collected{roster: roll{base: all.roster}})...)

	rows := make(map[deviceKey]*InventoryRow, len(all.roster))
	for key, known := range all.roster {
		if scope.Matches(known.device) && scope.MatchesOwners(all.owners[key]) {
			row := &InventoryRow{Device: known.device, Owners: all.owners[key]}
			if at, ok := all.seen[key]; ok {
				row.Sampled = time.UnixMilli(at).UTC()
			}
			rows[key] = row
		}
	}
	if scope.ByOwner() && len(rows) > 0 {
		// Values are of devices, which may be known from other series than their owners.
		if some, err := devices.OfGPUs(uuidsOf(rows)); err == nil && len(rows) <= maxPushed {
			devices = some
		}
		values = h.valuesNow(ctx, devices, w, metrics)
	}
	for i, result := range values {
		inv.take(rows, metrics[i].Name, result)
	}
	inv.Notices = append(inv.Notices, h.gone(ctx, endpoints, scope, w, all, before, rows)...)
	inv.Rows = byDevice(rows)
	return inv
}

// byDevice are rows in the order of their place.
func byDevice(rows map[deviceKey]*InventoryRow) []InventoryRow {
	order := slices.SortedFunc(maps.Values(rows), func(a, b *InventoryRow) int { return comparePlaces(&a.Device, &b.Device) })
	list := make([]InventoryRow, len(order))
	for i, row := range order {
		list[i] = *row
	}
	return list
}

// maxPushed is how many GPUs are named in a matcher.
const maxPushed = 500

func uuidsOf(rows map[deviceKey]*InventoryRow) []string {
	uuids := map[string]bool{}
	for key := range rows {
		uuids[key.uuid()] = true
	}
	return slices.Sorted(maps.Keys(uuids))
}

// valuesNow asks for all metrics at the end of the window, at the same time.
func (h *History) valuesNow(ctx context.Context, scope query.Scope, w query.Window, metrics []catalog.Metric) []Result {
	results := make([]Result, len(metrics))
	var wg sync.WaitGroup
	for i, m := range metrics {
		wg.Go(func() {
			results[i] = h.Metric(ctx, query.Query{Type: query.TypeMetric, Metric: m.Name, AggregateBy: query.ByIdentity, Scope: scope, Instant: true}, m, w)
		})
	}
	wg.Wait()
	return results
}

// take puts a metric's values into the rows. Of what is said beside them only trouble counts: that a metric is not there is
// seen in the table.
func (inv *Inventory) take(rows map[deviceKey]*InventoryRow, metric string, result Result) {
	for _, s := range result.Series {
		if row := rows[keyOf(s.Device)]; row != nil && len(s.Values) > 0 {
			if row.Values == nil {
				row.Values = map[string]float64{}
			}
			row.Values[metric] = s.Values[len(s.Values)-1]
		}
	}
	for _, n := range result.Notices {
		if n.Severity >= gpu.Warning && !slices.Contains(inv.Notices, n) {
			inv.Notices = append(inv.Notices, n)
		}
	}
	if result.Err != nil {
		inv.Notices = append(inv.Notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf("%s is missing: %s.", metric, result.Err)})
	}
}

// foundBefore lists what there were samples of within the window. A server that cannot say is no reason to fail.
func (h *History) foundBefore(ctx context.Context, endpoints []*endpoint, w query.Window) ([]found, []gpu.Notice) {
	outcomes := fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) ([]found, error) {
		all, err := h.found(ctx, e, w.From, w.To)
		if unsupported(err) {
			return nil, nil
		}
		return all, err
	})
	good, _, err := split(outcomes)
	if err != nil {
		return nil, []gpu.Notice{{Severity: gpu.Info, Text: "Which GPUs are gone is not known: " + err.Error() + "."}}
	}
	var all []found
	for _, o := range good {
		if all == nil {
			all = o.value
			continue
		}
		all = append(all, o.value...)
	}
	return all, nil
}

// gone adds a row for each device that was there before and is not any more.
func (h *History) gone(ctx context.Context, endpoints []*endpoint, scope query.Scope, w query.Window, now attendance, before []found, rows map[deviceKey]*InventoryRow) []gpu.Notice {
	past := roster{}
	owners := newAttendance()
	for _, f := range before {
		past.add(f.who.id, f.rank)
		owners.own(f.who.key, ownerOf(f.who.id.Owner, nil))
	}
	past.complete()
	missing := map[deviceKey]*InventoryRow{}
	for key, known := range past {
		if now.roster[key] == nil && scope.Matches(known.device) && scope.MatchesOwners(owners.owners[key]) {
			missing[key] = &InventoryRow{Device: known.device, Owners: owners.owners[key], Gone: true}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	maps.Copy(rows, missing)
	uuids := uuidsOf(missing)
	if len(uuids) > maxPushed {
		return []gpu.Notice{{Severity: gpu.Info, Text: fmt.Sprintf("%d GPUs are gone, too many to tell since when.", len(uuids))}}
	}
	narrow := query.NewWindow(query.WindowOptions{From: w.From, To: w.To, MaxDataPoints: 500, ScrapeInterval: w.ScrapeInterval})
	outcomes := fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) (map[deviceKey]int64, error) {
		return h.lastSeen(ctx, e, uuids, narrow)
	})
	good, _, err := split(outcomes)
	if err != nil {
		return []gpu.Notice{{Severity: gpu.Info, Text: "Since when GPUs are gone is not known: " + err.Error() + "."}}
	}
	for _, o := range good {
		for key, at := range o.value {
			for _, k := range []deviceKey{key, key.parent()} {
				if row := missing[k]; row != nil && at > row.Last.UnixMilli() {
					row.Last = time.UnixMilli(at).UTC()
				}
			}
		}
	}
	return nil
}

// lastSeen asks one server when there was last something of each of some GPUs.
func (h *History) lastSeen(ctx context.Context, e *endpoint, uuids []string, w query.Window) (map[deviceKey]int64, error) {
	words, err := h.words(ctx, e)
	if err != nil {
		return nil, err
	}
	quoted := make([]string, len(uuids))
	for i, uuid := range uuids {
		uuid, _, _ = strings.Cut(uuid, catalog.NodeMark)
		quoted[i] = regexp.QuoteMeta(strings.TrimPrefix(uuid, "GPU-"))
	}
	var parts []string
	for _, dialect := range h.catalog.Dialects() {
		names := h.presence(words, dialect)
		for _, matcher := range matchersFor(words, h.catalog.UUIDLabels(), "(?:GPU-)?(?:"+strings.Join(quoted, "|")+")") {
			if len(names) > 0 {
				parts = append(parts, selectNames(names, matcher))
			}
		}
	}
	if len(parts) == 0 {
		return nil, nil
	}
	a, err := e.evaluateOurs(ctx, fmt.Sprintf("group by (%s) (%s)", h.deviceLabels(words), strings.Join(parts, " or ")), false, w)
	if err != nil {
		return nil, err
	}
	last := map[deviceKey]int64{}
	for _, s := range a.Series {
		if id, ok := h.catalog.Resolve(s.Labels); ok && len(s.Times) > 0 {
			id.Device.Cluster = e.Cluster
			key := keyOf(id.Device)
			last[key] = max(last[key], s.Times[len(s.Times)-1])
		}
	}
	return last, nil
}
