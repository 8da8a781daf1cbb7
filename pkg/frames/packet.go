package frames

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// AppendRows appends the JSON of a packet of rows to dst: what data.FrameToJSON writes with IncludeDataOnly for a frame
// of a time field and width nullable fields, of which that of a stamp is one, see [Stamped]. times are Unix milliseconds. rows has the values of each time, of
// which some at the end may be missing; they and values that are not finite are null.
func AppendRows(dst []byte, times []int64, rows [][]float64, width int) []byte {
	return append(appendData(append(dst, '{'), times, rows, width), '}')
}

// AppendPacket is AppendRows with the schema before the rows, as with IncludeAll. Rows that schema has do not count.
func AppendPacket(dst []byte, schema *data.Frame, times []int64, rows [][]float64) ([]byte, error) {
	head, err := data.FrameToJSON(schema, data.IncludeSchemaOnly)
	if err != nil {
		return dst, fmt.Errorf("encode the schema of %s: %w", schema.Name, err)
	}
	dst = append(dst, head[:len(head)-1]...) // without the brace at its end
	return append(appendData(append(dst, ','), times, rows, max(len(schema.Fields)-1, 0)), '}'), nil
}

func appendData(dst []byte, times []int64, rows [][]float64, width int) []byte {
	const cell = 9 // bytes of most values
	dst = slices.Grow(dst, 32+(len(times)+2)*width*cell/2+len(times)*14+width*cell)
	dst = append(dst, `"data":{"values":[[`...)
	for i, at := range times {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, at, 10)
	}
	dst = append(dst, ']')
	for column := range width {
		dst = append(dst, ",["...)
		for i := range times {
			if i > 0 {
				dst = append(dst, ',')
			}
			v := math.NaN()
			if i < len(rows) && column < len(rows[i]) {
				v = rows[i][column]
			}
			dst = appendNumber(dst, v)
		}
		dst = append(dst, ']')
	}
	return append(dst, "]}"...)
}

// appendNumber writes the shortest decimal that is read as the same number, in the form the SDK's encoder gives it.
func appendNumber(dst []byte, v float64) []byte {
	if !finite(v) {
		return append(dst, "null"...)
	}
	// Most readings are whole, or have a few decimals: those need no search for the shortest.
	const few = 1000
	if scaled := v * few; scaled > -1e12 && scaled < 1e12 {
		whole := int64(scaled + math.Copysign(0.5, scaled))
		if float64(whole)/few == v && (whole != 0 || !math.Signbit(v)) {
			return appendThousandths(dst, whole)
		}
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, 64)
}

func appendThousandths(dst []byte, v int64) []byte {
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	dst = strconv.AppendInt(dst, v/1000, 10)
	rest := v % 1000
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.', byte('0'+rest/100))
	if rest %= 100; rest != 0 {
		dst = append(dst, byte('0'+rest/10))
		if rest %= 10; rest != 0 {
			dst = append(dst, byte('0'+rest))
		}
	}
	return dst
}
