package plugin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/alerts"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/insight/health"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// Origins of alerts and silences.
const (
	fromPrometheus   = "history"
	fromAlertmanager = "alertmanager"
	fromSettings     = "settings"
)

// wantsAlerts reports whether alerts or silences are part of an answer. Rules and expressions must name them: a rule that counts
// all events must not count its own alert.
func (r request) wantsAlerts() bool {
	named := slices.Contains(r.query.Kinds, gpu.KindAlert) || slices.Contains(r.query.Kinds, gpu.KindSilence)
	return named || len(r.query.Kinds) == 0 && !r.static
}

// firings are alerts and silences as events.
type firings struct {
	alerts   []alertEvent
	silences []gpu.Event
	failed   []gpu.Notice // what could not be asked
	notices  []gpu.Notice // and everything else
	executed string
}

// alertEvent is an alert of a GPU, a node or a cluster.
type alertEvent struct {
	gpu.Event

	stem    string // the event's detail but for how long it has fired
	ongoing bool
}

// key names an alert from one answer to the next: since when it fires is known to a step only.
func (f alertEvent) key() string {
	d := f.Device
	return strings.Join([]string{f.Kind, d.Cluster, d.Node, d.UUID, d.GPUInstance, f.stem}, groupSeparator)
}

func (f firings) events() []gpu.Event {
	var events []gpu.Event
	for _, a := range f.alerts {
		events = append(events, a.Event)
	}
	return append(events, f.silences...)
}

// keys name the alerts.
func (f firings) keys() []string {
	var keys []string
	for _, a := range f.alerts {
		keys = append(keys, a.key())
	}
	return keys
}

// alertAnswers are what Prometheus says of the alerts of a range and Alertmanagers of what fires now.
type alertAnswers struct {
	past  history.Alerts
	now   alerts.Answer
	known []gpu.Device // that alerts may be about
}

// firings asks Prometheus for alerts of the range, and Alertmanagers for what fires now and for silences.
func (d *Datasource) firings(ctx context.Context, r request) firings {
	return d.placed(ctx, r, d.askAlerts(ctx, r))
}

func (d *Datasource) askAlerts(ctx context.Context, r request) alertAnswers {
	var said alertAnswers
	var wg sync.WaitGroup
	if r.query.Source != query.SourceLive && r.query.WantsKind(gpu.KindAlert) {
		wg.Go(func() { said.past = d.history.Alerts(ctx, r.query.Scope, eventWindow(r)) })
	}
	if len(d.managers) > 0 {
		wg.Go(func() { said.now = alerts.Ask(ctx, d.managers) })
	}
	wg.Go(func() { said.known, _ = d.history.Devices(ctx) })
	wg.Wait()
	return said
}

// placed is what a query wants of what was said.
func (d *Datasource) placed(ctx context.Context, r request, said alertAnswers) firings {
	var owned map[nodeName]map[string]bool
	if r.query.Scope.ByOwner() {
		owned = d.ownedPlaces(ctx, r)
	}
	past, now := said.past, said.now
	out := firings{executed: past.Executed, notices: past.Notices}
	p := placing{Datasource: d, scope: r.query.Scope, owned: owned, nodes: map[string][]gpu.Device{}}
	p.learn(said.known)
	p.learn(d.live.Devices())
	if r.query.WantsKind(gpu.KindAlert) {
		out.alerts = p.alerts(r, past.List, now.Alerts)
	}
	if r.query.WantsKind(gpu.KindSilence) {
		out.silences = append(p.silences(r, now.Silences), p.announcements(r)...)
	}
	if past.Err != nil {
		out.failed = append(out.failed, gpu.Notice{Severity: gpu.Warning, Text: "Alerts in Prometheus are not known: " + past.Err.Error() + "."})
	}
	for _, err := range now.Failed {
		out.failed = append(out.failed, gpu.Notice{Severity: gpu.Warning, Text: "Alertmanager " + err.Error() + "."})
	}
	for _, text := range now.LeftOut {
		out.notices = append(out.notices, gpu.Notice{Severity: gpu.Warning, Text: "Alertmanager " + text + "."})
	}
	if slices.Contains(r.query.Kinds, gpu.KindSilence) && len(d.managers) == 0 {
		out.notices = append(out.notices, gpu.Notice{Severity: gpu.Info, Text: "Silences are not known: list Alertmanagers under alertmanagers in the data source's settings."})
	}
	return out
}

// ownedPlaces are the boards, by node, that the owners of a query's scope have.
func (d *Datasource) ownedPlaces(ctx context.Context, r request) map[nodeName]map[string]bool {
	places := map[nodeName]map[string]bool{}
	r.static = true // nobody needs values
	s := d.stock(ctx, r, r.query.Source != query.SourceHistory, r.window.From)
	for _, row := range s.rows(r.query.Scope, r.window.To, r.now) {
		n := nodeName{row.Device.Cluster, row.Device.Node}
		if places[n] == nil {
			places[n] = map[string]bool{}
		}
		places[n][row.Device.UUID] = true
	}
	return places
}

// placing finds out what an alert is about, and whether a query asks for it.
type placing struct {
	*Datasource

	scope query.Scope
	owned map[nodeName]map[string]bool // of a scope of owners
	nodes map[string][]gpu.Device      // by the name of their node without its domain
	ids   map[string]gpu.Device        // by UUID
}

func (p *placing) learn(devices []gpu.Device) {
	if p.ids == nil {
		p.ids = map[string]gpu.Device{}
	}
	for _, d := range devices {
		short := shortHost(d.Node)
		if !d.IsMIG() && d.UUID != "" {
			if _, known := p.ids[d.UUID]; known {
				continue // the other side knows it, too
			}
			p.ids[d.UUID] = d
		}
		if short != "" {
			p.nodes[short] = append(p.nodes[short], d)
		}
	}
}

func shortHost(node string) string {
	short, _, _ := strings.Cut(node, ".")
	return short
}

// ofGPUs reports whether an alert's name says that it is about GPUs, whether or not it names one.
func ofGPUs(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"gpu", "nvidia", "nvlink", "nvswitch", "dcgm", "xid", "warpwatch"}, func(word string) bool { return strings.Contains(name, word) })
}

// place is what an alert is about, by its labels; false for what has to do with no GPU and no node of GPUs.
func (p *placing) place(cluster string, labels map[string]string) (gpu.Device, bool) {
	if !slices.ContainsFunc(p.settings.Clusters, func(c settings.Cluster) bool { return c.Name == cluster }) && len(p.settings.Clusters) == 1 {
		cluster = p.settings.Clusters[0].Name
	}
	if id, ok := p.catalog.Resolve(catalog.LabelMap(labels)); ok {
		if known, found := p.ids[id.Device.UUID]; found && id.Device.GPUInstance == "" {
			return known, true
		}
		id.Device.Cluster = cluster
		if known, found := p.ids[id.Device.UUID]; found {
			id.Device.Cluster, id.Device.Node, id.Device.Index = known.Cluster, known.Node, known.Index
		}
		return id.Device, true
	}
	node := p.catalog.Node(catalog.LabelMap(labels))
	of := gpu.Device{Identity: gpu.Identity{Cluster: cluster, Node: node}, Index: -1}
	there := slices.DeleteFunc(slices.Clone(p.nodes[shortHost(node)]), func(d gpu.Device) bool { return cluster != "" && d.Cluster != cluster })
	if node != "" && len(there) > 0 {
		of.Cluster, of.Node = there[0].Cluster, there[0].Node
		for _, label := range []string{"gpu", "index", "minor_number"} {
			if n, err := strconv.Atoi(labels[label]); err == nil {
				if i := slices.IndexFunc(there, func(d gpu.Device) bool { return d.Index == n && !d.IsMIG() }); i >= 0 {
					return there[i], true
				}
			}
		}
		return of, true
	}
	return of, ofGPUs(labels["alertname"])
}

// wanted reports whether the query asks for what is about a device, a node or a cluster.
func (p *placing) wanted(d gpu.Device, labels map[string]string) bool {
	if p.scope.ByOwner() {
		if pod := labels["pod"]; pod != "" && p.scope.MatchesOwner(labels["namespace"], pod, "") {
			return true
		}
		boards := p.owned[nodeName{d.Cluster, d.Node}]
		return len(boards) > 0 && (d.UUID == "" || boards[d.UUID])
	}
	if d.UUID != "" {
		return p.scope.Matches(d)
	}
	return p.scope.MatchesNode(d.Cluster, d.Node) && len(p.scope.GPUs)+len(p.scope.MIGs) == 0
}

// alerts joins what both tell: an alert of Prometheus whose labels an Alertmanager's has is the same one. Prometheus knows when it
// fired, Alertmanager since when to the second, what it is about, and whether somebody is told.
func (p *placing) alerts(r request, past []history.Alert, now []alerts.Alert) []alertEvent {
	byName := map[string][]int{}
	for i, a := range now {
		byName[a.Name] = append(byName[a.Name], i)
	}
	joined := map[int]bool{}
	var out []alertEvent
	add := func(cluster string, labels map[string]string, from, until time.Time, ongoing bool, origin, summary, suppressed string) {
		device, related := p.place(cluster, labels)
		if !related || !p.wanted(device, labels) || !from.Before(r.window.To) || until.Before(r.window.From) {
			return
		}
		stem := alertText(labels, summary)
		out = append(out, alertEvent{stem: stem, ongoing: ongoing, Event: gpu.Event{
			Time: from, Until: until, Kind: gpu.KindAlert, Origin: origin, Device: device, Detail: stem + lasting(from, until, ongoing, suppressed),
		}})
	}
	for _, a := range past {
		from, origin, summary, suppressed := a.From, fromPrometheus, "", ""
		for _, i := range byName[a.Labels["alertname"]] {
			if m := now[i]; a.Ongoing && !m.Starts.After(a.Until) && covers(m.Labels, a.Labels) {
				joined[i] = true
				origin, summary, suppressed = fromAlertmanager, m.Summary, m.Suppressed
				if a.Earlier || m.Starts.After(from.Add(-eventWindow(r).Step)) {
					from = m.Starts
				}
			}
		}
		add(a.Cluster, a.Labels, from, a.Until, a.Ongoing, origin, summary, suppressed)
	}
	for i, a := range now {
		if joined[i] {
			continue
		}
		until, ongoing := a.Ends, false
		if until.After(r.window.To) {
			until, ongoing = r.window.To, true
		}
		add(a.Cluster, a.Labels, a.Starts, until, ongoing, fromAlertmanager, a.Summary, a.Suppressed)
	}
	return out
}

// covers reports whether some labels have all of others. Alertmanager's have those of Prometheus that are external, too.
func covers(labels, others map[string]string) bool {
	for name, value := range others {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// alertText begins with the alert's name.
func alertText(labels map[string]string, summary string) string {
	text := strings.ReplaceAll(labels["alertname"], ": ", ":")
	if severity := labels["severity"]; severity != "" {
		text += ": " + severity
	} else {
		text += ": alert"
	}
	if summary != "" {
		text += ", " + summary
	}
	return text
}

// lasting is how long an alert has fired, after its text.
func lasting(from, until time.Time, ongoing bool, suppressed string) string {
	text := "; resolved"
	if ongoing {
		text = "; still firing"
	}
	text += fmt.Sprintf(" after %s", until.Sub(from).Round(time.Second))
	if suppressed != "" {
		text += "; " + suppressed
	}
	return text
}

// silences are those that concern GPUs or nodes of the query, as regions.
func (p *placing) silences(r request, all []alerts.Silence) []gpu.Event {
	var out []gpu.Event
	for _, s := range all {
		if !s.Starts.Before(r.window.To) || s.Ends.Before(r.window.From) {
			continue
		}
		device, concerns := p.silenced(s)
		if !concerns {
			continue
		}
		var matchers []string
		for _, m := range s.Matchers {
			matchers = append(matchers, m.String())
		}
		text := strings.Join(matchers, ", ")
		if s.By != "" {
			text += ", by " + s.By
		}
		if s.Comment != "" {
			text += ": " + s.Comment
		}
		if s.State == "pending" {
			text += " (has not begun)"
		}
		out = append(out, gpu.Event{Time: s.Starts, Until: s.Ends, Kind: gpu.KindSilence, Origin: fromAlertmanager, Device: device, Detail: text})
	}
	return out
}

// silencePlaces are the labels by which a silence may say what it is about.
func (d *Datasource) silencePlaces() map[string]func(gpu.Device) string {
	places := map[string]func(gpu.Device) string{}
	for _, label := range d.catalog.NodeLabels() {
		places[label] = func(d gpu.Device) string { return d.Node }
	}
	for _, label := range d.catalog.UUIDLabels() {
		places[label] = func(d gpu.Device) string { return d.UUID }
	}
	places["cluster"] = func(d gpu.Device) string { return d.Cluster }
	places["gpu"] = func(d gpu.Device) string { return strconv.Itoa(d.Index) }
	return places
}

// fitsPlaces reports whether a device fits those matchers that are about places.
func fitsPlaces(matchers []alerts.Matcher, places map[string]func(gpu.Device) string, d gpu.Device) bool {
	return !slices.ContainsFunc(matchers, func(m alerts.Matcher) bool {
		of, known := places[m.Name]
		if !known {
			return false
		}
		value := of(d)
		if m.Name == "instance" {
			// The port of whoever was scraped is not known: it fits if it does with any of them.
			return !m.Matches(value) && !m.Matches(value+":9400") && !m.Matches(value+":9100") && !m.Matches(value+":9847")
		}
		return !m.Matches(value) && !(m.Equal && m.Matches(shortHost(value)))
	})
}

// silenced is what a silence is about: the one GPU or the one node that its matchers fit, else the cluster. One that names no place
// concerns GPUs when it names an alert of GPUs.
func (p *placing) silenced(s alerts.Silence) (gpu.Device, bool) {
	places := p.silencePlaces()
	named := false
	for _, m := range s.Matchers {
		_, known := places[m.Name]
		named = named || known && m.Name != "cluster" && m.Name != "gpu"
	}
	nodes, boards := map[nodeName]bool{}, map[string]gpu.Device{}
	for _, uuid := range slices.Sorted(maps.Keys(p.ids)) {
		d := p.ids[uuid]
		if s.Cluster != "" && d.Cluster != s.Cluster || !p.wanted(d, nil) {
			continue
		}
		fits := fitsPlaces(s.Matchers, places, d)
		if fits {
			nodes[nodeName{d.Cluster, d.Node}] = true
			boards[uuid] = d
		}
	}
	of := gpu.Device{Identity: gpu.Identity{Cluster: s.Cluster}, Index: -1}
	if !named {
		of.Cluster = cmp.Or(of.Cluster, onlyCluster(nodes))
		return of, len(boards) > 0 && slices.ContainsFunc(s.Matchers, func(m alerts.Matcher) bool { return m.Name == "alertname" && m.Equal && ofGPUs(m.Value) })
	}
	single := slices.ContainsFunc(s.Matchers, func(m alerts.Matcher) bool {
		return m.Name == "gpu" || slices.Contains(p.catalog.UUIDLabels(), m.Name)
	})
	return smallest(of, boards, nodes, single), len(boards) > 0
}

// smallest is the one board, where single boards are meant, or the one node that some are of, else their cluster.
func smallest(of gpu.Device, boards map[string]gpu.Device, nodes map[nodeName]bool, single bool) gpu.Device {
	switch {
	case single && len(boards) == 1:
		for _, d := range boards {
			return d
		}
	case len(nodes) == 1:
		for n := range nodes {
			of.Cluster, of.Node = n.cluster, n.node
		}
	default:
		of.Cluster = cmp.Or(of.Cluster, onlyCluster(nodes))
	}
	return of
}

// announcements are the maintenance of the settings that concerns GPUs of the query, as regions.
func (p *placing) announcements(r request) []gpu.Event {
	var out []gpu.Event
	for _, m := range p.settings.Insight.Maintenance {
		if !m.From.Before(r.window.To) || m.Until.Before(r.window.From) {
			continue
		}
		nodes, boards := map[nodeName]bool{}, map[string]gpu.Device{}
		for uuid, d := range p.ids {
			if m.Covers(d.Cluster, d.Node, uuid, m.From) && p.wanted(d, nil) {
				nodes[nodeName{d.Cluster, d.Node}], boards[uuid] = true, d
			}
		}
		if len(boards) == 0 {
			continue
		}
		about := smallest(gpu.Device{Identity: gpu.Identity{Cluster: m.Cluster}, Index: -1}, boards, nodes, m.GPU != "")
		work := health.Maintenance{By: m.By, Why: m.Why}
		out = append(out, gpu.Event{Time: m.From, Until: m.Until, Kind: gpu.KindSilence, Origin: fromSettings, Device: about,
			Detail: strings.TrimSpace("maintenance " + work.String())})
	}
	return out
}

func onlyCluster(nodes map[nodeName]bool) string {
	name, some := "", false
	for n := range nodes {
		if some && n.cluster != name {
			return ""
		}
		name, some = n.cluster, true
	}
	return name
}
