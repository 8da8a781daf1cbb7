package workload

import (
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// checkedValue copies what the text format can show of a value (no time, no exemplar, no native buckets) and counts its
// lines. why says what is wrong with it.
func checkedValue(kind dto.MetricType, m *dto.Metric) (value *dto.Metric, lines int, why string) {
	switch {
	case kind == dto.MetricType_COUNTER && m.GetCounter() != nil:
		return &dto.Metric{Counter: &dto.Counter{Value: proto.Float64(m.GetCounter().GetValue())}}, 1, ""
	case kind == dto.MetricType_GAUGE && m.GetGauge() != nil:
		return &dto.Metric{Gauge: &dto.Gauge{Value: proto.Float64(m.GetGauge().GetValue())}}, 1, ""
	case kind == dto.MetricType_UNTYPED && m.GetUntyped() != nil:
		return &dto.Metric{Untyped: &dto.Untyped{Value: proto.Float64(m.GetUntyped().GetValue())}}, 1, ""
	case kind == dto.MetricType_SUMMARY && m.GetSummary() != nil:
		return checkedSummary(m.GetSummary())
	case kind == dto.MetricType_HISTOGRAM && m.GetHistogram() != nil:
		return checkedHistogram(m.GetHistogram())
	}
	return nil, 0, "a series has no value of its metric's type"
}

func checkedSummary(in *dto.Summary) (*dto.Metric, int, string) {
	out := &dto.Summary{SampleCount: proto.Uint64(in.GetSampleCount()), SampleSum: proto.Float64(in.GetSampleSum())}
	for _, q := range in.GetQuantile() {
		if !(q.GetQuantile() >= 0 && q.GetQuantile() <= 1) {
			return nil, 0, "a quantile is between 0 and 1"
		}
		out.Quantile = append(out.Quantile, &dto.Quantile{Quantile: proto.Float64(q.GetQuantile()), Value: proto.Float64(q.GetValue())})
	}
	slices.SortFunc(out.Quantile, func(a, b *dto.Quantile) int { return compare(a.GetQuantile(), b.GetQuantile()) })
	for i := 1; i < len(out.Quantile); i++ {
		if out.Quantile[i].GetQuantile() == out.Quantile[i-1].GetQuantile() {
			return nil, 0, "a summary has one quantile twice"
		}
	}
	return &dto.Metric{Summary: out}, len(out.Quantile) + 2, ""
}

func checkedHistogram(in *dto.Histogram) (*dto.Metric, int, string) {
	out := &dto.Histogram{SampleCount: proto.Uint64(in.GetSampleCount()), SampleSum: proto.Float64(in.GetSampleSum())}
	for _, b := range in.GetBucket() {
		if math.IsNaN(b.GetUpperBound()) {
			return nil, 0, "a bucket's bound is not a number"
		}
		out.Bucket = append(out.Bucket, &dto.Bucket{
			UpperBound: proto.Float64(b.GetUpperBound()), CumulativeCount: proto.Uint64(b.GetCumulativeCount()),
		})
	}
	slices.SortFunc(out.Bucket, func(a, b *dto.Bucket) int { return compare(a.GetUpperBound(), b.GetUpperBound()) })
	lines := len(out.Bucket) + 2
	for i, b := range out.Bucket {
		switch {
		case i > 0 && b.GetUpperBound() == out.Bucket[i-1].GetUpperBound():
			return nil, 0, "a histogram has one bucket twice"
		case i > 0 && b.GetCumulativeCount() < out.Bucket[i-1].GetCumulativeCount(), b.GetCumulativeCount() > out.GetSampleCount():
			return nil, 0, "each bucket of a histogram counts what is in the one before it, and none more than _count"
		}
	}
	if n := len(out.Bucket); n == 0 || !math.IsInf(out.Bucket[n-1].GetUpperBound(), 1) {
		lines++ // the encoder adds it
	} else if out.Bucket[n-1].GetCumulativeCount() != out.GetSampleCount() {
		return nil, 0, "the bucket +Inf of a histogram must be its _count"
	}
	return &dto.Metric{Histogram: out}, lines, ""
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
