package nvml

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const (
	allLinks  = math.MaxUint32 // asks for the sum over all NVLinks
	maxFields = math.MaxInt    // as many fields at once as there are
)

// fieldID is one of NVML's numbered values, of one link or other scope. Many are read with one call.
type fieldID struct {
	id, scope uint32
	factor    float64 // for alternatives that count in other units; 1 when 0
}

// how a field's value becomes a reading.
type how uint8

const (
	low32      how = 1 << iota // the field holds 32 bits whatever its type says: some r545 drivers announce the wrong type
	signed                     // those 32 bits have a sign
	zeroIsNone                 // boards without the sensor answer 0
	perSecond                  // the field counts, the metric is what it grows by in a second
	wraps                      // and it may have 32 bits only
	linkUp                     // the field is the state of a link: the metric counts those that are up
)

// item is where a metric is found: in the sum of some fields. The first of several alternatives that the board supports
// is used.
type item struct {
	metric device.Metric
	unit   float64 // what one of the fields' units is in the metric's
	how    how
	from   [][]fieldID
}

// fieldSource is an item of one board.
type fieldSource struct {
	item
	use  int       // index into from; len(from) when the board supports none
	seen []float64 // what each field last said
	// pending: to be asked in the sample that is being taken.
	pending bool
	last    count
	wide    bool // a value was seen that 32 bits cannot hold
}

// count is what a counter stood at.
type count struct {
	value float64
	at    time.Time
}

// fieldSet reads fields of one board, and remembers which of them it does not support.
type fieldSet struct {
	sources []*fieldSource
	request []nvml.FieldValue
	limit   int // how many fields the driver takes at once
	// wrapSeconds is how long 2³² bytes take over the PCIe link at least.
	wrapSeconds float64
	// ambiguous: in this sample a counter may have wrapped more than once.
	ambiguous bool
}

func newFieldSet(items []item) *fieldSet {
	f := &fieldSet{limit: maxFields}
	f.add(items)
	return f
}

func (f *fieldSet) add(items []item) {
	for _, i := range items {
		f.sources = append(f.sources, &fieldSource{item: i})
	}
}

// begin marks what a sample asks for.
func (f *fieldSet) begin(want func(device.Metric) bool) {
	f.ambiguous = false
	for _, s := range f.sources {
		s.pending = s.use < len(s.from) && want(s.metric)
	}
}

// next is the request for what is pending. It is valid until the next call.
func (f *fieldSet) next() []nvml.FieldValue {
	f.request = f.request[:0]
	for _, s := range f.sources {
		if !s.pending {
			continue
		}
		for _, id := range s.from[s.use] {
			f.request = append(f.request, nvml.FieldValue{FieldId: id.id, ScopeId: id.scope})
		}
	}
	return f.request
}

// give answers what is pending for one reason.
func (f *fieldSet) give(v *device.Values, why gpu.State) {
	for _, s := range f.sources {
		if s.pending {
			v[s.metric], s.pending = gpu.Absent(why), false
		}
	}
}

// take fills in what the answers say. Sources that have another alternative to try stay pending.
func (f *fieldSet) take(answers []nvml.FieldValue, now time.Time, v *device.Values, tally func(nvml.Return)) {
	for _, s := range f.sources {
		if !s.pending {
			continue
		}
		n := len(s.from[s.use])
		value, state := s.combine(answers[:n], tally)
		answers = answers[n:]
		if state == gpu.NotSupported {
			s.use, s.seen, s.last = s.use+1, nil, count{}
			s.pending = s.use < len(s.from)
			continue
		}
		s.pending = false
		switch {
		case state != gpu.OK:
			v[s.metric] = gpu.Absent(state)
		case s.how&zeroIsNone != 0 && value == 0:
			v[s.metric] = gpu.Absent(gpu.NotSupported)
		case s.how&signed == 0 && value < 0:
			v[s.metric] = gpu.Absent(gpu.NoData)
		case s.how&perSecond != 0:
			v[s.metric] = f.rate(s, scaled(value, s.unit), now)
		default:
			v.Set(s.metric, scaled(value, s.unit))
		}
	}
}

// combine adds up a source's fields. A field that does not answer this time stands at what it said before, because the sum
// of counters must not fall. Only when no field is supported is the source not.
func (s *fieldSource) combine(answers []nvml.FieldValue, tally func(nvml.Return)) (float64, gpu.State) {
	if len(s.seen) != len(answers) {
		s.seen = make([]float64, len(answers))
	}
	var up, answered, refused int
	why := gpu.NoData
	for i, a := range answers {
		ret := nvml.Return(a.NvmlReturn)
		tally(ret)
		switch {
		case isFinal(ret) || ret == nvml.ERROR_INVALID_ARGUMENT: // the latter from drivers that do not know the field
			refused++
			continue
		case ret != nvml.SUCCESS:
			why = stateOf(ret)
			continue
		}
		x, ok := decode(a, s.how)
		if !ok {
			continue
		}
		answered++
		s.seen[i] = x
		if factor := s.from[s.use][i].factor; factor != 0 {
			s.seen[i] *= factor
		}
		if x == nvml.NVLINK_STATE_ACTIVE || x == nvml.NVLINK_STATE_SLEEP {
			up++
		}
	}
	switch {
	case refused == len(answers):
		return 0, gpu.NotSupported
	case answered == 0:
		return 0, why
	case s.how&linkUp != 0:
		return float64(up), gpu.OK
	}
	sum := 0.0
	for _, x := range s.seen {
		sum += x
	}
	return sum, gpu.OK
}

// rate is by how much a count grew in a second. One that fell was reset, and says nothing, unless it has wrapped.
func (f *fieldSet) rate(s *fieldSource, value float64, now time.Time) gpu.Reading {
	const wrapped = 1 << 32
	before := s.last
	s.last = count{value: value, at: now}
	s.wide = s.wide || value >= wrapped
	elapsed, grown := now.Sub(before.at).Seconds(), value-before.value
	if before.at.IsZero() || elapsed <= 0 {
		return gpu.Absent(gpu.NoData)
	}
	if s.how&wraps != 0 && !s.wide {
		if elapsed >= f.wrapSeconds {
			f.ambiguous = true
			return gpu.Absent(gpu.NoData)
		}
		if grown < 0 {
			grown += wrapped
		}
	}
	if grown < 0 {
		return gpu.Absent(gpu.NoData)
	}
	return gpu.Read(grown / elapsed)
}

// decode is a field's value; false when it holds NVML's "not available", or a type that is not known.
func decode(v nvml.FieldValue, how how) (float64, bool) {
	bits := binary.NativeEndian.Uint64(v.Value[:])
	low := binary.NativeEndian.Uint32(v.Value[:4])
	kind := nvml.ValueType(v.ValueType)
	switch {
	case how&signed != 0 && kind != nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int32(low)), kind == nvml.VALUE_TYPE_SIGNED_INT || low != math.MaxUint32
	case how&low32 != 0:
		return float64(low), low != math.MaxUint32
	}
	switch kind {
	case nvml.VALUE_TYPE_DOUBLE:
		x := math.Float64frombits(bits)
		return x, !math.IsNaN(x) && !math.IsInf(x, 0)
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(low), low != math.MaxUint32
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return float64(bits), bits != math.MaxUint64
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(bits)), int64(bits) != -1
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(low)), true
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		short := binary.NativeEndian.Uint16(v.Value[:2])
		return float64(short), short != math.MaxUint16
	}
	return 0, false
}
