package otlp

import (
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// maxExponential bounds the classic buckets that an exponential histogram becomes. At 80, its usual 160 are halved.
	maxExponential = 80
	minScale       = -10
	maxScale       = 20
)

// exponential is a histogram whose bounds are powers of 2^(2^-scale). Its scale only falls and its range only grows, so that
// a bound that was once shown stays.
type exponential struct {
	scale    int32
	zero     uint64
	zeroUpTo float64
	positive map[int64]uint64
	negative map[int64]uint64
	count    uint64
	sum      float64
}

// readExponential checks a point. why says what is wrong with it.
func readExponential(p *metrics.ExponentialHistogramDataPoint) (e *exponential, why string) {
	if p.GetScale() < minScale || p.GetScale() > maxScale {
		return nil, "the scale of an exponential histogram is between -10 and 20"
	}
	if z := p.GetZeroThreshold(); !(z >= 0) || math.IsInf(z, 0) {
		return nil, "the zero threshold of an exponential histogram is a number, at least 0"
	}
	e = &exponential{
		scale: p.GetScale(), zero: p.GetZeroCount(), zeroUpTo: p.GetZeroThreshold(), count: p.GetCount(), sum: math.NaN(),
	}
	if p.Sum != nil {
		e.sum = p.GetSum()
	}
	total := e.zero
	for _, half := range []struct {
		into *map[int64]uint64
		from *metrics.ExponentialHistogramDataPoint_Buckets
	}{{&e.positive, p.GetPositive()}, {&e.negative, p.GetNegative()}} {
		*half.into = map[int64]uint64{}
		for i, n := range half.from.GetBucketCounts() {
			if n == 0 {
				continue
			}
			if total+n < total {
				return nil, "a histogram counts more than it can"
			}
			total += n
			(*half.into)[int64(half.from.GetOffset())+int64(i)] += n
		}
	}
	if total != e.count {
		return nil, "a histogram's count is not the sum of its buckets"
	}
	e.shrink()
	return e, ""
}

// over continues what was shown before: the counts of e, at no finer a scale and over no smaller a range.
func (e *exponential) over(before *exponential) *exponential {
	if before == nil {
		return e
	}
	e.coarsen(before.scale)
	before.coarsen(e.scale)
	for i := range before.positive {
		e.positive[i] += 0
	}
	for i := range before.negative {
		e.negative[i] += 0
	}
	e.zeroUpTo = max(e.zeroUpTo, before.zeroUpTo)
	e.shrink()
	return e
}

// add counts a delta into what was before.
func (e *exponential) add(before *exponential) *exponential {
	if before == nil || before.count+e.count < before.count {
		return e
	}
	e = e.over(before)
	before.coarsen(e.scale)
	for i, n := range before.positive {
		e.positive[i] += n
	}
	for i, n := range before.negative {
		e.negative[i] += n
	}
	e.zero += before.zero
	e.count += before.count
	e.sum += before.sum
	return e
}

// coarsen merges buckets until the scale is at most so much.
func (e *exponential) coarsen(scale int32) {
	shift := e.scale - scale
	if shift <= 0 {
		return
	}
	e.scale = scale
	e.positive, e.negative = shifted(e.positive, shift), shifted(e.negative, shift)
}

func shifted(buckets map[int64]uint64, by int32) map[int64]uint64 {
	out := make(map[int64]uint64, len(buckets))
	for i, n := range buckets {
		out[i>>by] += n
	}
	return out
}

// shrink merges buckets until there are few.
func (e *exponential) shrink() {
	for span(e.positive)+span(e.negative) > maxExponential && e.scale > minScale-22 {
		e.coarsen(e.scale - 1)
	}
}

// span is how many buckets there are from the lowest to the highest, the empty ones between them included.
func span(buckets map[int64]uint64) int64 {
	if len(buckets) == 0 {
		return 0
	}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range buckets {
		low, high = min(low, i), max(high, i)
	}
	return high - low + 1
}

// power is the bound below which bucket i-1 ends, and above which i begins.
func (e *exponential) power(i int64) float64 {
	return math.Exp2(math.Ldexp(float64(i), -int(e.scale)))
}

// metric shows the buckets with classic bounds, from the most negative to the greatest.
func (e *exponential) metric(factor float64) *dto.Metric {
	out := &dto.Histogram{SampleCount: proto.Uint64(e.count), SampleSum: proto.Float64(e.sum * factor)}
	var below uint64
	add := func(bound float64, n uint64) {
		below += n
		bound *= factor
		last := len(out.Bucket) - 1
		switch {
		case math.IsInf(bound, 1):
		case math.IsInf(bound, -1):
		case last >= 0 && out.Bucket[last].GetUpperBound() >= bound:
			// Too small to tell apart, or inside the zero bucket.
			out.Bucket[last].CumulativeCount = proto.Uint64(below)
		default:
			out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: proto.Float64(bound), CumulativeCount: proto.Uint64(below)})
		}
	}
	indexes := slices.Sorted(maps.Keys(e.negative))
	for n := range indexes {
		i := indexes[len(indexes)-1-n]
		add(-e.power(i), e.negative[i])
	}
	if e.zero > 0 || len(e.negative) > 0 {
		add(e.zeroUpTo, e.zero)
	}
	indexes = slices.Sorted(maps.Keys(e.positive))
	if len(indexes) > 0 {
		// Without its lower bound the first bucket would be taken to begin at zero.
		add(e.power(indexes[0]), 0)
		for i := indexes[0]; i <= indexes[len(indexes)-1]; i++ {
			add(e.power(i+1), e.positive[i])
		}
	}
	return &dto.Metric{Histogram: out}
}
