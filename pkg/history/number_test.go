package history

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func checkFloat(t *testing.T, text string) {
	t.Helper()
	got, err := parseFloat([]byte(text))
	want, wantErr := strconv.ParseFloat(text, 64)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: got %v, strconv says %v", text, err, wantErr)
	}
	if err == nil && math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Fatalf("%q: got %v, strconv says %v", text, got, want)
	}
}

func TestParseFloatIsStrconv(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "1", "100", "0.5", "87.25", "311.402000", "0.1", "0.30000000000000004", "123456789012345678", "9007199254740993",
		"18446744073709551615", "9999999999999999999", "99999999999999999999", "1e-7", "1.7976931348623157e+308", "5e-324", "4.9e-324",
		"2.2250738585072011e-308", "NaN", "+Inf", "-Inf", "Inf", "1e22", "1e23", "123e-20", "0.000001234567890123456", "12345678.90123456789",
		"0.0000000000000000000000012345", "00000000000000000000001", "1.50754820096e+11", "3.3934016512e+10", "", "-", ".", "1.", ".5",
		"1e", "1e+", "e5", "1.2.3", "0x10", "1_000", " 1", "1 ", "+1", "1e5x", "9223372036854775794", "0.125e1", "1e00005", "1e0005",
	} {
		checkFloat(t, text)
	}
}

func TestParseFloatOfRandomNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 400_000 {
		var f float64
		switch random.IntN(5) {
		case 0:
			f = random.Float64()
		case 1:
			f = random.Float64() * math.Pow(10, float64(random.IntN(40)-20))
		case 2:
			f = math.Float64frombits(random.Uint64())
		case 3:
			f = math.Round(random.Float64()*1e6) / 1000
		case 4:
			f = float64(random.Uint64())
		}
		format := [...]byte{'f', 'g', 'e'}[random.IntN(3)]
		precision := random.IntN(21) - 1
		checkFloat(t, strconv.FormatFloat(f, format, precision, 64))
	}
}

// Numbers halfway between two floats are where rounding goes wrong.
func TestParseFloatRoundsHalfway(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		f := float64(random.Uint64N(1<<53)) / math.Pow(2, float64(random.IntN(40)))
		next := math.Nextafter(f, math.Inf(1))
		middle := strconv.FormatFloat((f+next)/2, 'f', 18, 64)
		checkFloat(t, middle)
		checkFloat(t, strconv.FormatFloat(f, 'f', 17, 64)+"5")
	}
}

func FuzzParseFloat(f *testing.F) {
	f.Add("12345678.9012345e-3")
	f.Fuzz(func(t *testing.T, text string) { checkFloat(t, text) })
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{
		"1793400000": 1793400000000, "1793400000.1": 1793400000100, "1793400000.123": 1793400000123, "1793400000.1239": 1793400000123,
		"0": 0, "-1.5": -1500, "-0.001": -1, "1.7934e9": 1793400000000, "1793400000.0": 1793400000000,
	} {
		if got, ok := parseTime([]byte(text)); !ok || got != want {
			t.Errorf("%s: got %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-", "1.", ".5", "x", "1x", "12345678901234567890", "1e99"} {
		if got, ok := parseTime([]byte(text)); ok {
			t.Errorf("%q: got %d", text, got)
		}
	}
}
