package query

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// parsePromQL reads an expression as Prometheus does, with all its experimental functions.
func parsePromQL(text string) (parser.Expr, error) {
	return parser.NewParser(parser.Options{EnableExperimentalFunctions: true, EnableBinopFillModifiers: true}).ParseExpr(text)
}

// SyntaxError is what Prometheus' parser does not accept of an expression, told at the place in the user's text.
type SyntaxError struct {
	Line, Column int    // in the user's text, from 1
	At           string // what stands there; a macro when it is what the macro stands for
	Message      string // the parser's
	Hint         string // what to change, "" when there is nothing to say
}

func (e *SyntaxError) Error() string {
	place := fmt.Sprintf("column %d", e.Column)
	if e.Line > 1 {
		place = fmt.Sprintf("line %d, ", e.Line) + place
	}
	if e.At != "" {
		place += fmt.Sprintf(", at %q", e.At)
	}
	text := fmt.Sprintf(`field "expr": %s: %s`, place, e.Message)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// atMost is how much of the expression an error quotes.
const atMost = 30

// explain tells a parser's error at the place in the user's text that it comes from.
func (e expansion) explain(err error) error {
	var all parser.ParseErrors
	if !errors.As(err, &all) || len(all) == 0 {
		return fmt.Errorf(`field "expr": %w`, err)
	}
	first := all[0]
	start, end := int(first.PositionRange.Start), int(first.PositionRange.End)
	if strings.HasPrefix(first.Err.Error(), "unexpected right ") && start > 0 {
		start-- // the parser has read it already
	}
	from, to := e.origin(start, end)
	line, column := lineAndColumn(e.source, from)
	found := &SyntaxError{Line: line, Column: column, At: quoted(e.source[from:to]), Message: shorten(first.Err.Error())}
	found.Hint = e.hint(found.Message, from)
	return found
}

// quoted is the first line of a text, and no more of it than people need to find it.
func quoted(text string) string {
	text, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(text); len(runes) > atMost {
		text, more = string(runes[:atMost]), true
	}
	if more {
		text += "…"
	}
	return text
}

var (
	bitMask         = regexp.MustCompile(`^&\s*(0[xX][0-9a-fA-F]+|[0-9]+)`)
	unknownFunction = regexp.MustCompile(`^unknown function with name "(.*)"$`)
	needsRange      = regexp.MustCompile(`^expected type range vector in call to function "(.*)", got instant vector$`)
)

// hint is what to change, by the parser's message and what stands in the user's text from the place on.
func (e expansion) hint(message string, from int) string {
	rest := e.source[from:]
	if name := unknownFunction.FindStringSubmatch(message); name != nil {
		if near := nearestFunction(name[1]); near != "" {
			return fmt.Sprintf("did you mean %s()?", near)
		}
		return ""
	}
	if name := needsRange.FindStringSubmatch(message); name != nil {
		return fmt.Sprintf("give it a range, as in %s(x[$__rate_interval])", name[1])
	}
	switch {
	case strings.HasPrefix(rest, "&&"):
		return "write and"
	case strings.HasPrefix(rest, "||"):
		return "write or"
	case strings.HasPrefix(rest, "&"):
		return bitHint(rest)
	case strings.HasPrefix(rest, "$__gpu_filter"), strings.HasPrefix(rest, "${__gpu_filter"):
		if lastOpenBrace(e.source[:from]) < 0 {
			return "it stands for label matchers and belongs between braces, as in DCGM_FI_DEV_GPU_UTIL{$__gpu_filter}"
		}
		return "put a comma between it and the other matchers"
	case strings.HasPrefix(rest, "$__gpu_identity"), strings.HasPrefix(rest, "${__gpu_identity"):
		return "it stands for label names and belongs behind by, as in max by ($__gpu_identity) (x)"
	case strings.HasPrefix(rest, "$"):
		return "no dashboard variable of this name was found"
	case strings.HasPrefix(rest, "“"), strings.HasPrefix(rest, "”"), strings.HasPrefix(rest, "‘"), strings.HasPrefix(rest, "’"):
		return "write straight quotation marks"
	case strings.HasPrefix(message, "unknown escape sequence"):
		return `write a backslash in a string twice, as in "gpu-01\\.lab"`
	case strings.Contains(message, "character after '='"), strings.Contains(message, `unexpected "="`) && inBraces(e.source, from),
		strings.Contains(message, "after '!' inside braces"), strings.Contains(message, "character inside braces"):
		return `labels are compared with =, !=, =~ and !~, as in {node=~"gpu-.*"}`
	case strings.Contains(message, "in label matching, expected string"):
		return `values stand in double quotes, as in {node="gpu-01"}`
	case strings.Contains(message, `unexpected "="`):
		return "values are compared with =="
	case strings.HasPrefix(message, "comparisons between scalars"):
		return "write bool behind the comparison"
	case strings.HasPrefix(message, "binary expression must contain only scalar and instant vector"):
		return "put the range into a function, as in rate(x[$__rate_interval])"
	case strings.HasPrefix(message, "vector selector must contain at least one non-empty matcher"):
		return "name the metric"
	}
	return ""
}

func inBraces(text string, at int) bool { return lastOpenBrace(text[:at]) >= 0 }

// bitHint writes the test of a bit in arithmetic, because PromQL has no operators for bits.
func bitHint(rest string) string {
	const text = "PromQL has no operators for bits; "
	mask := bitMask.FindStringSubmatch(rest)
	if mask != nil {
		if value, err := strconv.ParseUint(mask[1], 0, 64); err == nil && value > 0 && value&(value-1) == 0 {
			return fmt.Sprintf("%sto test this one write floor(x / %d) %% 2 == 1", text, value)
		}
	}
	return text + "to test the bit of value n write floor(x / n) % 2 == 1"
}

// nearestFunction is the function that a misspelt name is close to, "" when there is none.
func nearestFunction(name string) string {
	if len(name) > 40 {
		return ""
	}
	name = strings.ToLower(name)
	best, nearest, distance := "", 0, max(len(name)/3, 1)+1
	for _, known := range slices.Sorted(maps.Keys(parser.Functions)) {
		d := 2 * editDistance(name, known)
		if strings.HasPrefix(known, name) {
			d-- // most often the end is missing
		}
		if d < 2*distance && (best == "" || d < nearest) {
			best, nearest = known, d
		}
	}
	return best
}

// editDistance is how many letters must be put in, left out, replaced or swapped with their neighbour.
func editDistance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
