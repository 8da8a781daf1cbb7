package query

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Unassigned selects, as a namespace, pod or job of a scope, devices that have none.
const Unassigned = "unassigned"

// Scope selects devices. Each list holds exact values, or regular expressions between slashes ("/gpu-.*/") that must
// match the whole value, as in Prometheus. An empty list selects all; a device must be selected by every list.
//
// A GPU's UUID selects its MIG instances too. Models are compared without the vendor's words and with blanks for dashes.
type Scope struct {
	Clusters   []string
	Nodes      []string
	GPUs       []string // UUIDs
	MIGs       []string // "<gpu uuid>/<gpu instance id>"
	Models     []string
	Namespaces []string
	Pods       []string
	Jobs       []string

	filters  []Filter // ad-hoc filters that the lists cannot hold
	compiled *matchers
}

type matchers struct {
	clusters, nodes, gpus, migs, models, namespaces, pods, jobs list

	conditions []condition
}

// Compile returns the scope ready for matching. The error names the list and the value that is no regular expression.
func (s Scope) Compile() (Scope, error) {
	var m matchers
	for _, l := range []struct {
		name   string
		values []string
		into   *list
	}{
		{"clusters", s.Clusters, &m.clusters}, {"nodes", s.Nodes, &m.nodes}, {"gpus", s.GPUs, &m.gpus}, {"migs", s.MIGs, &m.migs},
		{"models", s.Models, &m.models}, {"namespaces", s.Namespaces, &m.namespaces}, {"pods", s.Pods, &m.pods}, {"jobs", s.Jobs, &m.jobs},
	} {
		var err error
		if *l.into, err = compile(l.values); err != nil {
			return Scope{}, fmt.Errorf("field %q: %w", l.name, err)
		}
	}
	for _, mig := range s.MIGs {
		if _, isRegex := pattern(mig); !isRegex && !strings.Contains(mig, "/") {
			return Scope{}, fmt.Errorf(`field "migs": %q names no MIG instance; write "<GPU UUID>/<GPU instance id>", like "GPU-5e1f…/7"`, shorten(mig))
		}
	}
	var err error
	if m.conditions, err = compileFilters(s.filters); err != nil {
		return Scope{}, err
	}
	s.compiled = &m
	return s, nil
}

// matchers compiles on the fly for a scope that was not made by Parse or Compile; one that does not compile selects nothing.
func (s Scope) matchers() *matchers {
	if s.compiled != nil {
		return s.compiled
	}
	compiled, err := s.Compile()
	if err != nil {
		none := list{never: true}
		return &matchers{clusters: none}
	}
	return compiled.compiled
}

// Matches reports whether the scope selects the device, as far as the device alone tells: owners are MatchesOwner's.
func (s Scope) Matches(d gpu.Device) bool {
	m := s.matchers()
	return m.clusters.match(d.Cluster) && m.nodes.match(d.Node) && m.gpus.match(d.UUID) &&
		(m.migs.all() || d.IsMIG() && m.migs.match(MIGKey(d.Identity))) &&
		(m.models.all() || m.models.match(d.Model) || m.models.matchModel(gpu.ShortModel(d.Model))) &&
		matchDevice(m.conditions, d)
}

// MatchesNode reports whether the scope may select devices on the node.
func (s Scope) MatchesNode(cluster, node string) bool {
	m := s.matchers()
	return m.clusters.match(cluster) && m.nodes.match(node) && matchPlace(m.conditions, cluster, node)
}

// MatchesCluster reports whether the scope may select devices in the cluster.
func (s Scope) MatchesCluster(cluster string) bool {
	m := s.matchers()
	return m.clusters.match(cluster) && matchPlace(m.conditions, cluster, "")
}

// MatchesOwner reports whether the scope selects what the owner runs; each part is empty when there is none.
func (s Scope) MatchesOwner(namespace, pod, job string) bool {
	m := s.matchers()
	return m.namespaces.matchOwner(namespace) && m.pods.matchOwner(pod) && m.jobs.matchOwner(job) &&
		matchOwner(m.conditions, namespace, pod, job)
}

// ByOwner reports whether the scope selects by owner, which only history knows.
func (s Scope) ByOwner() bool {
	return len(s.Namespaces) > 0 || len(s.Pods) > 0 || len(s.Jobs) > 0 ||
		slices.ContainsFunc(s.matchers().conditions, func(c condition) bool { return c.ofOwner() })
}

// MIGKey is how scopes and variables write a MIG instance: "<gpu uuid>/<gpu instance id>".
func MIGKey(id gpu.Identity) string { return id.UUID + "/" + id.GPUInstance }

// list is a compiled list of a scope.
type list struct {
	exact   map[string]bool
	regexes []*regexp.Regexp
	never   bool
}

func compile(values []string) (list, error) {
	if len(values) == 0 {
		return list{}, nil
	}
	l := list{exact: make(map[string]bool, len(values))}
	for _, value := range values {
		text, isRegex := pattern(value)
		if !isRegex {
			l.exact[value] = true
			continue
		}
		re, err := wholly(text, value)
		if err != nil {
			return list{}, err
		}
		l.regexes = append(l.regexes, re)
	}
	return l, nil
}

// notRegex quotes no more of a long expression than people read, and of the parser's words what is wrong but not again where.
func notRegex(value string, err error) error {
	var syntaxError *syntax.Error
	if errors.As(err, &syntaxError) {
		err = &syntax.Error{Code: syntaxError.Code, Expr: shorten(syntaxError.Expr)}
	}
	return fmt.Errorf("%q is not a regular expression: %w", shorten(value), err)
}

// pattern is the text between the slashes of "/text/".
func pattern(value string) (string, bool) {
	if len(value) < 2 || value[0] != '/' || value[len(value)-1] != '/' {
		return "", false
	}
	return value[1 : len(value)-1], true
}

func (l list) all() bool { return !l.never && len(l.exact) == 0 && len(l.regexes) == 0 }

func (l list) match(value string) bool {
	if l.all() || l.exact[value] {
		return true
	}
	for _, re := range l.regexes {
		if re.MatchString(value) {
			return true
		}
	}
	return false
}

func (l list) matchModel(short string) bool {
	for value := range l.exact {
		if gpu.ShortModel(value) == short {
			return true
		}
	}
	for _, re := range l.regexes {
		if re.MatchString(short) {
			return true
		}
	}
	return false
}

func (l list) matchOwner(value string) bool {
	if value == "" && l.exact[Unassigned] {
		return true
	}
	return l.all() || value != "" && l.match(value)
}
