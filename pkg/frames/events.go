package frames

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Events is a row for each event, of type table. Its first columns are those that Grafana makes annotations of: time,
// timeEnd, title, text and tags; what lasted has an end.
func Events(rows []gpu.Event, o Options) *data.Frame {
	c := columns[gpu.Event]{rows: rows}
	times := make([]time.Time, len(rows))
	for i, e := range rows {
		times[i] = e.Time.UTC()
	}
	c.add(data.NewField("time", nil, times))
	c.at("timeEnd", func(e gpu.Event) time.Time { return e.Until })
	c.text("title", EventTitle)
	c.text("text", eventText)
	c.text("tags", eventTags)
	c.text("kind", func(e gpu.Event) string { return e.Kind })
	c.device(func(e gpu.Event) gpu.Device { return e.Device })
	c.code("xid", func(e gpu.Event) uint64 { return e.XID })
	c.text("xid_text", func(e gpu.Event) string {
		if e.XID == 0 {
			return ""
		}
		return XIDText(e.XID)
	})
	xid := func(of func(gpu.XID) string) func(gpu.Event) string {
		return func(e gpu.Event) string {
			known, _ := gpu.LookupXID(e.XID)
			return of(known)
		}
	}
	colours(c.text("who_acts", xid(func(x gpu.XID) string { return string(x.Owner) })), map[string]string{string(gpu.XIDOperator): "red", string(gpu.XIDUser): "orange"})
	c.text("immediate_action", xid(func(x gpu.XID) string { return x.ImmediateAction }))
	c.text("detail", func(e gpu.Event) string { return e.Detail })
	c.text("origin", func(e gpu.Event) string { return e.Origin })
	return Table("events", c.fields, o)
}

// EventTitle is what happened, in a few words.
func EventTitle(e gpu.Event) string {
	switch e.Kind {
	case gpu.KindXID:
		return XIDText(e.XID)
	case gpu.KindMIGLayoutChanged:
		return "MIG layout changed"
	case gpu.KindECCUncorrected:
		return "Uncorrected memory error"
	case gpu.KindECCCorrected:
		return "Corrected memory error"
	case gpu.KindECCStorm:
		return "Storm of corrected memory errors"
	case gpu.KindLost:
		return "GPU lost"
	case gpu.KindReturned:
		return "GPU returned"
	case gpu.KindUnavailable:
		return "Not seen"
	case gpu.KindThrottle:
		return "Throttled"
	case gpu.KindAlert:
		// The text of an alert begins with its name.
		name, _, _ := strings.Cut(e.Detail, ": ")
		return strings.TrimSpace("Alert " + name)
	}
	words := strings.ReplaceAll(e.Kind, "_", " ")
	if words == "" {
		return "Event"
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// eventText is where it happened, and what else is known.
func eventText(e gpu.Event) string {
	parts := []string{e.Device.Name()}
	if e.Detail != "" {
		parts = append(parts, e.Detail)
	}
	if x, known := gpu.LookupXID(e.XID); known && e.Kind == gpu.KindXID && x.ImmediateAction != "" {
		parts = append(parts, "NVIDIA says: "+x.ImmediateAction)
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n")
}

// eventTags are divided by commas, as Grafana reads them.
func eventTags(e gpu.Event) string {
	tags := []string{e.Kind}
	if e.XID != 0 {
		tags = append(tags, "XID "+strconv.FormatUint(e.XID, 10))
	}
	for _, tag := range []string{e.Device.Node, e.Device.Cluster} {
		if tag != "" && !strings.Contains(tag, ",") {
			tags = append(tags, tag)
		}
	}
	return strings.Join(tags, ",")
}

// EventNumbers is what an alert rule reads of events: how many there were of each kind and XID on each device. Without any it
// is a single 0, so that quiet is not taken for missing data.
func EventNumbers(rows []gpu.Event, o Options) *data.Frame {
	type group struct {
		device gpu.Device
		kind   string
		xid    uint64
	}
	type key struct {
		id   gpu.Identity
		kind string
		xid  uint64
	}
	counts := map[key]float64{}
	var groups []group
	for _, e := range rows {
		k := key{e.Device.Identity, e.Kind, e.XID}
		if counts[k] == 0 {
			groups = append(groups, group{e.Device, e.Kind, e.XID})
		}
		counts[k]++
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(compareDevices(a.device, b.device), strings.Compare(a.kind, b.kind), cmp.Compare(a.xid, b.xid))
	})
	if len(groups) == 0 {
		field := data.NewField("events", nil, []*float64{new(float64)})
		field.Config = &data.FieldConfig{Unit: grafanaUnit(gpu.Count, false)}
		return numbers("events", data.Fields{field}, o)
	}
	c := columns[group]{rows: groups}
	c.device(func(g group) gpu.Device { return g.device })
	c.text("kind", func(g group) string { return g.kind })
	c.text("xid", func(g group) string {
		if g.xid == 0 {
			return ""
		}
		return strconv.FormatUint(g.xid, 10)
	})
	c.number("events", gpu.Count, "", func(g group) gpu.Reading { return gpu.Read(counts[key{g.device.Identity, g.kind, g.xid}]) })
	return numbers("events", c.fields, o)
}
