package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// noAgent is the state of a row whose node has no agent.
const noAgent = "none"

// nodeName is where agents and rows meet that have no device in common.
type nodeName struct{ cluster, node string }

// rows joins both sides by what all sources agree on about a device: a row for each in the scope, in the order of tables. The
// values of history are those at the end of its range.
func (s stock) rows(scope query.Scope, end, now time.Time) []frames.InventoryRow {
	at := make(map[board]*frames.InventoryRow, len(s.past.Rows))
	agents := map[nodeName]string{}
	for _, n := range s.present.Nodes {
		agents[nodeName{n.Status.Cluster, n.Status.Node}] = string(n.Status.State)
	}
	all := make([]*frames.InventoryRow, 0, len(s.past.Rows))
	for _, h := range s.past.Rows {
		row := ofHistory(h, end)
		if s.looked {
			row.Agent = cmp.Or(agents[nodeName{h.Device.Cluster, h.Device.Node}], noAgent)
		}
		at[boardOf(h.Device)] = &row
		all = append(all, &row)
	}
	joined := map[*frames.InventoryRow]bool{}
	for _, n := range s.present.Nodes {
		owners := ownersOn(n)
		for i, device := range n.Devices {
			row := at[boardOf(device)]
			switch {
			case row == nil && (!scope.Matches(device) || !scope.MatchesOwners(owners[device.Identity])):
				continue
			case row == nil, joined[row]:
				// Further compute instances of one GPU instance have rows of their own.
				row = &frames.InventoryRow{}
				all = append(all, row)
				if at[boardOf(device)] == nil {
					at[boardOf(device)] = row
				}
			}
			joined[row] = true
			addLive(row, n, i, owners[device.Identity], now)
		}
	}
	withXIDs(at, s.xids())
	slices.SortStableFunc(all, func(a, b *frames.InventoryRow) int { return frames.CompareDevices(a.Device, b.Device) })
	rows := make([]frames.InventoryRow, len(all))
	for i, row := range all {
		rows[i] = *row
	}
	return rows
}

// ofHistory is a row that history knows.
func ofHistory(h history.InventoryRow, end time.Time) frames.InventoryRow {
	row := frames.InventoryRow{Device: h.Device, Owners: h.Owners, State: frames.StatePresent, Source: query.SourceHistory}
	switch {
	case h.Gone && h.Last.IsZero():
		row.State = "gone"
	case h.Gone:
		row.State = "gone since " + h.Last.UTC().Format("2006-01-02 15:04:05 UTC")
		row.SampleAge = age(end, h.Last)
	case !h.Sampled.IsZero():
		row.SampleAge = age(end, h.Sampled)
	}
	read := func(metric string) gpu.Reading {
		if v, ok := h.Values[metric]; ok {
			return gpu.Read(v)
		}
		return gpu.Absent(gpu.NoData)
	}
	row.SMActive, row.Utilization, row.MemoryUsed, row.MemoryTotal = read(smActive), read(utilization), read(memoryUsed), read(memoryTotal)
	row.Power, row.Temperature, row.Throttle = read(powerDrawn), read(temperature), throttleText(read(throttling))
	return row
}

func age(now, sampled time.Time) gpu.Reading { return gpu.Read(max(0, now.Sub(sampled).Seconds())) }

// throttleText is the reasons of a mask without those that hold nothing back, "none" when there are no others and "" when the
// mask is not known.
func throttleText(mask gpu.Reading) string {
	if !mask.OK() || mask.Value < 0 || mask.Value > 1<<52 {
		return ""
	}
	return (gpu.ClockEvents(mask.Value) &^ (gpu.GPUIdle | gpu.ApplicationsClocks | gpu.DisplayClockSetting)).String()
}

// ownersOn are the owners that an agent knows, by device.
func ownersOn(n live.NodeNow) map[gpu.Identity][]gpu.Owner {
	owners := map[gpu.Identity][]gpu.Owner{}
	if n.Owners == nil {
		return owners
	}
	for _, o := range n.Owners.List {
		if id := o.Device.Identity; o.Owner.Known() && !slices.Contains(owners[id], o.Owner) {
			owners[id] = append(owners[id], o.Owner)
		}
	}
	return owners
}

// addLive puts what an agent says of one of its devices into a row. Readings that are too old to be of now only count where
// there is nothing else.
func addLive(row *frames.InventoryRow, n live.NodeNow, device int, owners []gpu.Owner, now time.Time) {
	known := row.Source != ""
	row.Device = filled(row.Device, n.Devices[device], known)
	row.Owners = joinedOwners(owners, row.Owners)
	row.Agent = string(n.Status.State)
	fresh := n.Sample != nil && now.Sub(n.Sample.Time) <= max(instantAge, 3*n.Status.Period)
	if !fresh && known {
		return
	}
	row.State = frames.StatePresent
	row.Source = strings.TrimSuffix(query.SourceLive+", "+row.Source, ", ")
	if n.Sample == nil {
		return
	}
	row.SampleAge = age(now, n.Sample.Time)
	lost := false
	read := func(metric string, before gpu.Reading) gpu.Reading {
		r := n.Schema.Reading(n.Sample, metric, device)
		lost = lost || r.State == gpu.Lost
		if !r.OK() && r.State != gpu.Lost {
			return before
		}
		return r
	}
	row.SMActive, row.Utilization = read(smActive, row.SMActive), read(utilization, row.Utilization)
	row.MemoryUsed, row.MemoryTotal = read(memoryUsed, row.MemoryUsed), read(memoryTotal, row.MemoryTotal)
	row.Power, row.Temperature = read(powerDrawn, row.Power), read(temperature, row.Temperature)
	if text := throttleText(read(throttling, gpu.Absent(gpu.NoData))); text != "" {
		row.Throttle = text
	}
	if lost {
		row.State = frames.StateLost
	}
}

// filled is a device with what it lacks from another; without known it is the other.
func filled(d, from gpu.Device, known bool) gpu.Device {
	if !known {
		return from
	}
	for _, f := range []struct {
		into *string
		text string
	}{
		{&d.Node, from.Node}, {&d.Model, from.Model}, {&d.PCIBusID, from.PCIBusID}, {&d.MIGProfile, from.MIGProfile}, {&d.MIGUUID, from.MIGUUID},
		{&d.Driver, from.Driver}, {&d.ComputeInstance, from.ComputeInstance},
	} {
		*f.into = cmp.Or(*f.into, f.text)
	}
	if d.Index < 0 {
		d.Index = from.Index
	}
	d.MIGEnabled = d.MIGEnabled || from.MIGEnabled
	return d
}

// joinedOwners are an agent's owners, and those that exporters name besides. The same pod is not told twice.
func joinedOwners(live, past []gpu.Owner) []gpu.Owner {
	all := slices.Clone(live)
	for _, o := range past {
		if !slices.ContainsFunc(live, func(l gpu.Owner) bool {
			return l.Namespace == o.Namespace && l.Pod == o.Pod && l.SlurmJob == o.SlurmJob && (l.Container == o.Container || o.Container == "")
		}) {
			all = append(all, o)
		}
	}
	return all
}

// withXIDs puts the last error of each device into its row. Errors of a board are not repeated on its instances.
func withXIDs(at map[board]*frames.InventoryRow, errors []gpu.Event) {
	for _, e := range errors {
		key := boardOf(e.Device)
		for _, b := range []board{key, {cluster: key.cluster, uuid: key.uuid, node: key.node}} {
			if row := at[b]; row != nil && !e.Time.Before(row.XIDAt) {
				row.XID, row.XIDAt = e.XID, e.Time
			}
		}
	}
}

// needsLook reports whether somebody should look at a row: it is gone or lost, had a serious error, is held down, or its agent
// is in trouble.
func needsLook(row frames.InventoryRow) bool {
	x, _ := gpu.LookupXID(row.XID)
	trouble := row.Agent == string(live.Stale) || row.Agent == string(live.Refused) || row.Agent == string(live.Unreachable)
	held := strings.Contains(row.Throttle, "slowdown") || strings.Contains(row.Throttle, "brake")
	return row.State != frames.StatePresent || x.Serious() || trouble || held
}

// limitInventory keeps so many rows: first those that need a look, then the others in their order.
func limitInventory(rows []frames.InventoryRow, most int) ([]frames.InventoryRow, []gpu.Notice) {
	if len(rows) <= most {
		return rows, nil
	}
	total := len(rows)
	first := slices.Clone(rows)
	slices.SortStableFunc(first, func(a, b frames.InventoryRow) int { return order(needsLook(b)) - order(needsLook(a)) })
	first = first[:most]
	slices.SortStableFunc(first, func(a, b frames.InventoryRow) int { return frames.CompareDevices(a.Device, b.Device) })
	return first, []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"Showing %d of %d devices, those that need a look among them: narrow the query, or set maxRows (up to %d).", most, total, query.MaxRowsLimit)}}
}

func order(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
