package frames

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// cellSteps is how many steps from the least to the largest value a cell tells apart.
const cellSteps = 254

// Cells are the values of very many devices at one time, a byte for each: 0 where there is none, else 1 for Min to 255
// for Max in equal steps.
type Cells struct {
	Time     int64  // Unix milliseconds
	Layout   string // names which cell is whose
	Min, Max float64
	Cells    []byte
	Absent   int // cells without a value
	Stale    int // of these, cells whose device had one that is too old by now
}

// Quantise writes the cells of values, which has one for each device, into the room of cells. The scale goes from least
// to most where those are finite and rising, wider if a value is outside, else from the lowest value to the highest. A
// value that is not finite is absent.
func (c *Cells) Quantise(values []float64, least, most float64) {
	c.Cells = slices.Grow(c.Cells[:0], len(values))[:len(values)]
	low, high := math.Inf(1), math.Inf(-1)
	if finite(least) && finite(most) && least < most {
		low, high = least, most
	}
	for _, v := range values {
		if v < low && v >= -math.MaxFloat64 {
			low = v
		}
		if v > high && v <= math.MaxFloat64 {
			high = v
		}
	}
	c.Min, c.Max, c.Absent = 0, 0, 0
	if low <= high {
		c.Min, c.Max = low, high
	}
	scale := 0.0
	if high > low {
		scale = cellSteps / (high - low)
	}
	if math.IsInf(high-low, 0) || math.IsInf(scale, 0) {
		scale = 0 // a span that has no number: all are the least
	}
	for i, v := range values {
		if v-v != 0 { // NaN or infinite
			c.Cells[i] = 0
			c.Absent++
			continue
		}
		c.Cells[i] = byte(int((v-low)*scale+0.5)) + 1
	}
}

// Value is what a cell stands for, NaN for an absent one.
func (c *Cells) Value(cell byte) float64 {
	if cell == 0 {
		return math.NaN()
	}
	return c.Min + float64(cell-1)/cellSteps*(c.Max-c.Min)
}

// CellColumns are the names of the columns of a packet of cells, in their order.
func CellColumns() []string {
	return []string{"time", "layout", "min", "max", "cells", "absent", "stale"}
}

// CellSchema is the columns of a packet of cells but for the stamp.
func CellSchema(o Options) *data.Frame {
	names := CellColumns()
	var fields data.Fields
	for i, column := range []any{[]time.Time{}, []string{}, []float64{}, []float64{}, []string{}, []int64{}, []int64{}} {
		fields = append(fields, data.NewField(names[i], nil, column))
	}
	return Table(o.Metric, fields, o)
}

// AppendPacket is Append with the schema, which is [Stamped], before the row.
func (c *Cells) AppendPacket(dst []byte, schema *data.Frame) ([]byte, error) {
	head, err := data.FrameToJSON(schema, data.IncludeSchemaOnly)
	if err != nil {
		return dst, fmt.Errorf("encode the schema of cells: %w", err)
	}
	row := c.Append(nil)
	return append(append(append(dst, head[:len(head)-1]...), ','), row[1:]...), nil
}

// Append appends the JSON of a packet of one row to dst: time, layout, min, max, the cells in base64, how many are absent
// and how many of these are stale, and the stamp's column. Layout must need no escapes in JSON.
func (c *Cells) Append(dst []byte) []byte {
	dst = append(dst, `{"data":{"values":[[`...)
	dst = strconv.AppendInt(dst, c.Time, 10)
	dst = append(dst, `],["`...)
	dst = append(dst, c.Layout...)
	dst = append(dst, `"],[`...)
	dst = appendNumber(dst, c.Min)
	dst = append(dst, `],[`...)
	dst = appendNumber(dst, c.Max)
	dst = append(dst, `],["`...)
	dst = slices.Grow(dst, base64.StdEncoding.EncodedLen(len(c.Cells))+64)
	dst = base64.StdEncoding.AppendEncode(dst, c.Cells)
	dst = append(dst, `"],[`...)
	dst = strconv.AppendInt(dst, int64(c.Absent), 10)
	dst = append(dst, `],[`...)
	dst = strconv.AppendInt(dst, int64(c.Stale), 10)
	return append(dst, `],[null]]}}`...)
}
