package history

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// parseFloat reads a decimal number exactly as strconv.ParseFloat does, several times faster for what servers send:
// up to 19 digits and a small exponent. Anything else is strconv's.
func parseFloat(text []byte) (float64, error) {
	i, negative := 0, false
	if len(text) > 0 && text[0] == '-' {
		negative, i = true, 1
	}
	start := i
	mantissa, i := digits(text, i, 0)
	count, exponent := i-start, 0 // count is of the digits that matter, at least one of a number
	if i < len(text) && text[i] == '.' {
		dot := i
		i++
		if mantissa == 0 && count == 1 {
			for i < len(text) && text[i] == '0' {
				i++
			}
			start = i - 2
		}
		mantissa, i = digits(text, i, mantissa)
		exponent = dot + 1 - i
		count = i - start - 1
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') && count > 0 {
		power, end, ok := smallExponent(text, i+1)
		if !ok {
			return slowFloat(text)
		}
		exponent, i = exponent+power, end
	}
	if i != len(text) || count == 0 || count > 19 {
		return slowFloat(text)
	}
	value, ok := scale(mantissa, exponent)
	if !ok {
		return slowFloat(text)
	}
	if negative {
		value = -value
	}
	return value, nil
}

func slowFloat(text []byte) (float64, error) { return strconv.ParseFloat(string(text), 64) }

// digits appends the decimal digits at text[i:] to mantissa and returns it with the position after them. The caller
// sees from the position when there were too many for the mantissa.
func digits(text []byte, i int, mantissa uint64) (uint64, int) {
	for i+8 <= len(text) {
		chunk := binary.LittleEndian.Uint64(text[i:])
		if !eightDigits(chunk) {
			break
		}
		mantissa = mantissa*100000000 + eightDigitsValue(chunk)
		i += 8
	}
	for i < len(text) {
		d := text[i] - '0'
		if d > 9 {
			break
		}
		mantissa = mantissa*10 + uint64(d)
		i++
	}
	return mantissa, i
}

// eightDigits reports whether all eight bytes are ASCII digits.
func eightDigits(chunk uint64) bool {
	return chunk&0xf0f0f0f0f0f0f0f0 == 0x3030303030303030 &&
		(chunk+0x0606060606060606)&0xf0f0f0f0f0f0f0f0 == 0x3030303030303030
}

// eightDigitsValue adds up eight digits, first byte most significant, in three multiplications.
func eightDigitsValue(chunk uint64) uint64 {
	chunk -= 0x3030303030303030
	chunk = chunk*10 + chunk>>8
	const mask = 0x000000ff000000ff
	return ((chunk&mask)*(100+1000000<<32) + (chunk>>16&mask)*(1+10000<<32)) >> 32
}

func smallExponent(text []byte, i int) (power, end int, ok bool) {
	negative := false
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		negative = text[i] == '-'
		i++
	}
	start := i
	for i < len(text) && i-start < 4 {
		d := text[i] - '0'
		if d > 9 {
			break
		}
		power = power*10 + int(d)
		i++
	}
	if negative {
		power = -power
	}
	return power, i, i > start && i-start < 4
}

var (
	powersOfTen  = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}
	powersOfFive = [...]uint64{
		1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125, 6103515625, 30517578125,
		152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625, 476837158203125, 2384185791015625,
		11920928955078125, 59604644775390625, 298023223876953125, 1490116119384765625, 7450580596923828125,
	}
)

// scale is mantissa × 10^exponent, correctly rounded. It reports false outside the range it can do exactly.
func scale(mantissa uint64, exponent int) (float64, bool) {
	const exactInteger = 1 << 53
	switch {
	case mantissa == 0:
		return 0, true
	case exponent == 0:
		return float64(mantissa), true
	case mantissa <= exactInteger && exponent > 0 && exponent < len(powersOfTen):
		return float64(mantissa) * powersOfTen[exponent], true
	case mantissa <= exactInteger && exponent < 0 && -exponent < len(powersOfTen):
		return float64(mantissa) / powersOfTen[-exponent], true
	case exponent < 0 && -exponent < len(powersOfFive):
		return divide(mantissa, -exponent), true
	}
	return 0, false
}

// divide is mantissa ÷ 10^k, correctly rounded: an integer division by 5^k whose remainder says which way to round, and a
// shift by k bits. The result is far from the limits of the exponent.
func divide(mantissa uint64, k int) float64 {
	divisor := powersOfFive[k]
	m, d := bits.LeadingZeros64(mantissa), bits.LeadingZeros64(divisor)
	numerator := mantissa << m
	quotient, remainder := bits.Div64(numerator>>1, numerator<<63, divisor<<d)
	// quotient × 2^power is the value, with a quotient of 63 or 64 bits.
	power := d - m - 63 - k
	if remainder != 0 {
		quotient |= 1
	}
	shift := 64 - 53 - bits.LeadingZeros64(quotient)
	half := uint64(1) << (shift - 1)
	rest := quotient & (half<<1 - 1)
	rounded := quotient >> shift
	if rest > half || rest == half && rounded&1 == 1 {
		rounded++
	}
	return math.Float64frombits(uint64(power+shift+1023)<<52) * float64(rounded)
}

// parseTime reads a JSON number of seconds as whole milliseconds; digits beyond are cut off.
func parseTime(text []byte) (int64, bool) {
	i, negative := 0, false
	if len(text) > 0 && text[0] == '-' {
		negative, i = true, 1
	}
	start := i
	seconds, i := digits(text, i, 0)
	if i == start || i-start > 15 {
		return 0, false
	}
	ms := int64(seconds) * 1000
	if i < len(text) && text[i] == '.' {
		fraction := i + 1
		unit := int64(100)
		for i = fraction; i < len(text) && text[i]-'0' <= 9; i++ {
			ms += int64(text[i]-'0') * unit
			unit /= 10
		}
		if i == fraction {
			return 0, false
		}
	}
	if i < len(text) {
		// An exponent: no server writes one, but it is a number.
		f, err := strconv.ParseFloat(string(text), 64)
		if err != nil || math.Abs(f) > 1e15 {
			return 0, false
		}
		return int64(math.Round(f * 1000)), true
	}
	if negative {
		ms = -ms
	}
	return ms, true
}
