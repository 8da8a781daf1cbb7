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
	got := rises(seriesOf(0, nan, 1, 5, 2, 5, 3, 7, 4, nan, 5, 9, 6, 2))
	if want := []float64{nan, nan, 0, 2, nan, 2, 2}; !sameValues(got.Values, want) {
		t.Errorf("got %v, want %v", got.Values, want)
	}
}

func TestBitsAreCollected(t *testing.T) {
	nan := math.NaN()
	got := collected([]gpu.Series{seriesOf(0, 4, 20_000, 0, 40_000, 1, 60_000, nan, 80_000, 8, 120_000, 0, 140_000, -1, 180_000, 1<<60)}, time.Minute)[0]
	if want := []float64{5, 8, 0, 1 << 60}; !sameValues(got.Values, want) || got.Times[1] != 60_000 || len(got.Times) != 4 {
		t.Errorf("got %v at %v, want %v", got.Values, got.Times, want)
	}
}
