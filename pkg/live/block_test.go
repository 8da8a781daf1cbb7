package live

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type blockRow struct {
	time, number int64
	cells        []cell
}

func fill(rows []blockRow, width int) *block {
	var b block
	b.begin(width)
	for _, r := range rows {
		b.append(r.time, r.number, r.cells)
	}
	return &b
}

// requireRows checks that an open and a sealed block hold exactly the rows.
func requireRows(t require.TestingT, b *block, rows []blockRow) {
	var got []blockRow
	b.each(func(time, number int64, cells []cell) bool {
		got = append(got, blockRow{time, number, slices.Clone(cells)})
		return true
	})
	require.Equal(t, rows, got)
	s, err := openBlock(b.seal())
	require.NoError(t, err)
	require.Equal(t, len(rows), s.rows)
	times, numbers := make([]int64, s.rows), make([]int64, s.rows)
	require.NoError(t, s.stamps(times))
	require.NoError(t, s.counts(numbers))
	for i, r := range rows {
		require.Equal(t, r.time, times[i])
		require.Equal(t, r.number, numbers[i])
	}
	column := make([]cell, s.rows)
	for i := range s.width {
		require.NoError(t, s.column(i, column))
		for j, r := range rows {
			require.Equal(t, r.cells[i], column[j], "column %d, row %d", i, j)
		}
	}
	require.Error(t, s.column(s.width, column))
}

func TestABlockHoldsItsRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(0, 12).Draw(t, "width")
		step := rapid.SampledFrom([]int64{0, 1, 2, 100, 1 << 16, 1 << 40, math.MaxInt64})
		rows := make([]blockRow, rapid.IntRange(1, blockRows).Draw(t, "rows"))
		line := make([]cell, width)
		var time, number int64
		for i := range rows {
			time += step.Draw(t, "time")
			number += step.Draw(t, "number")
			for j := range line {
				switch rapid.IntRange(0, 4).Draw(t, "how") {
				case 0:
					line[j].value += step.Draw(t, "by")
				case 1:
					line[j].value -= rapid.Int64().Draw(t, "by any")
				case 2:
					line[j].state = rapid.Byte().Draw(t, "state")
				}
			}
			rows[i] = blockRow{time, number, slices.Clone(line)}
		}
		requireRows(t, fill(rows, width), rows)
	})
}

func TestColumnsOfEachForm(t *testing.T) {
	lines := map[string]func(i int) int64{
		"constant":       func(int) int64 { return 42 },
		"a counter":      func(i int) int64 { return int64(i)*700_123 + int64(i%3) },
		"noise":          func(i int) int64 { return int64(i*i*7919%1000) - 500 },
		"one leap":       func(i int) int64 { return int64(i / 40 * math.MaxInt64) },
		"extremes":       func(i int) int64 { return []int64{math.MinInt64, math.MaxInt64}[i%2] },
		"rare":           func(i int) int64 { return int64(i / 10) },
		"full width":     func(i int) int64 { return int64(uint64(i) * 0x9E3779B97F4A7C15) },
		"sixty bits":     func(i int) int64 { return int64(uint64(i)*0x9E3779B97F4A7C15) >> 4 },
		"many and large": func(i int) int64 { return []int64{0, 1, 0, 2, 1 << 50, 3}[i%6] },
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 63, blockRows} {
				rows := make([]blockRow, n)
				for i := range rows {
					rows[i] = blockRow{int64(i) * 1000, int64(i), []cell{{line(i), 1}, {5, uint8(i / 20)}}}
				}
				requireRows(t, fill(rows, 2), rows)
			}
		})
	}
}

// Whatever the bytes are: an error, or as many cells as there are rows.
func FuzzSealedBlock(f *testing.F) {
	rows := make([]blockRow, 20)
	for i := range rows {
		rows[i] = blockRow{int64(i) * 1000, int64(i), []cell{{int64(i * i), uint8(i % 2)}, {7, 1}, {int64(i % 5 * 1e9), 1}}}
	}
	f.Add(fill(rows, 3).seal())
	f.Add(fill(rows[:1], 3).seal())
	f.Add([]byte{})
	f.Add(binary.AppendUvarint(nil, math.MaxUint64))
	f.Fuzz(func(_ *testing.T, raw []byte) {
		s, err := openBlock(raw)
		if err != nil {
			return
		}
		times, column := make([]int64, blockRows), make([]cell, blockRows)
		_ = s.stamps(times)
		_ = s.counts(times)
		for i := range min(s.width, 100) {
			_ = s.column(i, column)
		}
	})
}

// Rows from bytes survive both forms, bit by bit.
func FuzzBlockRows(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}, 2)
	f.Add(slices.Repeat([]byte{255}, 900), 3)
	f.Fuzz(func(t *testing.T, raw []byte, width int) {
		if width < 0 || width > 8 {
			return
		}
		var rows []blockRow
		for need := 9 * (width + 1); len(raw) >= need && len(rows) < blockRows; raw = raw[need:] {
			row := blockRow{int64(binary.LittleEndian.Uint64(raw)), int64(raw[8]), make([]cell, width)}
			for i := range row.cells {
				at := raw[9*(i+1):]
				row.cells[i] = cell{int64(binary.LittleEndian.Uint64(at)), at[8]}
			}
			rows = append(rows, row)
		}
		if len(rows) > 0 {
			requireRows(t, fill(rows, width), rows)
		}
	})
}
