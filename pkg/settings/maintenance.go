package settings

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Maintenance is a time in which nobody is to be bothered with some nodes or GPUs.
type Maintenance struct {
	Cluster string // "" for every cluster
	Node    string // "" for every node. A regular expression between slashes
	GPU     string // the UUID; "" for all of the node
	From    time.Time
	Until   time.Time
	By, Why string

	nodes *regexp.Regexp
}

// Covers reports whether a GPU, or with an empty UUID a whole node, is in maintenance at a time.
func (m Maintenance) Covers(cluster, node, uuid string, at time.Time) bool {
	switch {
	case at.Before(m.From), !at.Before(m.Until), m.Cluster != "" && m.Cluster != cluster, m.GPU != "" && m.GPU != uuid:
		return false
	case m.nodes != nil:
		return m.nodes.MatchString(node)
	}
	return m.Node == "" || m.Node == node
}

type storedMaintenance struct {
	Cluster string `json:"cluster"`
	Node    string `json:"node"`
	GPU     string `json:"gpu"`
	From    string `json:"from"`
	Until   string `json:"until"`
	By      string `json:"by"`
	Why     string `json:"why"`
}

func (in storedMaintenance) read(key string, problems *[]error) Maintenance {
	m := Maintenance{
		Cluster: strings.TrimSpace(in.Cluster), Node: strings.TrimSpace(in.Node), GPU: strings.TrimSpace(in.GPU),
		By: strings.TrimSpace(in.By), Why: strings.TrimSpace(in.Why),
	}
	for _, t := range []struct {
		key, text string
		into      *time.Time
	}{{"from", in.From, &m.From}, {"until", in.Until, &m.Until}} {
		at, err := time.Parse(time.RFC3339, strings.TrimSpace(t.text))
		if err != nil {
			*problems = append(*problems, fmt.Errorf("%s.%s: %q is no time: write it as 2026-01-05T08:00:00Z", key, t.key, t.text))
		}
		*t.into = at
	}
	var err error
	if m.nodes, err = betweenSlashes(m.Node); err != nil {
		*problems = append(*problems, fmt.Errorf("%s.node: %q is not a regular expression: %w", key, m.Node, err))
	}
	return m
}

// maxMaintenance bounds the list, which somebody writes.
const maxMaintenance = 500

func (v *validator) maintenance(list []Maintenance) {
	v.atMost("insight.maintenance", len(list), maxMaintenance)
	for i, m := range list {
		key := fmt.Sprintf("insight.maintenance[%d]", i)
		if m.Cluster+m.Node+m.GPU == "" {
			v.add(key, "is of everything: write a cluster, a node or a gpu")
		}
		if !m.From.IsZero() && !m.Until.IsZero() && !m.Until.After(m.From) {
			v.add(key+".until", "is not after from")
		}
	}
}
