package history

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

const (
	instantPath = "/api/v1/query"
	rangePath   = "/api/v1/query_range"

	// tag is a label that our own expressions add to say which series or dialect a sample comes from, where the
	// function around it drops the name.
	tag = "warpwatch_source"
	// migTag is the tag of series that are 1 for GPUs in MIG mode.
	migTag = "mig"
)

// inventory is the devices of one server.
type inventory struct {
	roster  roster
	down    downTargets
	useless map[string]string // host labels' values that name no node, and the label used in their place
	// addressed are the dialects of which a series names its node by the scraped address alone.
	addressed map[catalog.Dialect]bool
}

// Devices lists the GPUs and MIG instances that the servers know now, each once, in the order of their place. It is
// never older than half a minute. The notices tell of servers that failed and of labels to mend.
func (h *History) Devices(ctx context.Context) ([]gpu.Device, []gpu.Notice) {
	all, notices, err := h.roster(ctx, h.endpoints)
	if err != nil {
		return nil, []gpu.Notice{{Severity: gpu.Warning, Text: "The devices in Prometheus are not known: " + err.Error() + "."}}
	}
	return all.devices(), notices
}

// roster asks endpoints for their devices.
func (h *History) roster(ctx context.Context, endpoints []*endpoint) (roster, []gpu.Notice, error) {
	good, notices, err := split(fanOutSoon(ctx, endpoints, h.inventory))
	if err != nil {
		return nil, nil, err
	}
	all := roster{}
	useless := map[string]string{}
	for _, o := range good {
		all.take(o.value.roster)
		for host, label := range o.value.useless {
			useless[host] = label
		}
	}
	all.complete()
	return all, append(notices, uselessNotice(useless)...), nil
}

// uselessNotice tells of exporters that call every host "localhost" or after their own pod.
func uselessNotice(useless map[string]string) []gpu.Notice {
	if len(useless) == 0 {
		return nil
	}
	hosts := make([]string, 0, len(useless))
	for host := range useless {
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	first := hosts[0]
	more := ""
	if len(hosts) > 1 {
		more = fmt.Sprintf(" (and %d more like it)", len(hosts)-1)
	}
	instead := "there is no other label to name the node by"
	if label := useless[first]; label != "" {
		instead = fmt.Sprintf("the label %q names the node instead", label)
	}
	return []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"An exporter's host label is %q%s, which names no node; %s. Set NODE_NAME in the exporter's environment, or relabel.", first, more, instead)}}
}

// inventory asks one endpoint for its devices, or remembers them.
func (h *History) inventory(ctx context.Context, e *endpoint) (*inventory, error) {
	return e.inventory.get(ctx, h.options.Tenant(ctx), inventoryTTL, func(ctx context.Context) (*inventory, error) {
		words, err := h.words(ctx, e)
		if err != nil {
			return nil, err
		}
		inv := &inventory{roster: roster{}, useless: map[string]string{}, addressed: map[catalog.Dialect]bool{}}
		expr := h.inventoryExpr(words)
		if expr == "" {
			return inv, nil
		}
		a, err := e.query(ctx, instantPath, url.Values{"query": {expr}})
		if err != nil {
			return nil, err
		}
		var modes []deviceKey // in MIG mode
		for _, s := range a.Series {
			if s.Labels.Get(tag) == downTag {
				inv.down = append(inv.down, h.downTarget(e.Cluster, s.Labels))
				continue
			}
			id, ok := h.catalog.Resolve(s.Labels)
			if !ok || catalog.OfOthers(catalog.Dialect(s.Labels.Get(tag)), s.Labels) {
				continue
			}
			id.Device.Cluster = e.Cluster
			if s.Labels.Get(tag) == migTag {
				modes = append(modes, keyOf(id.Device).parent())
				continue
			}
			dialect := catalog.Dialect(s.Labels.Get(tag))
			inv.roster.add(id, h.catalog.Rank(dialect))
			if id.NodeLabel == "instance" && dialect == catalog.DCGM {
				inv.addressed[dialect] = true // every other one has one label for its host, whether or not that is the address
			}
			if id.Useless != "" {
				instead := id.NodeLabel
				if id.Device.Node == id.Useless {
					instead = ""
				}
				inv.useless[id.Useless] = instead
			}
		}
		for _, key := range modes {
			if known, ok := inv.roster[key]; ok {
				known.device.MIGEnabled = true
			}
		}
		return inv, nil
	})
}

// inventoryExpr asks for the label sets of each dialect's devices; "" when the server has none of their series.
func (h *History) inventoryExpr(words vocabulary) string {
	labels := h.deviceLabels(words)
	var parts []string
	for _, dialect := range h.catalog.Dialects() {
		names := h.presence(words, dialect)
		if len(names) == 0 {
			continue
		}
		parts = append(parts, fmt.Sprintf(`label_replace(group by (%s) (%s),%s,%s,"","")`,
			labels, h.selectPresent(names), query.Quote(tag), query.Quote(string(dialect))))
	}
	for _, mode := range h.catalog.MIGModes() {
		if words.series[mode] {
			parts = append(parts, fmt.Sprintf(`label_replace(%s == 1,%s,%s,"","")`, selectNames([]string{mode}), query.Quote(tag), query.Quote(migTag)))
		}
	}
	if len(parts) > 0 {
		parts = append(parts, fmt.Sprintf(`label_replace({__name__="up"} == 0,%s,%s,"","")`, query.Quote(tag), query.Quote(downTag)))
	}
	return strings.Join(parts, " or ")
}

// selectPresent selects series that list devices. Of names that others than GPUs have too only those of GPUs count.
func (h *History) selectPresent(names []string) string {
	var plain, parts []string
	for _, name := range names {
		var matchers []string
		for label, values := range h.catalog.Required(name) {
			matchers = append(matchers, query.Matcher(label, values))
		}
		if len(matchers) == 0 {
			plain = append(plain, name)
			continue
		}
		slices.Sort(matchers)
		parts = append(parts, selectNames([]string{name}, matchers...))
	}
	if len(plain) > 0 {
		parts = append([]string{selectNames(plain)}, parts...)
	}
	return strings.Join(parts, " or ")
}

func (h *History) deviceLabels(words vocabulary) string {
	wanted := h.catalog.DeviceLabels()
	var kept []string
	for _, name := range words.labels {
		if slices.Contains(wanted, name) {
			kept = append(kept, name)
		}
	}
	return query.QuoteLabels(kept)
}

// presence are the series that list a dialect's devices: its info series, some common metrics, or whatever there is.
func (h *History) presence(words vocabulary, dialect catalog.Dialect) []string {
	var names []string
	for _, info := range h.catalog.Info() {
		if info.Dialect == dialect && words.has(info.Series) {
			names = append(names, info.Series)
		}
	}
	if len(names) > 0 && words.series != nil {
		return names
	}
	for _, name := range h.catalog.Presence() {
		m, _ := h.catalog.Metric(name)
		names = append(names, h.existing(words, m, dialect)...)
	}
	if len(names) > 0 {
		return names
	}
	for _, m := range h.catalog.Metrics() {
		if m.Subject != catalog.SubjectDevice {
			continue
		}
		names = append(names, h.existing(words, m, dialect)...)
	}
	return names
}

// existing are the names under which a dialect's series of a metric may exist on the server, in the case they have there.
func (h *History) existing(words vocabulary, m catalog.Metric, dialect catalog.Dialect) []string {
	var names []string
	for _, s := range m.Sources {
		if s.Dialect != dialect {
			continue
		}
		if words.has(s.Series) {
			names = append(names, s.Series)
		}
		if lower := strings.ToLower(s.Series); lower != s.Series && words.series[lower] {
			names = append(names, lower)
		}
	}
	for _, name := range words.renamed[m.Name] {
		if s, ok := h.catalog.SourceOf(m.Name, name); ok && s.Dialect == dialect {
			names = append(names, name)
		}
	}
	return names
}

// selectNames selects the series of all names, with further matchers.
func selectNames(names []string, matchers ...string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	name := query.RegexMatcher("__name__", strings.Join(quoted, "|"))
	if len(names) == 1 {
		name = query.Matcher("__name__", names)
	}
	return "{" + strings.Join(append([]string{name}, matchers...), ",") + "}"
}
