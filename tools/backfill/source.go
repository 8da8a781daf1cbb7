package main

import (
	"context"
	"iter"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
)

// series is one time series, and where the block being written knows it.
type series struct {
	labels labels.Labels
	ref    storage.SeriesRef
	block  int // the block that ref belongs to
}

// sample is a value of a series at the time of its tick.
type sample struct {
	series *series
	value  float64
}

// tick is one scrape of one target.
type tick struct {
	time    int64 // Unix milliseconds
	samples []sample
}

// source is a scrape target's past. The ticks of a stretch come in the order of time and lie on its grid; the samples
// of a tick are valid until the next one.
type source interface {
	name() string
	ticks(ctx context.Context, part stretch) iter.Seq2[tick, error]
}

// stale is the value with which Prometheus ends a series that a scrape no longer has.
func stale() float64 { return math.Float64frombits(value.StaleNaN) }

// targetLabels are the labels of a series as scraping stores them: the exposed ones, and the target's, which win.
func targetLabels(target map[string]string, exposed labels.Labels) labels.Labels {
	builder := labels.NewBuilder(exposed)
	for name, text := range target {
		if clash := exposed.Get(name); clash != "" {
			builder.Set("exported_"+name, clash)
		}
		builder.Set(name, text)
	}
	return builder.Labels()
}

// up is the series that Prometheus adds for a target that answers.
func up(target map[string]string) *series {
	return &series{labels: targetLabels(target, labels.FromStrings(labels.MetricName, "up"))}
}
