package logrule

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// series are the values of one rule, by their labels. There are never more than the rule allows.
type series struct {
	kind   prometheus.ValueType
	desc   *prometheus.Desc
	most   int
	maxAge time.Duration // of a gauge: one that is not set any more says nothing about now

	mu  sync.Mutex
	all map[string]*sample
}

type sample struct {
	labels []string
	value  float64
	at     time.Time
}

func newSeries(c *compiled) *series {
	names := make([]string, len(c.labels))
	for i, l := range c.labels {
		names[i] = l.name
	}
	s := &series{
		kind: prometheus.GaugeValue, desc: prometheus.NewDesc(c.Name, c.Help, names, nil), most: c.MaxSeries, maxAge: c.MaxAge,
		all: map[string]*sample{},
	}
	if c.Type == Counter {
		s.kind = prometheus.CounterValue
		s.begin(c.labels)
	}
	return s
}

// begin makes a counter whose labels are all known start at 0, so that its first step is seen as one.
func (s *series) begin(labels []labelSource) {
	values := make([]string, len(labels))
	for i, l := range labels {
		if l.group > 0 {
			return
		}
		values[i] = l.text
	}
	s.set(values, 0, time.Time{})
}

// set sets a gauge, or adds to a counter. It is false when that would make a series too many.
func (s *series) set(labels []string, value float64, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join(labels, "\xff") // no byte of valid UTF-8
	is, ok := s.all[key]
	if !ok {
		if len(s.all) >= s.most {
			s.expire(now)
		}
		if len(s.all) >= s.most {
			return false
		}
		is = &sample{labels: labels}
		s.all[key] = is
	}
	is.at = now
	if s.kind == prometheus.CounterValue {
		value += is.value
	}
	is.value = value
	return true
}

// expire drops the gauges that are too old. Counters stay: one that came back smaller would look like a restart.
func (s *series) expire(now time.Time) {
	if s.kind != prometheus.GaugeValue {
		return
	}
	for key, is := range s.all {
		if now.Sub(is.at) > s.maxAge {
			delete(s.all, key)
		}
	}
}

// collect sends all series that are not too old.
func (s *series) collect(to chan<- prometheus.Metric, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	for _, is := range s.all {
		m, err := prometheus.NewConstMetric(s.desc, s.kind, is.value, is.labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(s.desc, err)
		}
		to <- m
	}
}
