package history

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// maxSightings bounds how many series one server is asked for to find out what it has.
const maxSightings = 500_000

// resolution is what one server has of the catalogue's metrics now, exporter by exporter, and what the values are in.
type resolution struct {
	roster    roster
	workloads map[deviceKey]catalog.Workload
	sightings []sighting
	means     metadata
	notices   []gpu.Notice
	asked     string
}

// gaps is always true: a replica that is cut off from a part of the cluster does not know that there is more.
func (r *resolution) gaps() bool { return true }

// sighting is one series that holds a metric of one device or workload.
type sighting struct {
	*specimen
	key   deviceKey
	blank bool // it says that there is no value
}

// specimen is what the series of one name at one target have in common.
type specimen struct {
	source catalog.Source
	name   string // of the series, as the server has it
	from   target
	open   target // by which the unit is decided, where the name does not tell it
	unit   decision
}

// specimenKey names a specimen.
type specimenKey struct {
	metric string
	open   target
	name   string
}

// resolution asks one server for it, at most once a minute for each tenant.
func (h *History) resolve(ctx context.Context, e *endpoint) (*resolution, error) {
	return e.resolution.get(ctx, h.options.Tenant(ctx), vocabularyTTL, func(ctx context.Context) (*resolution, error) {
		words, err := h.words(ctx, e)
		if err != nil {
			return nil, err
		}
		r := &resolution{roster: roster{}, workloads: map[deviceKey]catalog.Workload{}}
		if inv, err := h.inventory(ctx, e); err == nil {
			r.roster.take(inv.roster)
		} else if ctx.Err() != nil {
			return nil, err
		}
		if r.means, err = h.metadata(ctx, e); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			r.notices = append(r.notices, gpu.Notice{Severity: gpu.Info, Text: "What the exporters say of their series is not known: " + err.Error() + "."})
		}
		asked := h.resolvable(words)
		if r.asked = asked.expr(words); r.asked == "" {
			return r, nil
		}
		a, err := e.query(ctx, instantPath, url.Values{"query": {r.asked}, "limit": {strconv.Itoa(maxSightings)}})
		if err != nil {
			return nil, err
		}
		r.notices = append(r.notices, remarks(e, a)...)
		f := finder{h: h, endpoint: e, asked: asked, found: r, specimens: map[specimenKey]*specimen{}, open: map[target]*undecided{}}
		for _, s := range a.Series {
			f.sight(s)
		}
		known, err := h.decide(ctx, e, f.open)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			r.notices = append(r.notices, gpu.Notice{Severity: gpu.Info, Text: "Some units were not looked into: " + err.Error() + "."})
		}
		for _, one := range f.specimens {
			one.unit = decision{conversion: one.source.Conversion, certain: true}
			if d, ok := known[one.open]; ok && one.source.Conversion.Auto {
				one.unit = d
			}
		}
		return r, nil
	})
}

// asked are the series to look for, by their names on the server, with what each may be a source of.
type asked struct {
	devices, workloads, histograms map[string][]catalog.Source
}

// resolvable are all series of the server that the catalogue knows.
func (h *History) resolvable(words vocabulary) asked {
	all := asked{devices: map[string][]catalog.Source{}, workloads: map[string][]catalog.Source{}, histograms: map[string][]catalog.Source{}}
	for _, m := range h.catalog.Metrics() {
		for _, dialect := range h.catalog.Dialects() {
			if m.Kind == catalog.Histogram {
				for name, source := range h.natives(words, m, dialect) {
					all.histograms[name] = append(all.histograms[name], source)
				}
			}
			for _, name := range h.existing(words, m, dialect) {
				source, _ := h.catalog.SourceOf(m.Name, name)
				into := all.devices
				switch {
				case m.Kind == catalog.Histogram:
					into, name = all.histograms, strings.TrimSuffix(name, bucketEnding)+"_count"
				case m.Subject == catalog.SubjectWorkload:
					into = all.workloads
				}
				into[name] = append(into[name], source)
			}
		}
	}
	return all
}

// expr asks for one sample of each, with the labels that say what it is of.
func (a asked) expr(words vocabulary) string {
	var parts []string
	for _, list := range []struct {
		what, function string
		series         map[string][]catalog.Source
		labels         []string
	}{{"gpu", "max", a.devices, words.labels}, {"workload", "max", a.workloads, words.workload}, {"histogram", "group", a.histograms, words.workload}} {
		if len(list.series) == 0 {
			continue
		}
		by := []string{"__name__", "instance", "job"}
		for _, label := range slices.Concat(list.labels, conditionLabels(list.series)) {
			if !slices.Contains(by, label) {
				by = append(by, label)
			}
		}
		// "or" compares labels without the name, and one workload has metrics of both kinds.
		parts = append(parts, "label_replace("+list.function+" by ("+query.QuoteLabels(by)+") ("+selectNames(sortedNames(list.series))+"),"+
			query.Quote(tag)+","+query.Quote(list.what)+`,"","")`)
	}
	return strings.Join(parts, " or ")
}

// conditionLabels are the labels that tell which metric a series of a name is of.
func conditionLabels(series map[string][]catalog.Source) []string {
	var labels []string
	for name, sources := range series {
		for _, s := range sources {
			for _, c := range s.Conditions() {
				labels = append(labels, strings.ReplaceAll(c.Label, ".", "_"))
				if !model.LegacyValidation.IsValidMetricName(name) {
					labels = append(labels, c.Label)
				}
			}
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// finder makes a resolution of an answer.
type finder struct {
	h         *History
	endpoint  *endpoint
	asked     asked
	found     *resolution
	specimens map[specimenKey]*specimen
	open      map[target]*undecided
}

// sight notes what one series is of.
func (f finder) sight(s rawSeries) {
	h, r, asked, open := f.h, f.found, f.asked, f.open
	name := s.Labels.Get("__name__")
	var one sighting
	sources := asked.devices[name]
	if sources != nil {
		id, ok := h.catalog.Resolve(s.Labels)
		if !ok || catalog.OfOthers(sources[0].Dialect, s.Labels) {
			return
		}
		id.Device.Cluster = f.endpoint.Cluster
		one.key = keyOf(id.Device)
		r.roster.add(id, h.catalog.Rank(sources[0].Dialect))
	} else {
		if sources = asked.workloads[name]; sources == nil {
			sources = asked.histograms[name]
		}
		w, ok := h.catalog.ResolveWorkload(s.Labels)
		if !ok {
			return
		}
		w.Cluster = f.endpoint.Cluster
		if w.Node == "" && w.Pod == "" {
			w.Node = h.catalog.Node(s.Labels)
		}
		k := keyOfWorkload(w)
		one.key = keyFor(k.cluster, strings.Join([]string{k.namespace, k.pod, k.job, k.model, k.rank, k.address}, "\xff"), "")
		r.workloads[one.key] = w
	}
	value := 0.0
	if len(s.Values) > 0 {
		value = s.Values[0]
	}
	one.blank = h.catalog.IsSentinel(value)
	for _, source := range sources {
		if !source.Accepts(s.Labels) {
			continue
		}
		key := specimenKey{source.Metric, h.targetOf(s.Labels, strings.ToLower(source.Series)), name}
		if f.specimens[key] == nil {
			f.specimens[key] = &specimen{source: source, name: name, from: h.targetOf(s.Labels, ""), open: key.open}
		}
		one.specimen = f.specimens[key]
		r.sightings = append(r.sightings, one)
		if !source.Conversion.Auto {
			continue
		}
		m, _ := h.catalog.Metric(source.Metric)
		t := one.open
		if open[t] == nil {
			open[t] = &undecided{name: name, source: source, rates: m.Kind != catalog.Gauge}
		}
		open[t].evidence.Legacy = open[t].evidence.Legacy || h.catalog.IsLegacy(s.Labels)
		h.catalog.Observe(&open[t].evidence, value)
	}
}
