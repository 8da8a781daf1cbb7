package plugin

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/query"
)

// variableQuery is what a variable lists.
type variableQuery struct {
	kind     string
	scope    query.Scope
	search   string
	from, to time.Time // zero for now
}

// readVariableQuery reads the parameters of a resource call. A parent that is repeated holds for each of its values.
// With "query" the kind and the parents are written as in provisioning files, like `pods(namespace="lab")`.
func readVariableQuery(parameters url.Values, now time.Time) (variableQuery, error) {
	var q variableQuery
	parents := parameters
	if text := parameters.Get("query"); text != "" {
		kind, named, err := parseShorthand(text)
		if err != nil {
			return q, err
		}
		parents = url.Values{"kind": {kind}}
		for name, values := range named {
			parents[name] = values
		}
		for name, values := range parameters {
			if name != "query" && name != "kind" {
				parents[name] = append(parents[name], values...)
			}
		}
	}
	scope := map[string]*[]string{
		"cluster": &q.scope.Clusters, "node": &q.scope.Nodes, "gpu": &q.scope.GPUs, "model": &q.scope.Models,
		"namespace": &q.scope.Namespaces, "pod": &q.scope.Pods, "job": &q.scope.Jobs,
	}
	for name, values := range parents {
		switch into := scope[name]; {
		case into != nil:
			*into = chosen(values)
		case !slices.Contains([]string{"kind", "search", "from", "to"}, name):
			return q, fmt.Errorf("parameter %q is not known: kind, query, search, from, to, %s are", name, strings.Join(parentKinds(), ", "))
		}
	}
	var err error
	if q.scope, err = q.scope.Compile(); err != nil {
		return q, err
	}
	if q.kind = parents.Get("kind"); !slices.Contains(variableKinds(), q.kind) {
		return q, unknownKind(q.kind)
	}
	q.search = parents.Get("search")
	q.from, q.to, err = readRange(parents.Get("from"), parents.Get("to"), now)
	return q, err
}

// parentKinds are the kinds that narrow others.
func parentKinds() []string {
	return []string{"cluster", "node", "gpu", "model", "namespace", "pod", "job"}
}

// readRange reads Unix milliseconds; both are zero when neither is given.
func readRange(from, to string, now time.Time) (start, end time.Time, err error) {
	if from == "" && to == "" {
		return time.Time{}, time.Time{}, nil
	}
	end = now
	for _, bound := range []struct {
		name, text string
		into       *time.Time
	}{{"from", from, &start}, {"to", to, &end}} {
		if bound.text == "" {
			continue
		}
		ms, err := strconv.ParseInt(bound.text, 10, 64)
		if err != nil || ms < 0 || ms > 1<<53 {
			return start, end, fmt.Errorf("parameter %q: %q is no time; write Unix milliseconds, like %d", bound.name, bound.text, now.UnixMilli())
		}
		*bound.into = time.UnixMilli(ms).UTC()
	}
	if from == "" || !start.Before(end) {
		return start, end, fmt.Errorf(`parameter "from" must be before "to": write Unix milliseconds, like from=%d`, now.Add(-time.Hour).UnixMilli())
	}
	return start, end, nil
}

// parseShorthand reads the text form of a variable's query: a kind, in the singular or plural, and its parents in
// brackets, each name=value, values with blanks or commas in double quotes.
func parseShorthand(text string) (kind string, parents url.Values, err error) {
	word, rest, call := strings.Cut(strings.TrimSpace(text), "(")
	kind = strings.ToLower(strings.TrimSpace(word))
	if single := strings.TrimSuffix(kind, "s"); !slices.Contains(variableKinds(), kind) {
		kind = single
	}
	if !slices.Contains(variableKinds(), kind) {
		return "", nil, fmt.Errorf("%q lists nothing: write %s, like nodes(cluster=north)", text, strings.Join(variableKinds(), "s, ")+"s")
	}
	parents = url.Values{}
	if !call {
		return kind, parents, nil
	}
	rest, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return "", nil, fmt.Errorf("%q has no closing bracket at its end", text)
	}
	for rest = strings.TrimSpace(rest); rest != ""; {
		name, after, found := strings.Cut(rest, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if !found || !slices.Contains(parentKinds(), name) {
			return "", nil, fmt.Errorf("%q in %q is not name=value with one of the names %s", rest, text, strings.Join(parentKinds(), ", "))
		}
		after = strings.TrimLeft(after, "~ ") // a matcher's =~ means the same
		value, left, err := shorthandValue(after)
		if err != nil {
			return "", nil, fmt.Errorf("%q in %q: %w", rest, text, err)
		}
		parents.Add(name, value)
		rest = strings.TrimSpace(left)
	}
	return kind, parents, nil
}

// shorthandValue takes a value, and the comma behind it, off the beginning of a text.
func shorthandValue(text string) (value, rest string, err error) {
	if !strings.HasPrefix(text, `"`) {
		value, rest, _ = strings.Cut(text, ",")
		return strings.TrimSpace(value), rest, nil
	}
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", fmt.Errorf("the quotes of %s do not close", text)
	}
	if value, err = strconv.Unquote(quoted); err != nil {
		return "", "", fmt.Errorf("%s is no text in double quotes", quoted)
	}
	rest = strings.TrimSpace(text[len(quoted):])
	if rest != "" && !strings.HasPrefix(rest, ",") {
		return "", "", fmt.Errorf("a comma is missing before %q", rest)
	}
	return value, strings.TrimPrefix(rest, ","), nil
}
