package history

import "encoding/binary"

// fastPoint reads `[time,"value"]` at buf[pos:] when it is written as Prometheus writes it, without white space, and its
// number is plain decimal. It returns the position after the bracket, or 0 when the point must be read the careful way.
// expected is where the text of the time that is likely to come stands in buf, with its length.
func fastPoint(buf []byte, pos int, expected timeText) (value float64, sameTime bool, timeEnd, next int) {
	if pos >= len(buf) || buf[pos] != '[' {
		return 0, false, 0, 0
	}
	pos++
	if n := expected.length; n >= 8 && n <= 16 && pos+n < len(buf) &&
		binary.LittleEndian.Uint64(buf[pos:]) == binary.LittleEndian.Uint64(buf[expected.start:]) &&
		binary.LittleEndian.Uint64(buf[pos+n-8:]) == binary.LittleEndian.Uint64(buf[expected.start+n-8:]) && buf[pos+n] == ',' {
		sameTime = true
		pos += n
	} else {
		for pos < len(buf) && (buf[pos]-'0' <= 9 || buf[pos] == '.') {
			pos++
		}
	}
	timeEnd = pos
	if pos+2 >= len(buf) || buf[pos] != ',' || buf[pos+1] != '"' {
		return 0, false, 0, 0
	}
	value, pos = fastFloat(buf, pos+2)
	if pos == 0 || pos+1 >= len(buf) || buf[pos] != '"' || buf[pos+1] != ']' {
		return 0, false, 0, 0
	}
	return value, sameTime, timeEnd, pos + 2
}

// fastFloat reads a plain decimal at buf[pos:] of at most 19 digits and returns the position after it, 0 when there is
// none. What follows is the caller's to check: "1e5" reads as 1 up to the "e".
func fastFloat(buf []byte, pos int) (float64, int) {
	negative := buf[pos] == '-'
	if negative {
		pos++
	}
	start := pos
	var mantissa uint64
	for pos < len(buf) && buf[pos]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(buf[pos]-'0')
		pos++
	}
	count, places := pos-start, 0
	if count == 0 || count > 19 {
		return 0, 0
	}
	if pos < len(buf) && buf[pos] == '.' {
		pos++
		fraction := pos
		for pos+8 <= len(buf) {
			chunk := binary.LittleEndian.Uint64(buf[pos:])
			if !eightDigits(chunk) {
				break
			}
			mantissa = mantissa*100000000 + eightDigitsValue(chunk)
			pos += 8
		}
		for pos < len(buf) && buf[pos]-'0' <= 9 {
			mantissa = mantissa*10 + uint64(buf[pos]-'0')
			pos++
		}
		places = pos - fraction
		if places == 0 || count+places > 19 {
			return 0, 0
		}
	}
	var value float64
	switch {
	case places == 0:
		value = float64(mantissa)
	case mantissa <= 1<<53:
		value = float64(mantissa) / powersOfTen[places]
	default:
		value = divide(mantissa, places)
	}
	if negative {
		value = -value
	}
	return value, pos
}

// timeText is where a time stands in the body.
type timeText struct{ start, length int }
