package nvml

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func fieldValue(kind nvml.ValueType, bits uint64) nvml.FieldValue {
	f := nvml.FieldValue{ValueType: uint32(kind)}
	binary.NativeEndian.PutUint64(f.Value[:], bits)
	return f
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		value nvml.FieldValue
		how   how
		want  float64
		ok    bool
	}{
		{fieldValue(nvml.VALUE_TYPE_UNSIGNED_INT, 7), 0, 7, true},
		{fieldValue(nvml.VALUE_TYPE_UNSIGNED_INT, math.MaxUint32), 0, 0, false},
		{fieldValue(nvml.VALUE_TYPE_UNSIGNED_LONG, 1<<40), 0, 1 << 40, true},
		{fieldValue(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, math.MaxUint64), 0, 0, false},
		{fieldValue(nvml.VALUE_TYPE_SIGNED_LONG_LONG, uint64(1<<64-5)), 0, -5, true},
		{fieldValue(nvml.VALUE_TYPE_DOUBLE, math.Float64bits(1.5)), 0, 1.5, true},
		{fieldValue(nvml.VALUE_TYPE_DOUBLE, math.Float64bits(math.NaN())), 0, 0, false},
		{fieldValue(nvml.VALUE_TYPE_UNSIGNED_SHORT, 9), 0, 9, true},
		{fieldValue(nvml.ValueType(99), 9), 0, 0, false},
		{fieldValue(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, 0xdeadbeef<<32|40), low32, 40, true},
		{fieldValue(nvml.VALUE_TYPE_UNSIGNED_INT, 1<<32-8), signed, -8, true},
		{fieldValue(nvml.VALUE_TYPE_SIGNED_INT, 1<<32-1), signed, -1, true},
		{fieldValue(nvml.VALUE_TYPE_UNSIGNED_INT, 1<<32-1), signed, 0, false},
		{fieldValue(nvml.VALUE_TYPE_SIGNED_LONG_LONG, uint64(1<<64-8)), signed, -8, true},
	} {
		got, ok := decode(c.value, c.how)
		assert.Equal(t, c.ok, ok, "%+v", c)
		if ok {
			assert.Equal(t, c.want, got, "%+v", c)
		}
	}
}

// answer fills in a request as a board would.
func answer(request []nvml.FieldValue, known map[fieldID]nvml.FieldValue) {
	for i, r := range request {
		a, ok := known[fieldID{id: r.FieldId, scope: r.ScopeId}]
		if !ok {
			a.NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
		}
		a.FieldId, a.ScopeId = r.FieldId, r.ScopeId
		request[i] = a
	}
}

func readOnce(f *fieldSet, now time.Time, known map[fieldID]nvml.FieldValue) (v device.Values, rounds int) {
	f.begin(func(device.Metric) bool { return true })
	for request := f.next(); len(request) > 0; request = f.next() {
		answer(request, known)
		f.take(request, now, &v, func(nvml.Return) {})
		rounds++
	}
	return v, rounds
}

func TestTheFirstAlternativeThatIsSupportedIsUsed(t *testing.T) {
	f := newFieldSet([]item{
		{metric: device.NVLinkCRCErrors, unit: 1, from: [][]fieldID{{{id: 1}, {id: 2}}, each(3, 3)}},
		{metric: device.NVLinkECCErrors, unit: 1, from: one(9)},
	})
	long := func(n uint64) nvml.FieldValue { return fieldValue(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, n) }
	known := map[fieldID]nvml.FieldValue{{id: 3}: long(5), {id: 3, scope: 1}: long(6)}
	v, rounds := readOnce(f, time.Now(), known)
	assert.Equal(t, gpu.Read(11), v[device.NVLinkCRCErrors], "one of three links is not wired")
	assert.Equal(t, 2, rounds)
	_, rounds = readOnce(f, time.Now(), known)
	assert.Equal(t, 1, rounds, "what is not supported is not asked again")

	// A link that goes down, or does not answer for once, must not make the sum fall.
	delete(known, fieldID{id: 3})
	broken := long(0)
	broken.NvmlReturn = uint32(nvml.ERROR_UNKNOWN)
	known[fieldID{id: 3, scope: 2}] = broken
	v, _ = readOnce(f, time.Now(), known)
	assert.Equal(t, gpu.Read(11), v[device.NVLinkCRCErrors])

	known[fieldID{id: 3, scope: 1}] = broken
	v, _ = readOnce(f, time.Now(), known)
	assert.Equal(t, gpu.NoData, v[device.NVLinkCRCErrors].State)
}

func TestByteCountersThatWrap(t *testing.T) {
	f := newFieldSet([]item{{metric: device.PCIeTransmit, unit: 1, how: perSecond | wraps, from: one(197)}})
	f.wrapSeconds = 0.3
	now := time.Unix(1000, 0)
	read := func(after time.Duration, n uint64) gpu.Reading {
		now = now.Add(after)
		v, _ := readOnce(f, now, map[fieldID]nvml.FieldValue{{id: 197}: fieldValue(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, n)})
		return v[device.PCIeTransmit]
	}
	assert.Equal(t, gpu.Absent(gpu.NoData), read(0, 1<<32-1000))
	assert.Equal(t, gpu.Read(20_000), read(100*time.Millisecond, 1000))
	assert.Equal(t, gpu.Absent(gpu.NoData), read(time.Second, 900_000), "it may have wrapped many times")
	assert.True(t, f.ambiguous)
	assert.Equal(t, gpu.Read(1<<32), read(time.Second, 1<<32+900_000), "64 bits do not wrap")
	assert.Equal(t, gpu.Read(5e9), read(time.Second, 1<<32+900_000+5e9))
	assert.False(t, f.ambiguous)
	assert.Equal(t, gpu.Absent(gpu.NoData), read(time.Second, 0), "the driver was reloaded")
}

// A driver that takes few fields at once, and one that refuses a call for the sake of one field.
func TestRequestsAreSplit(t *testing.T) {
	m := machine(t, "h200")
	s, boards := opened(t, m)
	b := boards[0].(*board)
	most, bad, calls := 16, uint32(0), 0
	b.handle = &mock.Device{GetFieldValuesFunc: func(values []nvml.FieldValue) nvml.Return {
		calls++
		for i := range values {
			if len(values) > most || values[i].FieldId == bad {
				return nvml.ERROR_INVALID_ARGUMENT
			}
			values[i].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_INT)
			values[i].NvmlReturn = uint32(nvml.SUCCESS)
		}
		return nvml.SUCCESS
	}}
	ask := func(n int) []nvml.FieldValue {
		calls = 0
		fields := make([]nvml.FieldValue, n)
		for i := range fields {
			fields[i] = nvml.FieldValue{FieldId: uint32(i + 1), NvmlReturn: uint32(nvml.ERROR_NOT_FOUND)}
		}
		require.Equal(t, gpu.OK, b.ask(fields))
		return fields
	}
	for _, f := range ask(50) {
		assert.Zero(t, f.NvmlReturn)
	}
	ask(50)
	assert.Equal(t, 5, calls, "12 at once from now on")

	most, bad = 1000, 7
	ask(50)
	fields := ask(50)
	assert.EqualValues(t, nvml.ERROR_INVALID_ARGUMENT, fields[6].NvmlReturn)
	assert.Zero(t, fields[7].NvmlReturn)
	bad = 0
	ask(50)
	assert.Equal(t, 1, calls, "it was one field and not their number")
	require.NoError(t, s.Close())
}

func FuzzFields(f *testing.F) {
	f.Add(uint32(0), uint32(0), uint64(40), uint8(0))
	f.Add(uint32(3), uint32(0), uint64(math.MaxUint64), uint8(1))
	f.Add(uint32(4), uint32(3), uint64(1<<63), uint8(2))
	f.Add(uint32(5), uint32(0), uint64(1<<32-8), uint8(3))
	f.Fuzz(func(t *testing.T, kind, ret uint32, bits uint64, how8 uint8) {
		h := how(how8)
		set := newFieldSet([]item{{metric: device.Energy, unit: 1e-3, how: h, from: [][]fieldID{{{id: 1}}, {{id: 2}, {id: 3}}}}})
		now := time.Unix(1000, 0)
		for i := range 3 {
			a := fieldValue(nvml.ValueType(kind), bits+uint64(i))
			a.NvmlReturn = ret
			v, rounds := readOnce(set, now.Add(time.Duration(i)*time.Second), map[fieldID]nvml.FieldValue{{id: 1}: a, {id: 3}: a})
			r := v[device.Energy]
			if rounds > 2 {
				t.Fatalf("%d rounds", rounds)
			}
			if !r.OK() && r.Value != 0 || math.IsNaN(r.Value) || math.IsInf(r.Value, 0) || h&signed == 0 && r.Value < 0 {
				t.Fatalf("reading %+v", r)
			}
		}
	})
}

func TestEveryMetricHasASource(t *testing.T) {
	// NVLink's and C2C's come with the number of links.
	items := append(append(append([]item{}, boardItems...), locationItems()...), append(linkItems(18), c2cItems(2)...)...)
	seen := map[device.Metric]bool{}
	for _, i := range items {
		assert.False(t, seen[i.metric], "%s has two items", i.metric)
		seen[i.metric] = true
		assert.NotZero(t, i.unit, i.metric.String())
	}
}

// NVLink 5 counts bytes, for each link.
func TestNVLink5(t *testing.T) {
	m := machine(t, "gb200", func(s *nvmltest.Spec) {
		for _, g := range s.GPUs {
			delete(g.Fields, nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX)
			g.GPM[61] = nvmltest.Value{Ret: nvml.ERROR_NOT_SUPPORTED}
		}
	})
	_, boards := opened(t, m)
	for range 3 {
		take(t, m, boards[0])
	}
	v := take(t, m, boards[0])[0]
	assert.Equal(t, gpu.OK.String(), v[device.NVLinkTransmit].State.String())
	readingsAre(t, &v, map[device.Metric]float64{
		device.NVLinkMalformedPackets: 0, device.NVLinkRecoveries: 0, device.NVLinkRecoveryFailures: 0, device.NVLinkEffectiveErrors: 0,
	})
	assert.True(t, v[device.C2CLinks].OK())
	assert.True(t, v[device.C2CLinksActive].OK())
	assert.True(t, v[device.ModulePower].OK())
}
