package live

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// blockRows is how many rows a block has at most: as many as a word has bits.
const blockRows = 64

// cell is what one column of one row holds: an integer, and what it means.
type cell struct {
	value int64
	state uint8
}

// block is rows of cells of one width, each with a time and a number, both of which rise. Rows are appended as what
// changed since the row before; sealing turns the block to columns, of which each can be read without the others. It
// holds one slice of bytes, and what the next row is relative to.
//
// A row is varints: time and number minus those of the row before, how many columns changed value, for each the gap
// between the indices and the difference, and the same of states.
type block struct {
	rows int
	data []byte

	cells        []cell // of the newest row
	time, number int64
}

// begin makes the block empty. The first row will be relative to nothing.
func (b *block) begin(width int) {
	if cap(b.cells) < width {
		b.cells = make([]cell, width)
	}
	b.cells = b.cells[:width]
	clear(b.cells)
	b.rows, b.data, b.time, b.number = 0, b.data[:0], 0, 0
}

// size is how many bytes of memory the block takes.
func (b *block) size() int { return cap(b.data) + cap(b.cells)*16 }

// append adds a row as long as the block has. It must not be full.
func (b *block) append(time, number int64, row []cell) {
	data := binary.AppendVarint(b.data, time-b.time)
	data = binary.AppendVarint(data, number-b.number)
	values, states := 0, 0
	for i, c := range row {
		if c.value != b.cells[i].value {
			values++
		}
		if c.state != b.cells[i].state {
			states++
		}
	}
	data = binary.AppendUvarint(data, uint64(values))
	for i, last := 0, 0; values > 0; i++ {
		if before := b.cells[i].value; row[i].value != before {
			data = binary.AppendUvarint(data, uint64(i-last))
			data = binary.AppendVarint(data, row[i].value-before)
			last, values = i, values-1
		}
	}
	data = binary.AppendUvarint(data, uint64(states))
	for i, last := 0, 0; states > 0; i++ {
		if row[i].state != b.cells[i].state {
			data = binary.AppendUvarint(data, uint64(i-last))
			data = append(data, row[i].state)
			last, states = i, states-1
		}
	}
	copy(b.cells, row)
	b.data, b.time, b.number, b.rows = data, time, number, b.rows+1
}

// each reads the rows one after the other. cells is only good until yield returns.
func (b *block) each(yield func(time, number int64, cells []cell) bool) {
	cells := make([]cell, len(b.cells))
	r := reader{rest: b.data}
	var time, number int64
	for range b.rows {
		time, number = time+r.varint(), number+r.varint()
		for at, n := 0, r.uvarint(); n > 0 && r.ok(); n-- {
			at += int(r.uvarint())
			cells[at].value += r.varint()
		}
		for at, n := 0, r.uvarint(); n > 0 && r.ok(); n-- {
			at += int(r.uvarint())
			cells[at].state = r.byte()
		}
		if !yield(time, number, cells) {
			return
		}
	}
}

// The forms that a column has in a sealed block, lowest bits of its first byte.
const (
	formConstant = iota // the value, which all rows have
	formPacked          // the value, a bit for each row that differs from the one before, their differences packed
	formPacked2         // value and difference, then the same of differences of differences
	formVarint          // the value, the bits, the differences as varints

	formBits   = 2
	formStates = 1 << formBits // the states follow; else they are all the byte that follows
)

// seal is the block as columns: rows and width, the times, the numbers, the lengths of the columns, the columns.
func (b *block) seal() []byte {
	width := len(b.cells)
	times, numbers := make([]int64, 0, b.rows), make([]int64, 0, b.rows)
	columns := make([]cell, b.rows*width) // one after the other
	row := 0
	b.each(func(time, number int64, cells []cell) bool {
		times, numbers = append(times, time), append(numbers, number)
		for i, c := range cells {
			columns[i*b.rows+row] = c
		}
		row++
		return true
	})
	out := binary.AppendUvarint(make([]byte, 0, len(b.data)), uint64(b.rows))
	out = binary.AppendUvarint(out, uint64(width))
	scratch := make([]int64, b.rows)
	for _, line := range [][]int64{times, numbers} {
		start := len(out)
		out = append(out, 0, 0)
		out = appendValues(append(out, 0), len(out), line, scratch)
		binary.LittleEndian.PutUint16(out[start:], uint16(len(out)-start-2))
	}
	lengths := len(out)
	out = append(out, make([]byte, 2*width)...)
	line := make([]int64, b.rows)
	for i := range width {
		column := columns[i*b.rows : (i+1)*b.rows]
		start := len(out)
		out = append(out, 0)
		if same := !slices.ContainsFunc(column, func(c cell) bool { return c.state != column[0].state }); same {
			out = append(out, column[0].state)
		} else {
			out[start] = formStates
			out = appendStates(out, column)
		}
		for row, c := range column {
			line[row] = c.value
		}
		out = appendValues(out, start, line, scratch)
		binary.LittleEndian.PutUint16(out[lengths+2*i:], uint16(len(out)-start))
	}
	return slices.Clip(slices.Clone(out))
}

// appendStates writes runs: how many rows, and their state.
func appendStates(out []byte, column []cell) []byte {
	for row := 0; row < len(column); {
		run := 1
		for row+run < len(column) && column[row+run].state == column[row].state {
			run++
		}
		out = append(out, byte(run), column[row].state)
		row += run
	}
	return out
}

// appendValues writes a column in the shortest form, and the form into the byte at form. The second row's difference is
// the first there is.
func appendValues(out []byte, form int, line, scratch []int64) []byte {
	first := line[0]
	once := scratch[:len(line)-1]
	for i := range once {
		once[i] = line[i+1] - line[i]
	}
	mask, width, varint := weigh(once)
	out = binary.AppendVarint(out, first)
	if mask == 0 {
		out[form] |= formConstant
		return out
	}
	packed := (bits.OnesCount64(mask)*width + 7) / 8
	start := once[0]
	twice := make([]int64, len(once)-1)
	for i := range twice {
		twice[i] = once[i+1] - once[i]
	}
	mask2, width2, _ := weigh(twice)
	packed2 := (bits.OnesCount64(mask2)*width2+7)/8 + varintLength(start)
	switch {
	case packed2 < packed && packed2 < varint:
		out[form] |= formPacked2
		out = binary.AppendVarint(out, start)
		return appendPacked(out, twice, mask2, width2)
	case packed <= varint:
		out[form] |= formPacked
		return appendPacked(out, once, mask, width)
	}
	out[form] |= formVarint
	out = binary.LittleEndian.AppendUint64(out, mask)
	for _, d := range once {
		if d != 0 {
			out = binary.AppendVarint(out, d)
		}
	}
	return out
}

// weigh is which of the differences are none, how many bits the others need, and how many bytes as varints.
func weigh(differences []int64) (mask uint64, width, varint int) {
	var all uint64
	for i, d := range differences {
		if d != 0 {
			mask |= 1 << i
			all |= zigzag(d)
			varint += varintLength(d)
		}
	}
	return mask, bits.Len64(all), varint
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

func varintLength(v int64) int { return (bits.Len64(zigzag(v)|1) + 6) / 7 }

// appendPacked writes the bits, the width, and the differences that are some.
func appendPacked(out []byte, differences []int64, mask uint64, width int) []byte {
	out = binary.LittleEndian.AppendUint64(out, mask)
	out = append(out, byte(width))
	var word uint64
	filled := 0
	for _, d := range differences {
		if d == 0 {
			continue
		}
		v := zigzag(d)
		word |= v << filled
		if filled += width; filled < 64 {
			continue
		}
		out = binary.LittleEndian.AppendUint64(out, word)
		filled -= 64
		word = 0
		if filled > 0 {
			word = v >> (width - filled)
		}
	}
	for ; filled > 0; filled -= 8 {
		out = append(out, byte(word))
		word >>= 8
	}
	return out
}

// errBlock is bytes that no block was sealed to.
var errBlock = errors.New("read block: the bytes are cut off or no block")

// sealed is a block as columns, ready to be read.
type sealed struct {
	rows, width    int
	times, numbers []byte
	lengths        []byte
	columns        []byte
}

// openBlock checks the outline of a sealed block.
func openBlock(raw []byte) (sealed, error) {
	r := reader{rest: raw}
	rows, width := r.uvarint(), r.uvarint()
	if r.bad || rows < 1 || rows > blockRows || width > uint64(len(raw)) {
		return sealed{}, errBlock
	}
	s := sealed{rows: int(rows), width: int(width)}
	for _, line := range []*[]byte{&s.times, &s.numbers} {
		*line = r.take(int(r.uint16()))
	}
	s.lengths = r.take(2 * s.width)
	s.columns = r.rest
	if r.bad {
		return sealed{}, errBlock
	}
	return s, nil
}

// stamps are the rows' times. into is at least as long as there are rows.
func (s *sealed) stamps(into []int64) error {
	return s.line(s.times, into)
}

// counts are the rows' numbers.
func (s *sealed) counts(into []int64) error {
	return s.line(s.numbers, into)
}

func (s *sealed) line(raw []byte, into []int64) error {
	r := reader{rest: raw}
	form := r.byte()
	r.values(form, into[:s.rows])
	return r.err()
}

// column reads the cells of one column.
func (s *sealed) column(i int, into []cell) error {
	if i >= s.width {
		return errBlock
	}
	start := 0
	for j := range i {
		start += int(binary.LittleEndian.Uint16(s.lengths[2*j:]))
	}
	length := int(binary.LittleEndian.Uint16(s.lengths[2*i:]))
	if start+length > len(s.columns) {
		return errBlock
	}
	r := reader{rest: s.columns[start : start+length]}
	form := r.byte()
	into = into[:s.rows]
	if form&formStates == 0 {
		state := r.byte()
		for row := range into {
			into[row].state = state
		}
	} else {
		for row := 0; row < len(into) && r.ok(); {
			run, state := int(r.byte()), r.byte()
			if run == 0 || row+run > len(into) {
				return errBlock
			}
			for range run {
				into[row].state = state
				row++
			}
		}
	}
	var line [blockRows]int64
	r.values(form, line[:s.rows])
	for row := range into {
		into[row].value = line[row]
	}
	return r.err()
}

// firstNumber is the number of the first row, of which there must be one.
func (b *block) firstNumber() int64 {
	r := reader{rest: b.data}
	r.varint() // its time
	return r.varint()
}
