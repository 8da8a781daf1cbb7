package history

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// lookback is how long a server shows a sample for which there is no newer one.
const lookback = 5 * time.Minute

// mostMended is how many samples a server may be made to look at one by one, to leave out those that mean "no value".
const mostMended = 20_000_000

// overTime is how the samples of the time that a point stands for become its value.
type overTime struct {
	function string        // catalog.OverTimeMax and so on; "" for the newest sample
	span     time.Duration // 0 where there is no more than one sample to a point
	samples  int           // how many there are at most
}

// overTimeOf is how a query's points come from samples.
func overTimeOf(q query.Query, m catalog.Metric, w query.Window) overTime {
	if q.Instant {
		return overTime{}
	}
	o := overTime{function: m.OverTime(q.AggregationOf(m))}
	switch q.OverTime {
	case "":
	case catalog.OverTimeLast:
		o.function = ""
	default:
		o.function = q.OverTime
	}
	if o.function != "" && w.Step >= 2*w.ScrapeInterval {
		o.span = w.Step
		o.samples = int(w.Step/time.Second) + 1
	}
	return o
}

// extreme reports whether points are not the mean of their samples.
func (o overTime) extreme() bool {
	return o.function == catalog.OverTimeMax || o.function == catalog.OverTimeMin
}

// averaged reports whether points are means, which say less of the unit of what they are of.
func (o overTime) averaged() bool { return o.span > 0 && !o.extreme() }

// spread makes points of all samples of their steps, and adds the series in which the agent keeps the extremes of what it saw
// between scrapes.
func (p *plan) spread(words vocabulary, over overTime) {
	p.over = over
	for name, w := range p.wants {
		if w.source.Dialect != catalog.Warpwatch || name != w.metric.Name {
			continue
		}
		for _, window := range w.metric.WindowSeries(over.function) {
			if words.series[window] {
				p.wants[window] = w
				p.names = append(p.names, window)
			}
		}
	}
	slices.Sort(p.names)
}

// spanned asks for all wants of a gauge, with all samples of each step.
func (p plan) spanned(alternatives []string) string {
	var parts []string
	for _, name := range p.names {
		for _, matchers := range alternatives {
			parts = append(parts, tagged(p.overStep(name, selectMatching([]string{name}, matchers)), name))
		}
	}
	return strings.Join(parts, " or ")
}

// overStep is one value of all samples in a step.
func (p plan) overStep(name, selector string) string {
	span := selector + bracketed(p.over.span)
	expr := p.over.function + "_over_time(" + span + ")"
	if high, hides := p.hidden(name); hides {
		expr = "(max_over_time(" + span + ") > " + number(high) + " or " + expr + ")"
	}
	if p.over.span < lookback {
		// An exporter may be scraped less often than the others.
		expr = "(" + expr + " or " + selector + ")"
	}
	return expr
}

// hidden reports whether a mean may look plausible although one of its samples means "no value", and from which value on
// a sample does.
func (p plan) hidden(name string) (high float64, hides bool) {
	w := p.wants[name]
	if !p.over.averaged() || w.source.Dialect != catalog.DCGM {
		return 0, false
	}
	_, high = p.catalog.Bounds(w.metric, w.source.Conversion)
	least := math.Inf(1)
	for _, blank := range p.catalog.Blanks(high, math.MaxFloat64) {
		least = min(least, blank)
	}
	return high, min(least, maxInt64)/float64(p.over.samples) <= high
}

// maxInt64 is about what DCGM writes for whole numbers that it does not have.
const maxInt64 = 9.2e18

func bracketed(d time.Duration) string { return "[" + model.Duration(d).String() + "]" }

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func tagged(expr, name string) string {
	return "label_replace(" + expr + "," + query.Quote(tag) + "," + query.Quote(name) + `,"","")`
}

// mended are values of points that a sample without meaning had taken, by series and time.
type mended map[seriesID]map[int64]float64

func (m mended) of(labels labelSet) map[int64]float64 {
	if len(m) == 0 {
		return nil
	}
	return m[spanID(labels)]
}

// spanID names a series in the answers to several expressions; some servers keep the name.
func spanID(labels labelSet) seriesID {
	rest := make([]label, 0, labels.len())
	for _, l := range labels.all() {
		if l.Name != "__name__" {
			rest = append(rest, l)
		}
	}
	id, _ := identify(labelSet{own: rest}, nil)
	return id
}

// mend asks again for the points of which one sample means "no value" or cannot be true, and hides the others. First it is
// asked, as cheaply, whether there are others; only then the server compares samples one by one.
func (h *History) mend(ctx context.Context, e *endpoint, p plan, units units, w query.Window, a *answer) (mended, error) {
	if p.over.span == 0 {
		return nil, nil
	}
	spoilt := h.spoilt(p, units, a, nil)
	if spoilt.count == 0 {
		return nil, nil
	}
	other := catalog.OverTimeMin
	if p.over.function == catalog.OverTimeMin {
		other = catalog.OverTimeMax
	}
	gate, err := e.evaluateOurs(ctx, spoilt.expr(func(_, selector string) string {
		return other + "_over_time(" + selector + bracketed(p.over.span) + ")"
	}),
		false, spoilt.window(w))
	if err != nil {
		return nil, err
	}
	mixed := h.spoilt(p, units, gate, spoilt.points)
	if mixed.count == 0 || mixed.cost(w) > mostMended {
		return nil, nil
	}
	good, err := e.evaluateOurs(ctx, mixed.expr(func(name, selector string) string {
		want := p.wants[name]
		low, high := h.catalog.Bounds(want.metric, want.source.Conversion)
		filter := " >= " + number(low) + " <= " + number(high)
		for _, blank := range h.catalog.Blanks(low, high) {
			filter += " != " + number(blank)
		}
		return p.over.function + "_over_time((" + selector + filter + ")[" + model.Duration(p.over.span).String() + ":" +
			model.Duration(w.ScrapeInterval).String() + "])"
	}), false, mixed.window(w))
	if err != nil {
		return nil, err
	}
	found := mended{}
	for _, s := range good.Series {
		id := spanID(s.Labels)
		for i, t := range s.Times {
			if !mixed.points[id][t] {
				continue
			}
			if found[id] == nil {
				found[id] = map[int64]float64{}
			}
			found[id][t] = s.Values[i]
		}
	}
	return found, nil
}

// spoilt are points of some series.
type spoilt struct {
	points   map[seriesID]map[int64]bool
	names    []string
	labels   map[string][]string // identities of the series, by the label that holds them; nil when they are too many
	from, to int64
	count    int
}

// spoilt finds the points whose values must not be shown; of those among, when it is not nil, the points that may be.
func (h *History) spoilt(p plan, units units, a *answer, among map[seriesID]map[int64]bool) spoilt {
	out := spoilt{points: map[seriesID]map[int64]bool{}, labels: map[string][]string{}, from: math.MaxInt64}
	for _, s := range a.Series {
		want, ok := p.find(s.Labels)
		if !ok {
			continue
		}
		conversion := units.of(want, s.Labels)
		plain := catalog.Plainly(want.metric, conversion)
		var id seriesID
		var known map[int64]bool
		for i, raw := range s.Values {
			_, fine := plain.Convert(raw)
			if fine && among == nil {
				continue
			}
			if !fine {
				_, verdict := h.catalog.Convert(want.metric, conversion, raw)
				fine = verdict == catalog.Kept
				if verdict == catalog.Gap || fine && among == nil {
					continue
				}
			}
			if known == nil {
				id, known = spanID(s.Labels), map[int64]bool{}
			}
			if among == nil && !fine || among != nil && fine && among[id][s.Times[i]] {
				known[s.Times[i]] = true
				out.from, out.to = min(out.from, s.Times[i]), max(out.to, s.Times[i])
			}
		}
		if len(known) > 0 {
			out.points[id] = known
			out.count += len(known)
			out.note(h, p.nameOf(s.Labels), s.Labels)
		}
	}
	return out
}

func (s *spoilt) note(h *History, name string, labels labelSet) {
	if len(s.names) == 0 || s.names[len(s.names)-1] != name {
		s.names = append(s.names, name)
	}
	if s.labels == nil {
		return
	}
	for _, label := range h.catalog.UUIDLabels() {
		if value := labels.Get(label); value != "" && len(s.points) <= maxSuspects {
			s.labels[label] = append(s.labels[label], value)
			return
		}
	}
	s.labels = nil
}

// expr asks for the series, each name in its own way.
func (s *spoilt) expr(of func(name, selector string) string) string {
	var sets []string
	for _, label := range sortedNames(s.labels) {
		values := make([]string, len(s.labels[label]))
		for i, v := range s.labels[label] {
			values[i] = regexp.QuoteMeta(v)
		}
		sets = append(sets, query.RegexMatcher(label, strings.Join(values, "|")))
	}
	if len(sets) == 0 {
		sets = []string{""}
	}
	var parts []string
	seen := map[string]bool{}
	for _, name := range s.names {
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, set := range sets {
			parts = append(parts, tagged(of(name, selectMatching([]string{name}, set)), name))
		}
	}
	return strings.Join(parts, " or ")
}

// window is the part of the range that has the points.
func (s *spoilt) window(w query.Window) query.Window {
	w.From, w.To = time.UnixMilli(s.from), time.UnixMilli(s.to)
	return w
}

// cost is how many samples are looked at.
func (s *spoilt) cost(w query.Window) int {
	stretch := time.Duration(s.to-s.from)*time.Millisecond + w.Step
	return len(s.points) * int(stretch/max(w.ScrapeInterval, time.Second))
}
