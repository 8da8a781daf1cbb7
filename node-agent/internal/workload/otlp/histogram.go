package otlp

import (
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// maxBuckets bounds the buckets of a histogram.
const maxBuckets = 160

// histogram has explicit bounds; the last bucket is above them all.
type histogram struct {
	bounds  []float64
	buckets []uint64
	count   uint64
	sum     float64 // NaN when the sender gave none
}

// readHistogram checks a point. why says what is wrong with it.
func readHistogram(p *metrics.HistogramDataPoint, factor float64) (h *histogram, why string) {
	bounds, buckets := p.GetExplicitBounds(), p.GetBucketCounts()
	if len(bounds) == 0 && len(buckets) == 0 {
		buckets = []uint64{p.GetCount()}
	}
	if len(buckets) != len(bounds)+1 {
		return nil, "a histogram has one bucket more than bounds"
	}
	if len(buckets) > maxBuckets {
		return nil, "a histogram has too many buckets: use fewer bounds"
	}
	h = &histogram{buckets: slices.Clone(buckets), count: p.GetCount(), sum: math.NaN()}
	if p.Sum != nil {
		h.sum = p.GetSum() * factor
	}
	var total uint64
	for _, n := range buckets {
		if total+n < total {
			return nil, "a histogram counts more than it can"
		}
		total += n
	}
	if total != h.count {
		return nil, "a histogram's count is not the sum of its buckets"
	}
	for i, b := range bounds {
		if math.IsNaN(b) || math.IsInf(b, 0) || i > 0 && b <= bounds[i-1] {
			return nil, "the bounds of a histogram rise, and are numbers"
		}
		b *= factor
		if i > 0 && b <= h.bounds[i-1] || math.IsInf(b, 0) {
			return nil, "the bounds of a histogram are too close to each other, or too large"
		}
		h.bounds = append(h.bounds, b)
	}
	return h, ""
}

// add counts a delta in. Other bounds begin anew, which a reader takes for a restart.
func (h *histogram) add(delta *histogram) *histogram {
	if h == nil || !slices.Equal(h.bounds, delta.bounds) || h.count+delta.count < h.count {
		return delta
	}
	for i, n := range delta.buckets {
		h.buckets[i] += n
	}
	h.count += delta.count
	h.sum += delta.sum
	return h
}

func (h *histogram) metric() *dto.Metric {
	out := &dto.Histogram{SampleCount: proto.Uint64(h.count), SampleSum: proto.Float64(h.sum)}
	var below uint64
	for i, b := range h.bounds {
		below += h.buckets[i]
		out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: proto.Float64(b), CumulativeCount: proto.Uint64(below)})
	}
	return &dto.Metric{Histogram: out}
}
