package rules

import "strings"

// GrafanaFile is what Grafana is provisioned with.
type GrafanaFile struct {
	APIVersion int            `yaml:"apiVersion"`
	Groups     []GrafanaGroup `yaml:"groups"`
}

// GrafanaGroup are rules in a folder.
type GrafanaGroup struct {
	Org      int           `yaml:"orgId"`
	Name     string        `yaml:"name"`
	Folder   string        `yaml:"folder"`
	Interval string        `yaml:"interval"`
	Rules    []GrafanaRule `yaml:"rules"`
}

// GrafanaRule is one alert rule.
type GrafanaRule struct {
	UID          string            `yaml:"uid"`
	Title        string            `yaml:"title"`
	Condition    string            `yaml:"condition"`
	Data         []GrafanaQuery    `yaml:"data"`
	NoDataState  string            `yaml:"noDataState"`
	ExecErrState string            `yaml:"execErrState"`
	For          string            `yaml:"for"`
	Annotations  map[string]string `yaml:"annotations"`
	Labels       map[string]string `yaml:"labels"`
}

// GrafanaQuery is a step of a rule: a query, or an expression over another step.
type GrafanaQuery struct {
	Ref        string         `yaml:"refId"`
	Datasource string         `yaml:"datasourceUid"`
	Range      map[string]int `yaml:"relativeTimeRange"`
	Model      map[string]any `yaml:"model"`
}

// Grafana are alert rules of Prometheus as Grafana's: an alert for each series that the expression leaves, whatever its value. A $ is
// written twice, because Grafana replaces variables of its environment in such files.
func Grafana(groups []Group) GrafanaFile {
	out := GrafanaFile{APIVersion: 1}
	seen := map[string]bool{}
	for _, g := range groups {
		into := GrafanaGroup{Org: 1, Name: g.Name, Folder: "GPU health", Interval: g.Interval}
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			if r.Kind() == Efficiency {
				into.Folder = "GPU efficiency"
			}
			uid, title := "warpwatch-"+strings.ToLower(r.Alert), r.Alert
			if seen[uid] {
				uid, title = uid+"-"+r.Labels["severity"], title+" ("+r.Labels["severity"]+")"
			}
			seen[uid] = true
			into.Rules = append(into.Rules, GrafanaRule{
				UID: uid, Title: title, Condition: "C", NoDataState: "OK", ExecErrState: "Error", For: r.For, Labels: r.Labels,
				Annotations: grafanaTexts(r.Annotations), Data: grafanaSteps(r.Expr),
			})
		}
		if len(into.Rules) > 0 {
			out.Groups = append(out.Groups, into)
		}
	}
	return out
}

func grafanaTexts(annotations map[string]string) map[string]string {
	texts := map[string]string{}
	for name, text := range annotations {
		texts[name] = strings.ReplaceAll(strings.ReplaceAll(text, "$value", "$values.B.Value"), "$", "$$")
	}
	return texts
}

// belowAll is less than any value of an alert's expression.
const belowAll = -1000000000

func grafanaSteps(expr string) []GrafanaQuery {
	now := map[string]int{"from": 0, "to": 0}
	return []GrafanaQuery{
		{Ref: "A", Datasource: "warpwatch", Range: map[string]int{"from": 300, "to": 0}, Model: map[string]any{
			"refId": "A", "queryType": "promql", "expr": strings.ReplaceAll(expr, "$", "$$"), "instant": true,
		}},
		{Ref: "B", Datasource: "__expr__", Range: now, Model: map[string]any{
			"refId": "B", "type": "reduce", "expression": "A", "reducer": "last", "settings": map[string]any{"mode": "dropNN"},
		}},
		{Ref: "C", Datasource: "__expr__", Range: now, Model: map[string]any{
			"refId": "C", "type": "threshold", "expression": "B",
			"conditions": []any{map[string]any{"evaluator": map[string]any{"type": "gt", "params": []any{belowAll}}}},
		}},
	}
}
