package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of pasted files.
const (
	maxFile       = 2 << 20 // bytes of text
	maxFileAgents = 25_000  // over one file
	maxProblems   = 5       // told of one file
)

// targetGroup is an entry of a file for Prometheus's file_sd_configs.
type targetGroup struct {
	Targets []string          `yaml:"targets"`
	Labels  map[string]string `yaml:"labels"`
}

// readFile reads what a file of file_sd_configs holds: its text, in YAML or JSON, or the list itself. Of the labels
// cluster, node and __scheme__ count; what else Prometheus puts on series is no matter here. cluster is that of targets
// which have no such label.
func readFile(key string, raw json.RawMessage, cluster string, problems *[]error) []StaticAgent {
	v := &validator{}
	defer func() {
		if more := len(v.problems) - maxProblems; more > 0 {
			v.problems = append(v.problems[:maxProblems], fmt.Errorf("%s: %d more problems like these: correct the file", key, more))
		}
		*problems = append(*problems, v.problems...)
	}()
	text := bytes.TrimSpace(raw)
	var quoted string
	if json.Unmarshal(text, &quoted) == nil {
		text = bytes.TrimSpace([]byte(quoted))
	}
	const remedy = "paste a file of Prometheus's file_sd_configs, such as [{\"targets\": [\"node-1:" + DefaultAgentPort + "\"], \"labels\": {\"cluster\": \"north\"}}]"
	switch {
	case len(text) == 0 || string(text) == "null":
		v.add(key, "is empty: "+remedy)
		return nil
	case len(text) > maxFile:
		v.add(key, "is %d KiB long: keep to %d KiB, and spread agents over several files", len(text)>>10, maxFile>>10)
		return nil
	}
	var groups []targetGroup
	decoder := yaml.NewDecoder(bytes.NewReader(text)) // JSON is YAML
	decoder.KnownFields(true)
	if err := decoder.Decode(&groups); err != nil {
		v.add(key, "cannot be read (%s): "+remedy, yamlProblem(err))
		return nil
	}
	var agents []StaticAgent
	for i, g := range groups {
		at := fmt.Sprintf("%s[%d]", key, i)
		agent := StaticAgent{Cluster: cluster, Node: strings.TrimSpace(g.Labels["node"]), Scheme: strings.TrimSpace(g.Labels["__scheme__"])}
		if own := strings.TrimSpace(g.Labels["cluster"]); own != "" {
			agent.Cluster = own
		}
		if agent.Scheme != "" && agent.Scheme != "http" && agent.Scheme != "https" {
			v.add(at+".labels.__scheme__", "%q is not a scheme: write http or https", agent.Scheme)
		}
		if agent.Node != "" && len(g.Targets) > 1 {
			v.add(at+".labels.node", "%q is the name of one node, but there are %d targets: give each an entry of its own, or leave the label away, since agents know their node", agent.Node, len(g.Targets))
		}
		if len(g.Targets) == 0 {
			v.add(at+".targets", "is empty: list agents as host:port, or remove the entry")
		}
		for j, target := range g.Targets {
			agent.Address = withPort(strings.TrimSpace(target))
			v.address(fmt.Sprintf("%s.targets[%d]", at, j), agent.Address)
			if agents = append(agents, agent); len(agents) > maxFileAgents {
				v.add(key, "lists more than %d agents: spread them over several data sources", maxFileAgents)
				return nil
			}
		}
	}
	if len(groups) == 0 {
		v.add(key, "lists no targets: "+remedy)
	}
	return agents
}

// yamlProblem is the parser's first problem without the names of Go's types.
func yamlProblem(err error) string {
	text := err.Error()
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok && len(wrong.Errors) > 0 {
		text = wrong.Errors[0]
	}
	text = strings.TrimPrefix(text, "yaml: ")
	for from, to := range map[string]string{
		" into []settings.targetGroup": " where a list of entries belongs", " into settings.targetGroup": " where an entry belongs",
		" into []string": " where a list belongs", " into map[string]string": " where labels belong", " into string": " where text belongs",
		" not found in type settings.targetGroup": " is not known: an entry has targets and labels",
	} {
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}
