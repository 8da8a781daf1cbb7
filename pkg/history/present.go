package history

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// ownerInfo are the agent's series that say who has a device.
const ownerInfo = "gpu_owner_info"

// ownerTag is the tag of ownerInfo.
const ownerTag = "owner"

// attendance is who is there at one time: the devices of one server, when each was last measured, and who has it.
type attendance struct {
	roster roster
	seen   map[deviceKey]int64 // Unix milliseconds
	owners map[deviceKey][]gpu.Owner
	down   downTargets
	asked  string
	notes  []gpu.Notice
}

func newAttendance() attendance {
	return attendance{roster: roster{}, seen: map[deviceKey]int64{}, owners: map[deviceKey][]gpu.Owner{}}
}

// gaps is always true: a replica that is cut off from a part of the cluster does not know that there is more.
func (attendance) gaps() bool { return true }

func (a *attendance) merge(other attendance) {
	a.roster.take(other.roster)
	for key, at := range other.seen {
		a.seen[key] = max(a.seen[key], at)
	}
	for key, owners := range other.owners {
		for _, o := range owners {
			a.own(key, o)
		}
	}
	a.down = append(a.down, other.down...)
	a.notes = append(a.notes, other.notes...)
}

// maxOwners bounds how many owners of one device are told apart.
const maxOwners = 64

func (a *attendance) own(key deviceKey, o gpu.Owner) {
	if known := a.owners[key]; o.Known() && len(known) < maxOwners && !slices.Contains(known, o) {
		a.owners[key] = append(known, o)
	}
}

// attend asks one server who is there at the end of the window. The scope narrows what is asked for, but not by owner: who
// has a device may be in other series than the device.
func (h *History) attend(ctx context.Context, e *endpoint, scope query.Scope, w query.Window) (attendance, error) {
	a := newAttendance()
	words, err := h.words(ctx, e)
	if err != nil {
		return a, err
	}
	a.asked = h.attendanceExpr(words, h.pushDown(scope, words, h.known(ctx, e.Cluster)))
	if a.asked == "" {
		return a, nil
	}
	got, err := e.query(ctx, instantPath, url.Values{"query": {a.asked}, "time": {timestamp(w.To)}})
	if err != nil {
		return a, err
	}
	a.notes = remarks(e, got)
	var modes []deviceKey
	for _, s := range got.Series {
		switch what := s.Labels.Get(tag); what {
		case downTag:
			a.down = append(a.down, h.downTarget(e.Cluster, s.Labels))
		case migTag:
			if id, ok := h.catalog.Resolve(s.Labels); ok {
				id.Device.Cluster = e.Cluster
				modes = append(modes, keyOf(id.Device).parent())
			}
		default:
			h.attended(&a, e, what, s)
		}
	}
	for _, key := range modes {
		if known, ok := a.roster[key]; ok {
			known.device.MIGEnabled = true
		}
	}
	return a, nil
}

// attended takes in one series that says that a device is there.
func (h *History) attended(a *attendance, e *endpoint, what string, s rawSeries) {
	dialect := catalog.Dialect(what)
	if what == ownerTag {
		dialect = catalog.Warpwatch
	}
	who := h.bearer(e, s.Labels)
	if !who.named || catalog.OfOthers(dialect, s.Labels) {
		return
	}
	key, id := who.key, who.id
	a.roster.add(id, h.catalog.Rank(dialect))
	switch {
	case what == ownerTag:
		a.own(key, ownerOf(id.Owner, s.Labels))
	case h.catalog.NamesOwners(dialect):
		a.own(key, ownerOf(id.Owner, nil))
	}
	if what != ownerTag && len(s.Values) > 0 {
		a.seen[key] = max(a.seen[key], int64(s.Values[0]*1000))
	}
}

// ownerOf is the owner that a series names; labels are those of ownerInfo, which says more than exporters do.
func ownerOf(named catalog.Owner, labels catalog.Labels) gpu.Owner {
	o := gpu.Owner{Namespace: named.Namespace, Pod: named.Pod, Container: named.Container, SlurmJob: named.Job, Source: "exporter"}
	if o.Pod == "" {
		o.Namespace, o.Container = "", "" // the exporter's own
	}
	if labels != nil {
		o.SlurmStep, o.User, o.ContainerID = labels.Get("slurm_step"), labels.Get("user"), labels.Get("container_id")
		o.Replica, o.Source = labels.Get("replica"), labels.Get("source")
	}
	return o
}

// attendanceExpr asks for the label sets of each dialect's devices, with the time of their newest sample; "" when the server
// has none of their series.
func (h *History) attendanceExpr(words vocabulary, alternatives []string) string {
	if len(alternatives) == 0 {
		alternatives = []string{""}
	}
	labels := query.QuoteLabels(words.labels)
	var parts []string
	for _, dialect := range h.catalog.Dialects() {
		var times []string
		for _, name := range h.presence(words, dialect) {
			for _, matchers := range alternatives {
				times = append(times, fmt.Sprintf(`label_replace(timestamp(%s),%s,%s,"","")`,
					selectMatching([]string{name}, joinMatchers(h.required(name), matchers)), query.Quote(tag), query.Quote(name)))
			}
		}
		if len(times) > 0 {
			parts = append(parts, fmt.Sprintf(`label_replace(max by (%s) (%s),%s,%s,"","")`,
				labels, strings.Join(times, " or "), query.Quote(tag), query.Quote(string(dialect))))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if words.series[ownerInfo] {
		parts = append(parts, fmt.Sprintf(`label_replace(%s,%s,%s,"","")`, ownerInfo, query.Quote(tag), query.Quote(ownerTag)))
	}
	for _, mode := range h.catalog.MIGModes() {
		if words.series[mode] {
			parts = append(parts, fmt.Sprintf(`label_replace(%s == 1,%s,%s,"","")`, selectNames([]string{mode}), query.Quote(tag), query.Quote(migTag)))
		}
	}
	parts = append(parts, fmt.Sprintf(`label_replace({__name__="up"} == 0,%s,%s,"","")`, query.Quote(tag), query.Quote(downTag)))
	return strings.Join(parts, " or ")
}

// required are the matchers of what a series of a name must fulfil to be of a GPU, "" for most names.
func (h *History) required(name string) string {
	var matchers []string
	for label, values := range h.catalog.Required(name) {
		matchers = append(matchers, query.Matcher(label, values))
	}
	slices.Sort(matchers)
	return strings.Join(matchers, ",")
}

// attendAll is who is there in the clusters of the scope, for all servers together.
func (h *History) attendAll(ctx context.Context, endpoints []*endpoint, scope query.Scope, w query.Window) (attendance, []question, []gpu.Notice, error) {
	outcomes := fanOut(ctx, endpoints, func(ctx context.Context, e *endpoint) (attendance, error) {
		return h.attend(ctx, e, scope, w)
	})
	good, failed, err := split(outcomes)
	all := newAttendance()
	var asked []question
	for _, o := range outcomes {
		asked = append(asked, question{o.endpoint.ID, o.value.asked})
	}
	for _, o := range good {
		all.merge(o.value)
	}
	all.roster.complete()
	return all, asked, failed, err
}
