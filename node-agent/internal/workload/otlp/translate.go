package otlp

import (
	"fmt"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

// translation is one request on its way into the store.
type translation struct {
	now     time.Time
	node    string
	streams *streams

	families []*dto.MetricFamily
	byKey    map[string]*dto.MetricFamily
	gone     []*dto.MetricFamily
	refused  map[workload.Reason]int
	messages []string
}

// maxMessages bounds what a sender is told.
const maxMessages = 10

func (t *translation) data(data *metricsData) {
	t.byKey = map[string]*dto.MetricFamily{}
	for _, rm := range data.GetResourceMetrics() {
		labels := t.resource(rm.GetResource().GetAttributes())
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				t.metric(labels, m)
			}
		}
	}
}

// refuse notes n points that are not translated.
func (t *translation) refuse(metric string, reason workload.Reason, n int, why string) {
	if n == 0 {
		return
	}
	t.refused[reason] += n
	if len(metric) > 80 {
		metric = metric[:80] + "…"
	}
	message := fmt.Sprintf("%q: %s", metric, why)
	if len(t.messages) < maxMessages && !slices.Contains(t.messages, message) {
		t.messages = append(t.messages, message)
	}
}

// metric translates all points of a metric.
func (t *translation) metric(resource labelSet, m *metrics.Metric) {
	switch d := m.GetData().(type) {
	case *metrics.Metric_Gauge:
		t.numbers(resource, m, otlptranslator.MetricTypeGauge, dto.MetricType_GAUGE, d.Gauge.GetDataPoints(), false)
	case *metrics.Metric_Sum:
		delta, ok := t.temporality(m, d.Sum.GetAggregationTemporality(), len(d.Sum.GetDataPoints()))
		if !ok {
			return
		}
		if d.Sum.GetIsMonotonic() {
			t.numbers(resource, m, otlptranslator.MetricTypeMonotonicCounter, dto.MetricType_COUNTER, d.Sum.GetDataPoints(), delta)
			return
		}
		t.numbers(resource, m, otlptranslator.MetricTypeNonMonotonicCounter, dto.MetricType_GAUGE, d.Sum.GetDataPoints(), delta)
	case *metrics.Metric_Histogram:
		t.histograms(resource, m, d.Histogram)
	case *metrics.Metric_ExponentialHistogram:
		t.exponentials(resource, m, d.ExponentialHistogram)
	case *metrics.Metric_Summary:
		t.summaries(resource, m, d.Summary)
	}
}

// temporality says whether points are deltas.
func (t *translation) temporality(m *metrics.Metric, is metrics.AggregationTemporality, points int) (delta, ok bool) {
	switch is {
	case metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE:
		return false, true
	case metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA:
		return true, true
	}
	t.refuse(m.GetName(), workload.InvalidData, points, "a sum or histogram is either cumulative or delta; this one is neither")
	return false, false
}

// target is where a metric's points go.
type target struct {
	naming
	sent     string // the sender's name
	kind     dto.MetricType
	help     string
	reserved bool // the store will refuse it: nothing is remembered
}

func (t *translation) target(m *metrics.Metric, is otlptranslator.MetricType, kind dto.MetricType, points int) (target, bool) {
	n, err := named(m.GetName(), m.GetUnit(), is)
	if err != nil {
		t.refuse(m.GetName(), workload.InvalidName, points, "the name has no letters: give it another")
		return target{}, false
	}
	_, reserved := workload.ReservedName(n.name)
	return target{naming: n, sent: m.GetName(), kind: kind, help: m.GetDescription(), reserved: reserved}, true
}

// put adds a series. The family is the request's own until the store has looked at it.
func (t *translation) put(to target, labels labelSet, m *dto.Metric) {
	m.Label = labels.pairs()
	key := to.kind.String() + " " + to.name
	mf := t.byKey[key]
	if mf == nil {
		mf = &dto.MetricFamily{Name: proto.String(to.name), Help: proto.String(to.help), Type: to.kind.Enum()}
		t.byKey[key] = mf
		t.families = append(t.families, mf)
	}
	mf.Metric = append(mf.Metric, m)
}

// point is what all kinds of points have.
type point interface {
	GetAttributes() []*common.KeyValue
	GetTimeUnixNano() uint64
	GetFlags() uint32
}

// stream finds what is known of a point's series. ok is false when the point says nothing, or nothing new.
func (t *translation) stream(to target, resource labelSet, p point, delta bool) (s *stream, labels labelSet, ok bool) {
	labels = resource.point(p.GetAttributes())
	if to.reserved {
		return &stream{}, labels, true
	}
	if p.GetFlags()&uint32(metrics.DataPointFlags_DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK) != 0 {
		t.gone = append(t.gone, &dto.MetricFamily{Name: proto.String(to.name), Metric: []*dto.Metric{{Label: labels.pairs()}}})
		return nil, nil, false
	}
	s = t.streams.of(to.kind.String()+" "+to.name+labels.key(), t.now)
	if s == nil {
		t.refuse(to.sent, workload.TooMany, 1, "the agent remembers as many series as it may: send fewer, or raise the limit")
		return nil, nil, false
	}
	at := p.GetTimeUnixNano()
	if at != 0 && (at < s.time || delta && at == s.time) {
		t.refuse(to.sent, workload.OutOfOrder, 1,
			"a point is not newer than the one before it: when two processes send the same series, tell them apart by rank or service.instance.id")
		return nil, nil, false
	}
	return s, labels, true
}

// seen notes that a point was taken.
func (t *translation) seen(s *stream, p point) {
	s.seen, s.time = t.now, max(s.time, p.GetTimeUnixNano())
}

func (t *translation) numbers(resource labelSet, m *metrics.Metric, is otlptranslator.MetricType, kind dto.MetricType, points []*metrics.NumberDataPoint, delta bool) {
	to, ok := t.target(m, is, kind, len(points))
	if !ok {
		return
	}
	for _, p := range points {
		s, labels, ok := t.stream(to, resource, p, delta)
		if !ok {
			continue
		}
		value, is := number(p)
		value *= to.factor
		switch {
		case !is:
			t.refuse(to.sent, workload.InvalidData, 1, "a point has no value")
			continue
		case kind == dto.MetricType_COUNTER && !(value >= 0), delta && (math.IsNaN(value) || math.IsInf(value, 0)):
			t.refuse(to.sent, workload.InvalidData, 1, "a total is a number and does not fall: send a gauge")
			continue
		}
		t.seen(s, p)
		if delta {
			s.sum += value
			value = s.sum
		}
		if kind == dto.MetricType_COUNTER {
			t.put(to, labels, &dto.Metric{Counter: &dto.Counter{Value: &value}})
		} else {
			t.put(to, labels, &dto.Metric{Gauge: &dto.Gauge{Value: &value}})
		}
	}
}

func number(p *metrics.NumberDataPoint) (float64, bool) {
	switch v := p.GetValue().(type) {
	case *metrics.NumberDataPoint_AsDouble:
		return v.AsDouble, true
	case *metrics.NumberDataPoint_AsInt:
		return float64(v.AsInt), true
	}
	return 0, false
}

func (t *translation) histograms(resource labelSet, m *metrics.Metric, d *metrics.Histogram) {
	points := d.GetDataPoints()
	delta, ok := t.temporality(m, d.GetAggregationTemporality(), len(points))
	if !ok {
		return
	}
	to, ok := t.target(m, otlptranslator.MetricTypeHistogram, dto.MetricType_HISTOGRAM, len(points))
	if !ok {
		return
	}
	for _, p := range points {
		s, labels, ok := t.stream(to, resource, p, delta)
		if !ok {
			continue
		}
		h, why := readHistogram(p, to.factor)
		if why != "" {
			t.refuse(to.sent, workload.InvalidData, 1, why)
			continue
		}
		t.seen(s, p)
		if delta {
			h = s.hist.add(h)
			s.hist = h
		}
		t.put(to, labels, h.metric())
		if m.GetName() == megatronStep {
			t.stepSeconds(s, labels, h.count, h.sum)
		}
	}
}

// stepSeconds shows the mean of the steps since the point before as the gauge that dashboards know.
func (t *translation) stepSeconds(s *stream, labels labelSet, count uint64, sum float64) {
	if count < s.mean.count {
		s.mean.count, s.mean.sum = 0, 0
	}
	steps := count - s.mean.count
	mean := (sum - s.mean.sum) / float64(steps)
	s.mean.count, s.mean.sum = count, sum
	if steps == 0 || math.IsNaN(mean) {
		return
	}
	to := target{naming: naming{"train_step_seconds", 1}, kind: dto.MetricType_GAUGE, help: "Duration of one training step, the mean since the last report."}
	t.put(to, labels, &dto.Metric{Gauge: &dto.Gauge{Value: &mean}})
}

func (t *translation) exponentials(resource labelSet, m *metrics.Metric, d *metrics.ExponentialHistogram) {
	points := d.GetDataPoints()
	delta, ok := t.temporality(m, d.GetAggregationTemporality(), len(points))
	if !ok {
		return
	}
	to, ok := t.target(m, otlptranslator.MetricTypeExponentialHistogram, dto.MetricType_HISTOGRAM, len(points))
	if !ok {
		return
	}
	for _, p := range points {
		s, labels, ok := t.stream(to, resource, p, delta)
		if !ok {
			continue
		}
		e, why := readExponential(p)
		if why != "" {
			t.refuse(to.sent, workload.InvalidData, 1, why)
			continue
		}
		t.seen(s, p)
		if delta {
			e = e.add(s.exp)
		} else {
			e = e.over(s.exp)
		}
		s.exp = e
		t.put(to, labels, e.metric(to.factor))
		if m.GetName() == megatronStep {
			t.stepSeconds(s, labels, e.count, e.sum*to.factor)
		}
	}
}

func (t *translation) summaries(resource labelSet, m *metrics.Metric, d *metrics.Summary) {
	points := d.GetDataPoints()
	to, ok := t.target(m, otlptranslator.MetricTypeSummary, dto.MetricType_SUMMARY, len(points))
	if !ok {
		return
	}
	for _, p := range points {
		s, labels, ok := t.stream(to, resource, p, false)
		if !ok {
			continue
		}
		out := &dto.Summary{SampleCount: proto.Uint64(p.GetCount()), SampleSum: proto.Float64(p.GetSum() * to.factor)}
		for _, q := range p.GetQuantileValues() {
			out.Quantile = append(out.Quantile, &dto.Quantile{
				Quantile: proto.Float64(q.GetQuantile()), Value: proto.Float64(q.GetValue() * to.factor),
			})
		}
		t.seen(s, p)
		t.put(to, labels, &dto.Metric{Summary: out})
	}
}
