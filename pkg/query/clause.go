package query

import (
	"regexp"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// clause is a label and the regular expression that its values must match.
type clause struct{ label, regex string }

// instance is the label of the address that is scraped, which every series has.
const instance = "instance"

// nodeClause is the condition that a label names one of the scope's nodes.
func nodeClause(scope Scope, label string) clause {
	regex := RegexText(scope.Nodes)
	if label == instance {
		regex = group(regex) + "(:[0-9]+)?"
	}
	return clause{label, regex}
}

// clausesOf are the scope's nodes, GPUs, MIG instances and models as conditions on the labels of a dialect. Owners are
// not among them: no label tells them on its own. Nor is the address where the node may be in other labels too: all
// series have one, also those whose node is elsewhere.
func clausesOf(scope Scope, labels catalog.Filter) []clause {
	var clauses []clause
	add := func(names []string, regex string) {
		for _, name := range names {
			text := regex
			if len(names) > 1 || slices.Contains(labels.Node, instance) && slices.Contains(labels.Node, name) {
				// The series has one of these labels; the others read as empty.
				text += "|"
			}
			clauses = append(clauses, clause{name, text})
		}
	}
	if len(scope.Nodes) > 0 && len(labels.Node) == 1 {
		clauses = append(clauses, nodeClause(scope, labels.Node[0]))
	} else if len(scope.Nodes) > 0 {
		add(slices.DeleteFunc(slices.Clone(labels.Node), func(name string) bool { return name == instance }), RegexText(scope.Nodes))
	}
	if uuids := scope.uuidRegexes(); len(uuids) > 0 {
		regex := strings.Join(uuids, "|")
		if labels.Dialect == catalog.NvidiaSMI {
			// nvidia_gpu_exporter writes UUIDs without the prefix.
			regex = strings.ReplaceAll(regex, "GPU-", "(?:GPU-)?")
		}
		add(labels.UUID, regex)
	}
	if ids := scope.migIDs(); len(ids) > 0 {
		add(labels.MIGID, strings.Join(ids, "|"))
	}
	if len(scope.Models) > 0 {
		add(labels.Model, modelRegex(scope.Models))
	}
	return clauses
}

func group(regex string) string {
	if strings.HasPrefix(regex, "(") && strings.HasSuffix(regex, ")") && strings.Count(regex, "(") == 1 {
		return regex
	}
	return "(?:" + regex + ")"
}

// ExactGPUs are the UUIDs of the GPUs that the lists of GPUs and of MIG instances select; false when they select all or
// by regular expressions.
func (s Scope) ExactGPUs() ([]string, bool) {
	uuids := make([]string, 0, len(s.GPUs)+len(s.MIGs))
	for _, value := range s.GPUs {
		if _, isRegex := pattern(value); isRegex {
			return nil, false
		}
		uuids = append(uuids, value)
	}
	if len(uuids) > 0 {
		return uuids, true
	}
	for _, value := range s.MIGs {
		uuid, _, isExact := exactMIG(value)
		if !isExact {
			return nil, false
		}
		uuids = append(uuids, uuid)
	}
	return uuids, len(uuids) > 0
}

// uuidRegexes are the GPUs that the lists of GPUs and of MIG instances select. MIG instances given as regular
// expressions do not say which GPU they are on, so they select all.
func (s Scope) uuidRegexes() []string {
	var regexes []string
	for _, value := range s.GPUs {
		if text, isRegex := pattern(value); isRegex {
			regexes = append(regexes, "(?:"+text+")")
		} else {
			regexes = append(regexes, uuidRegex(value))
		}
	}
	if len(regexes) > 0 {
		return regexes
	}
	for _, value := range s.MIGs {
		uuid, _, isExact := exactMIG(value)
		if !isExact {
			return nil
		}
		regexes = append(regexes, uuidRegex(uuid))
	}
	return regexes
}

// uuidRegex matches a UUID as series have it: without the node that we add where it is not unique.
func uuidRegex(uuid string) string {
	uuid, _, _ = strings.Cut(uuid, catalog.NodeMark)
	return regexp.QuoteMeta(uuid)
}

// byInstanceID are the exact MIG instances of a list by their ids, because 7 of one GPU and 8 of another are not 7 and 8 of
// both; false when one is a regular expression.
func byInstanceID(migs []string) ([][]string, bool) {
	var groups [][]string
	at := map[string]int{}
	for _, value := range migs {
		_, id, isExact := exactMIG(value)
		if !isExact {
			return nil, false
		}
		group, known := at[id]
		if !known {
			group = len(groups)
			at[id], groups = group, append(groups, nil)
		}
		groups[group] = append(groups[group], value)
	}
	return groups, true
}

// migIDs are the instance ids that the list of MIG instances selects; nil when it has regular expressions.
func (s Scope) migIDs() []string {
	var ids []string
	for _, value := range s.MIGs {
		_, id, isExact := exactMIG(value)
		if !isExact {
			return nil
		}
		ids = append(ids, regexp.QuoteMeta(id))
	}
	return ids
}

func exactMIG(value string) (uuid, id string, ok bool) {
	if _, isRegex := pattern(value); isRegex {
		return "", "", false
	}
	return strings.Cut(value, "/")
}

// modelRegex matches a model under all its spellings: with or without the vendor's words, with blanks or dashes.
func modelRegex(models []string) string {
	parts := make([]string, len(models))
	for i, value := range models {
		if text, isRegex := pattern(value); isRegex {
			parts[i] = "(?:" + text + ")"
			continue
		}
		parts[i] = "(?:.*[ -])?" + strings.ReplaceAll(regexp.QuoteMeta(gpu.ShortModel(value)), " ", "[ -]")
	}
	return strings.Join(parts, "|")
}
