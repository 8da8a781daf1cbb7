package simulate

import "math"

// Everything random is a pure function of a key and a place: the same question always has the same answer, which is what
// lets history and live agree. Keys are derived with mix, places are cells, blocks or indices.

// mix derives a key from another and a place (splitmix64's finaliser).
func mix(key, place uint64) uint64 {
	z := key + place*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// mixText derives a key from another and a name (FNV-1a, then mix).
func mixText(key uint64, text string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return mix(key, h)
}

// uniform is a number in [0, 1).
func uniform(key uint64, place int64) float64 {
	return float64(mix(key, uint64(place))>>11) / (1 << 53)
}

// signed is a number in [-1, 1).
func signed(key uint64, place int64) float64 { return 2*uniform(key, place) - 1 }

// smooth is a number in [0, 1) that wanders: independent at multiples of every, eased between them.
func smooth(key uint64, place, every int64) float64 {
	knot := floorDiv(place, every)
	x := float64(place-knot*every) / float64(every)
	x = x * x * (3 - 2*x)
	return (1-x)*uniform(key, knot) + x*uniform(key, knot+1)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func clamp(x, low, high float64) float64 { return math.Min(math.Max(x, low), high) }
