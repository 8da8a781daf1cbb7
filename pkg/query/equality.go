package query

import (
	"regexp"
	"strconv"
)

var (
	// equalMatcher is label="value" or label!="value", the value in double quotes with its escapes.
	equalMatcher = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.]*|"(?:[^"\\]|\\.)*")\s*!?=\s*("(?:[^"\\\n]|\\.)*")`)
	// escapedLiteral is text that was escaped for a regular expression, or a list of alternatives.
	escapedLiteral = regexp.MustCompile(`\\[.|()\[\]{}+*?^$]|^\(.+\|.+\)$`)
)

// RegexInEquality finds a matcher of an expression that compares a label for equality with what is plainly a regular
// expression, as happens when a variable with several values is used with "=". It is "" when there is none.
func RegexInEquality(expr string) string {
	for _, found := range equalMatcher.FindAllStringSubmatch(expr, -1) {
		if value, err := strconv.Unquote(found[2]); err == nil && escapedLiteral.MatchString(value) {
			return found[0]
		}
	}
	return ""
}
