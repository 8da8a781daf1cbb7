// Package promtest is a small Prometheus for tests: it holds a handful of series, and answers over HTTP the part of
// PromQL that the history package writes. It runs inside the test, listens nowhere unless served, and knows nothing of GPUs.
package promtest

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// lookback is how long a sample counts, as Prometheus has it.
const lookback = 5 * 60 * 1000

// Point is a sample at a time in Unix milliseconds.
type Point struct {
	Time  int64
	Value float64
}

// series is what one label set measured.
type series struct {
	labels   map[string]string
	points   []Point
	constant bool // the only point counts at all times
}

// Stale is the value that ends a series, as Prometheus writes it when a target or one of its series is gone.
func Stale() float64 { return math.Float64frombits(0x7ff0000000000002) }

func isStale(v float64) bool { return math.Float64bits(v) == math.Float64bits(Stale()) }

// Store holds series. It is safe for concurrent use.
type Store struct {
	mu       sync.RWMutex
	series   []series
	requests []string
	metadata []declaration
}

// Add adds a series; its labels include __name__. Points are in the order of time.
func (s *Store) Add(labels map[string]string, points ...Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.series = append(s.series, series{labels: labels, points: points})
}

// Constant adds a series that has always had one value.
func (s *Store) Constant(labels map[string]string, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.series = append(s.series, series{labels: labels, points: []Point{{Value: value}}, constant: true})
}

// Exposition adds what an exporter would show, as constant series with the labels that a scrape adds. Like Prometheus it
// drops labels with an empty value.
func (s *Store) Exposition(text io.Reader, scrape map[string]string) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return fmt.Errorf("parse the exposition: %w", err)
	}
	for name, family := range families {
		for _, m := range family.Metric {
			labels := map[string]string{"__name__": name}
			for k, v := range scrape {
				labels[k] = v
			}
			for _, pair := range m.Label {
				if pair.GetValue() != "" {
					labels[pair.GetName()] = pair.GetValue()
				}
			}
			switch {
			case m.Gauge != nil:
				s.Constant(labels, m.Gauge.GetValue())
			case m.Counter != nil:
				s.Constant(labels, m.Counter.GetValue())
			case m.Untyped != nil:
				s.Constant(labels, m.Untyped.GetValue())
			}
		}
	}
	return nil
}

// Answer adds the series of a query's answer: those of a matrix with their points, those of a vector as constants.
func (s *Store) Answer(body []byte) error {
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  *model.SamplePair
				Values []model.SamplePair
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("parse the answer: %w", err)
	}
	for _, r := range answer.Data.Result {
		if r.Value != nil {
			s.Constant(r.Metric, float64(r.Value.Value))
			continue
		}
		var points []Point
		for _, pair := range r.Values {
			points = append(points, Point{int64(pair.Timestamp), float64(pair.Value)})
		}
		s.Add(r.Metric, points...)
	}
	return nil
}

// Requests lists what was asked, a line "METHOD path query" each.
func (s *Store) Requests() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.requests)
}

func (s *Store) note(request string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request)
}

// at is the newest point at or before t that still counts.
func (s series) at(t int64) (float64, bool) {
	if s.constant {
		return s.points[0].Value, true
	}
	i := sort.Search(len(s.points), func(i int) bool { return s.points[i].Time > t })
	if i == 0 || s.points[i-1].Time <= t-lookback || isStale(s.points[i-1].Value) {
		return 0, false
	}
	return s.points[i-1].Value, true
}

// rate is the increase per second between the first and the last point of a range, resets added, without Prometheus'
// extrapolation.
func (s series) rate(t, length int64) (float64, bool) {
	if s.constant {
		return 0, true
	}
	var increase float64
	var first, last *Point
	for i := range s.points {
		p := &s.points[i]
		if p.Time <= t-length || p.Time > t || isStale(p.Value) {
			continue
		}
		if first == nil {
			first = p
		} else if p.Value >= last.Value {
			increase += p.Value - last.Value
		} else {
			increase += p.Value
		}
		last = p
	}
	if first == last {
		return 0, false
	}
	return increase / float64(last.Time-first.Time) * 1000, true
}

// format writes a value as Prometheus does.
func format(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	style := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		style = 'e'
	}
	return strconv.FormatFloat(v, style, -1, 64)
}

// key is a label set as one text.
func key(labels map[string]string) string {
	names := make([]string, 0, len(labels))
	for name := range labels {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "%q=%q,", name, labels[name])
	}
	return b.String()
}
