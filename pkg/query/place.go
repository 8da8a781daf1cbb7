package query

import (
	"strings"
	"unicode/utf8"
)

// expansion is an expression whose macros are replaced, and what stood where.
type expansion struct {
	source, text string
	macros       []expanded
}

// expanded is a macro that stood at source[from:to] and what it became at text[start:end].
type expanded struct {
	name       string
	from, to   int
	start, end int
}

// origin is the part of the source that text[start:end] comes from. Within what a macro became it is the macro.
func (e expansion) origin(start, end int) (from, to int) {
	start = min(max(start, 0), len(e.text))
	end = min(max(end, start), len(e.text))
	from, to = start, end
	for _, m := range e.macros {
		switch shift := m.end - m.to; {
		case start >= m.end:
			from = start - shift
		case start >= m.start:
			from = m.from
		}
		switch shift := m.end - m.to; {
		case end >= m.end:
			to = end - shift
		case end > m.start:
			to = m.to
		}
	}
	return from, max(from, to)
}

// uses reports whether the expression has the macro.
func (e expansion) uses(name string) bool {
	for _, m := range e.macros {
		if m.name == name {
			return true
		}
	}
	return false
}

// selectorAround is the name in front of the innermost open brace and what stands between that brace and its end, as
// text to recognise a dialect in. Braces in strings and comments are none.
func selectorAround(before, after string) string {
	open := lastOpenBrace(before)
	if open < 0 {
		return ""
	}
	head := strings.TrimRight(before[:open], " \t\r\n")
	start := len(head)
	for start > 0 && isNameByte(head[start-1]) {
		start--
	}
	return head[start:] + before[open:] + after[:closingBrace(after)]
}

// lastOpenBrace is where the innermost brace opens that is still open at the end of text, -1 when there is none.
func lastOpenBrace(text string) int {
	var open []int
	scanCode(text, func(at int, c byte) bool {
		switch {
		case c == '{':
			open = append(open, at)
		case c == '}' && len(open) > 0:
			open = open[:len(open)-1]
		}
		return true
	})
	if len(open) == 0 {
		return -1
	}
	return open[len(open)-1]
}

// closingBrace is where the first brace closes that opened before text, its length when none does.
func closingBrace(text string) int {
	end := len(text)
	scanCode(text, func(at int, c byte) bool {
		if c == '}' {
			end = at
		}
		return c != '}'
	})
	return end
}

// span is text[from:to].
type span struct{ from, to int }

// commentsOf are the comments of an expression, each to the end of its line.
func commentsOf(text string) []span {
	var comments []span
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '\'', '`':
			i = endOfString(text, i)
		case '#':
			end := strings.IndexByte(text[i:], '\n')
			if end < 0 {
				return append(comments, span{i, len(text)})
			}
			comments = append(comments, span{i, i + end})
			i += end
		}
	}
	return comments
}

// scanCode visits the bytes that are neither in a string nor in a comment, until visit has seen enough.
func scanCode(text string, visit func(at int, c byte) bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'', '`':
			i = endOfString(text, i)
		case '#':
			if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
				i += end
			} else {
				return
			}
		default:
			if !visit(i, c) {
				return
			}
		}
	}
}

// endOfString is where the string that starts at text[i] has its closing quote, or the end of the text.
func endOfString(text string, i int) int {
	quote := text[i]
	for i++; i < len(text) && text[i] != quote; i++ {
		if text[i] == '\\' && quote != '`' {
			i++
		}
	}
	return i
}

func isNameByte(c byte) bool {
	return c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// lineAndColumn count from 1, columns in characters.
func lineAndColumn(text string, at int) (line, column int) {
	before := text[:min(max(at, 0), len(text))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1
}
