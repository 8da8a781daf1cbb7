package plugin

import (
	"math"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func seriesOf(pairs ...float64) gpu.Series {
	var s gpu.Series
	for i := 0; i < len(pairs); i += 2 {
		s.Times, s.Values = append(s.Times, int64(pairs[i])), append(s.Values, pairs[i+1])
	}
	return s
}

func sameValues(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return false
		}
	}
	return true
}

func TestRises(t *testing.T) {
	nan := math.NaN()
	got := rises([]float64{nan, 5, 5, 7, nan, 9, 2})
	if want := []float64{nan, nan, 0, 2, nan, 2, 2}; !sameValues(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBitsAreCollected(t *testing.T) {
	nan := math.NaN()
	got := collected([]gpu.Series{seriesOf(0, 4, 20_000, 0, 40_000, 1, 60_000, nan, 80_000, 8, 120_000, 0, 140_000, -1, 180_000, 1<<60)}, time.Minute)[0]
	if want := []float64{5, 8, 0, 1 << 60}; !sameValues(got.Values, want) || got.Times[1] != 60_000 || len(got.Times) != 4 {
		t.Errorf("got %v at %v, want %v", got.Values, got.Times, want)
	}
}

// Devices with the same one value in all steps share a row, and what is not on the grid is laid on it.
func TestRowsOfOneValueAreShared(t *testing.T) {
	on := onGrid{times: []int64{0, 60_000, 120_000}, step: 60_000}
	laid := func(s gpu.Series) []float64 { return on.laid(s.Times, s.Values) }
	same := func(v float64) []float64 { return laid(seriesOf(0, v, 60_000, v, 120_000, v)) }
	if a, b := same(7), same(7); !sameValues(a, []float64{7, 7, 7}) || &a[0] != &b[0] || &same(8)[0] == &a[0] {
		t.Errorf("%v and %v", a, b)
	}
	if got := laid(seriesOf(61_000, 1, 125_000, math.NaN())); !sameValues(got, []float64{math.NaN(), 1, math.NaN()}) {
		t.Errorf("got %v", got)
	}
	if next := laid(seriesOf(0, 3)); !sameValues(next, []float64{3, math.NaN(), math.NaN()}) {
		t.Errorf("got %v", next)
	}
	for v := range 2 * mostFlat {
		same(float64(v))
	}
	if len(on.flat) > mostFlat {
		t.Errorf("%d rows are kept", len(on.flat))
	}
}

func TestDevicesAreNumberedInAnyOrder(t *testing.T) {
	var k seenDevices
	at := func(after int, uuid string) int {
		return k.number(&gpu.Device{Identity: gpu.Identity{UUID: uuid}}, after)
	}
	if at(-1, "a") != 0 || at(0, "b") != 1 || at(1, "c") != 2 || at(-1, "a") != 0 || at(0, "c") != 2 || at(2, "b") != 1 || len(k.list) != 3 {
		t.Errorf("%v", k.list)
	}
}
