package rules

import (
	"bytes"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Format is for whom rules are written.
type Format string

// The formats.
const (
	Prometheus     Format = "prometheus"     // a file of rules, also for Thanos, Mimir and VictoriaMetrics
	PrometheusRule Format = "PrometheusRule" // a resource of the Prometheus operator
	GrafanaAlerts  Format = "grafana"        // provisioning of Grafana; alerts only, on rules that Prometheus records
)

// Formats lists them.
func Formats() []Format { return []Format{Prometheus, PrometheusRule, GrafanaAlerts} }

type ruleFile struct {
	Groups []Group `yaml:"groups"`
}

type ruleResource struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   map[string]string `yaml:"metadata"`
	Spec       ruleFile          `yaml:"spec"`
}

// Write writes groups in a format, below a head of comments. An error says what cannot be written so.
func Write(w io.Writer, groups []Group, format Format, head string) error {
	var document any
	switch format {
	case Prometheus:
		document = ruleFile{groups}
	case PrometheusRule:
		document = ruleResource{
			APIVersion: "monitoring.coreos.com/v1", Kind: "PrometheusRule", Metadata: map[string]string{"name": "warpwatch"}, Spec: ruleFile{groups},
		}
	case GrafanaAlerts:
		alerts := filter(groups, func(r Rule) bool { return r.Alert != "" })
		if len(alerts) == 0 {
			return fmt.Errorf("Grafana is given alerts, and there are none of this kind; what is recorded is for Prometheus")
		}
		document = Grafana(alerts)
	default:
		return fmt.Errorf("the format %q is not known", format)
	}
	var text bytes.Buffer
	text.WriteString(head)
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write rules: %w", err)
	}
	if _, err := text.WriteTo(w); err != nil {
		return fmt.Errorf("write rules: %w", err)
	}
	return nil
}
