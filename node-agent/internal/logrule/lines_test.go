package logrule

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// split is what a splitter makes of pieces.
func split(limit int, pieces ...string) (lines []string, tooLong int) {
	s := splitter{limit: limit, line: func(l []byte) { lines = append(lines, string(l)) }, tooLong: func() { tooLong++ }}
	for _, p := range pieces {
		s.write([]byte(p))
	}
	return lines, tooLong
}

func TestSplit(t *testing.T) {
	lines, tooLong := split(10, "one\ntw", "o\r\nthree\rfour", "\n\nfi")
	assert.Equal(t, []string{"one", "two", "three", "four"}, lines)
	assert.Zero(t, tooLong)

	lines, tooLong = split(4, "abcd\nabcde\nab", "cde", "fg\nok\n", strings.Repeat("x", 100), "yy\nend\n")
	assert.Equal(t, []string{"abcd", "ok", "end"}, lines)
	assert.Equal(t, 3, tooLong)
}

func TestALineWithoutEndTakesNoMemory(t *testing.T) {
	s := splitter{limit: 16, line: func([]byte) {}, tooLong: func() {}}
	for range 1000 {
		s.write(bytes.Repeat([]byte("x"), 1<<10))
	}
	assert.LessOrEqual(t, cap(s.pending), 64)
}

// The pieces in which a log arrives do not matter.
func FuzzSplit(f *testing.F) {
	f.Add("one\ntwo\r\nlonger than ten\n\n", uint8(3))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		whole, tooLong := split(10, text)
		var pieces []string
		for rest := text; rest != ""; {
			n := min(len(rest), int(size)+1)
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		lines, tooLongToo := split(10, pieces...)
		require.Equal(t, whole, lines)
		require.Equal(t, tooLong, tooLongToo)
		for _, l := range lines {
			require.LessOrEqual(t, len(l), 10)
			require.NotContains(t, l, "\n")
		}
	})
}
