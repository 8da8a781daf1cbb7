package history

import (
	"bytes"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// decodeInstant is decode into columns. An answer that is not of series of one sample each, as to a range selector or a
// scalar, is decoded into series.
func decodeInstant(w *textWindow) (*answer, error) {
	d := newDecoder(w)
	d.rows = newRowDecoder()
	if err := d.whole(); err != nil {
		return nil, err
	}
	if d.rows != nil {
		d.answer.Instant = d.rows.instant()
	}
	return d.answer, nil
}

// rowDecoder collects the rows of an instant.
type rowDecoder struct {
	columns []*labelTexts
	at      map[string]*labelTexts
	spots   []*labelTexts // the columns of the decoder's spots
	codes   []uint32      // of a row that is not taken yet
	times   []int64
	values  []float64
	text    timeText         // of the time of the row before
	room    *strings.Builder // for texts to come
}

func newRowDecoder() *rowDecoder {
	return &rowDecoder{at: make(map[string]*labelTexts, 32), room: &strings.Builder{}}
}

// textRoom is how many bytes of label texts share one piece of memory.
const textRoom = 16 << 10

// keep is a text in memory that outlives the body.
func (r *rowDecoder) keep(text []byte) string {
	if len(text) > textRoom/16 {
		return string(text)
	}
	start := r.room.Len()
	if start+len(text) > r.room.Cap() {
		r.room, start = &strings.Builder{}, 0
		r.room.Grow(textRoom)
	}
	r.room.Write(text)
	return r.room.String()[start:]
}

// labelTexts is a label's column while it grows. A column is behind where rows have no such label.
type labelTexts struct {
	gpu.LabelColumn
	known  map[string]uint32
	after  []uint32 // for each text which one came after it the last time
	last   uint32   // the text of the row before, if it is written as it is
	misses int      // how many texts in a row had not been seen before
}

func (r *rowDecoder) column(name string) *labelTexts {
	c := r.at[name]
	if c == nil {
		c = &labelTexts{known: map[string]uint32{"": 0}, after: []uint32{0}}
		c.Name, c.Texts = name, []string{""}
		r.at[name] = c
		r.columns = append(r.columns, c)
	}
	return c
}

// likely reads a text that was likely to come: that of the row before, or what followed it the last time. Both are written
// as they are. It returns the place after the quote, 0 when it is another text.
func (c *labelTexts) likely(buf []byte, pos int) (code uint32, next int) {
	for _, code := range [2]uint32{c.last, c.after[c.last]} {
		text := c.Texts[code]
		if end := pos + len(text); end < len(buf) && buf[end] == '"' && string(buf[pos:end]) == text {
			return code, end + 1
		}
	}
	return 0, 0
}

// code is where a text is, which gets a place if it has none.
func (r *rowDecoder) code(c *labelTexts, text []byte) uint32 {
	if c.misses < mostMisses || len(text) == 0 {
		if code, ok := c.known[string(text)]; ok {
			c.misses = 0
			return code
		}
	}
	code := uint32(len(c.Texts)) // at most one for each row of a bounded body
	c.Texts, c.after = append(c.Texts, r.keep(text)), append(c.after, 0)
	if c.misses < mostMisses {
		c.misses++
		c.known[c.Texts[code]] = code
	}
	return code
}

// follow notes that a text came.
func (c *labelTexts) follow(code uint32) {
	c.after[c.last], c.last = code, code
}

// put sets the text of the next row.
func (c *labelTexts) put(row int, code uint32) {
	c.fill(row)
	c.Codes = append(c.Codes, code)
}

// fill makes a column as long as there are rows.
func (c *labelTexts) fill(rows int) {
	if missing := rows - len(c.Codes); missing > 0 {
		c.Codes = append(c.Codes, make([]uint32, missing)...)
	}
}

// row reads a series as Prometheus writes it, whose labels have the names of the one before in the same order. Where it is
// another one it reports false and has consumed nothing.
func (d *decoder) row() bool {
	r, start, row := d.rows, d.pos, len(d.rows.values)
	pos, ok := d.rowLabels()
	if !ok {
		return false
	}
	pos, ok = placeAfter(d.buf, pos, `,"value":`)
	if !ok {
		return false
	}
	value, sameTime, timeEnd, next := fastPoint(d.buf, pos, r.text)
	text, t := r.text, int64(0)
	switch {
	case next == 0:
		var err error
		if d.pos = pos; d.expect('[') == nil {
			if text, t, err = d.time(); err == nil {
				value, err = d.rest()
			}
		}
		if next = d.pos; err != nil {
			d.pos = start
			return false
		}
	case sameTime:
		t = r.times[row-1]
	default:
		text = timeText{pos + 1, timeEnd - pos - 1}
		if t, ok = parseTime(d.buf[pos+1 : timeEnd]); !ok {
			return false
		}
	}
	if next, ok = placeAfter(d.buf, next, "}"); !ok {
		d.pos = start
		return false
	}
	d.pos = next
	for i, c := range r.spots {
		c.put(row, r.codes[i])
	}
	r.times, r.values, r.text = append(r.times, t), append(r.values, value), text
	if row == 64 {
		r.grow(d.expected(row) + row)
	}
	return true
}

// rowLabels finds the codes of a row's labels and returns the place after them.
func (d *decoder) rowLabels() (int, bool) {
	r, buf := d.rows, d.buf
	pos, ok := placeAfter(buf, d.pos, `{"metric":{`)
	if !ok || len(r.spots) == 0 || len(r.spots) != len(d.spots) || len(r.values) == 0 {
		return 0, false
	}
	last := len(r.spots) - 1
	for i, c := range r.spots {
		key := d.spots[i].key
		if !bytes.HasPrefix(buf[pos:], key) {
			return 0, false
		}
		pos += len(key)
		code, next := c.likely(buf, pos)
		if next == 0 {
			end := plainEnd(buf, pos)
			if end < 0 {
				return 0, false
			}
			code, next = r.code(c, buf[pos:end]), end+1
		}
		c.follow(code)
		r.codes[i] = code
		separator := byte(',')
		if i == last {
			separator = '}'
		}
		if next >= len(buf) || buf[next] != separator {
			return 0, false
		}
		pos = next + 1
	}
	return pos, true
}

// placeAfter is the place after a text that stands at pos.
func placeAfter(buf []byte, pos int, text string) (int, bool) {
	end := pos + len(text)
	return end, end <= len(buf) && string(buf[pos:end]) == text
}

// take adds a series of one sample that was read the careful way.
func (r *rowDecoder) take(s rawSeries, spots []spot) {
	row := len(r.values)
	r.spots = r.spots[:0]
	for _, l := range s.Labels.all() {
		c := r.column(l.Name)
		code := r.code(c, []byte(l.Value))
		c.put(row, code)
		if strings.ContainsFunc(l.Value, func(c rune) bool { return c == '"' || c == '\\' || c < ' ' || c >= 0x80 }) {
			c.last = 0
		} else {
			c.follow(code)
		}
		r.spots = append(r.spots, c)
	}
	if len(spots) != len(r.spots) {
		r.spots = r.spots[:0]
	}
	r.codes = slices.Grow(r.codes[:0], len(r.spots))[:len(r.spots)]
	r.times, r.values, r.text = append(r.times, s.Times[0]), append(r.values, s.Values[0]), timeText{}
}

func (r *rowDecoder) grow(rows int) {
	more := max(rows-len(r.values), 0)
	r.times, r.values = slices.Grow(r.times, more), slices.Grow(r.values, more)
	for _, c := range r.columns {
		c.Codes = slices.Grow(c.Codes, more)
	}
}

func (r *rowDecoder) instant() *gpu.Instant {
	columns := make([]gpu.LabelColumn, len(r.columns))
	for i, c := range r.columns {
		c.fill(len(r.values))
		columns[i] = c.LabelColumn
	}
	return &gpu.Instant{Labels: columns, Times: r.times, Values: r.values}
}

// series are the rows as series of one sample.
func (r *rowDecoder) series() []rawSeries {
	all := make([]rawSeries, len(r.values))
	for i := range all {
		s := rawSeries{Times: r.times[i : i+1 : i+1], Values: r.values[i : i+1 : i+1]}
		for _, c := range r.columns {
			if i < len(c.Codes) && c.Codes[i] > 0 {
				s.Labels.own = append(s.Labels.own, label{c.Name, c.Texts[c.Codes[i]]})
			}
		}
		all[i] = s
	}
	return all
}
