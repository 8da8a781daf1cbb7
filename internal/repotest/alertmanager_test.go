package repotest

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

type alertRoute struct {
	Receiver       string       `yaml:"receiver"`
	Matchers       []string     `yaml:"matchers"`
	GroupBy        []string     `yaml:"group_by"`
	GroupWait      string       `yaml:"group_wait"`
	GroupInterval  string       `yaml:"group_interval"`
	RepeatInterval string       `yaml:"repeat_interval"`
	Routes         []alertRoute `yaml:"routes"`
}

type inhibitRule struct {
	Source []string `yaml:"source_matchers"`
	Target []string `yaml:"target_matchers"`
	Equal  []string `yaml:"equal"`
}

type alertmanagerConfig struct {
	Route     alertRoute    `yaml:"route"`
	Inhibit   []inhibitRule `yaml:"inhibit_rules"`
	Receivers []struct {
		Name     string `yaml:"name"`
		Webhooks []struct {
			URLFile      string `yaml:"url_file"`
			SendResolved *bool  `yaml:"send_resolved"`
		} `yaml:"webhook_configs"`
	} `yaml:"receivers"`
}

var matcherForm = regexp.MustCompile(`^([a-z_]+)(=~|!~|!=|=)"([^"]*)"$`)

// matches is whether labels meet all matchers, as Alertmanager judges it.
func matches(t *testing.T, matchers []string, labels map[string]string) bool {
	t.Helper()
	for _, m := range matchers {
		part := matcherForm.FindStringSubmatch(m)
		require.NotNil(t, part, "matcher %q", m)
		met := labels[part[1]] == part[3]
		if strings.HasSuffix(part[2], "~") {
			met = regexp.MustCompile("^(?:" + part[3] + ")$").MatchString(labels[part[1]])
		}
		if met == strings.HasPrefix(part[2], "!") {
			return false
		}
	}
	return true
}

func alertmanager(t *testing.T) alertmanagerConfig {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(read(t, "provisioning/alertmanager/alertmanager.yml")))
	decoder.KnownFields(true)
	var c alertmanagerConfig
	require.NoError(t, decoder.Decode(&c))
	return c
}

func (c alertmanagerConfig) receiver(t *testing.T, labels map[string]string) string {
	t.Helper()
	for _, r := range c.Route.Routes {
		if matches(t, r.Matchers, labels) {
			return r.Receiver
		}
	}
	return c.Route.Receiver
}

func (c alertmanagerConfig) inhibited(t *testing.T, source, target map[string]string) bool {
	t.Helper()
	for _, r := range c.Inhibit {
		same := matches(t, r.Source, source) && matches(t, r.Target, target)
		for _, label := range r.Equal {
			same = same && source[label] == target[label]
		}
		if same {
			return true
		}
	}
	return false
}

func TestAlertmanagerSendsEachAlertWhereItBelongs(t *testing.T) {
	c := alertmanager(t)
	known := map[string]bool{}
	for _, r := range c.Receivers {
		known[r.Name] = true
		for _, w := range r.Webhooks {
			assert.NotEmpty(t, w.URLFile, "%s: what may be a secret is read from a file", r.Name)
		}
	}
	for _, r := range append(c.Route.Routes, c.Route) {
		assert.True(t, known[r.Receiver], r.Receiver)
		for _, d := range []string{r.GroupWait, r.GroupInterval, r.RepeatInterval} {
			if d != "" {
				_, err := model.ParseDuration(d)
				require.NoError(t, err)
			}
		}
	}
	for _, r := range alertRules(t) {
		want := "ticket"
		switch {
		case r.Labels["axis"] == "efficiency", r.Labels["severity"] == "info":
			want = "digest"
		case r.Labels["severity"] == "critical":
			want = "page"
		}
		assert.Equal(t, want, c.receiver(t, r.Labels), r.Alert)
		shadow := map[string]string{"mode": "shadow", "axis": r.Labels["axis"], "severity": r.Labels["severity"]}
		assert.Equal(t, "nobody", c.receiver(t, shadow), r.Alert)
	}
}

func TestAlertsThatFollowFromOthersAreInhibited(t *testing.T) {
	c := alertmanager(t)
	on := func(name string, more ...string) map[string]string {
		labels := map[string]string{"alertname": name, "cluster": "c", "node": "n1", "gpu_uuid": "GPU-a"}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		return labels
	}
	for _, pair := range []struct {
		source, target map[string]string
		want           bool
	}{
		{on("GpuXidCritical", "xid", "79"), on("GpuAllocatedIdle"), true},
		{on("GpuXidCritical", "xid", "79"), on("GpuNvlinkErrors"), true},
		{on("GpuXidCritical", "xid", "79"), on("GpuAllocatedIdle", "gpu_uuid", "GPU-b"), false},
		{on("GpuXidCritical", "xid", "48"), on("GpuTempMarginLow"), false},
		{on("GpuMissing", "gpu_uuid", ""), on("GpuMetricsStale"), true},
		{on("GpuMissing", "gpu_uuid", ""), on("GpuMetricsStale", "node", "n2"), false},
		{on("GpuMissing", "gpu_uuid", ""), on("GpuXidCritical", "xid", "79"), false},
		{on("GpuExporterDown", "gpu_uuid", ""), on("GpuMissing", "gpu_uuid", ""), true},
		{on("GpuExporterDown", "gpu_uuid", ""), on("GpuExporterDown", "gpu_uuid", ""), false},
		{on("GpuExporterDown", "node", ""), on("GpuMissing", "node", ""), false},
		{on("NodeMaintenance"), on("GpuRowRemapPending"), true},
		{on("NodeDown", "gpu_uuid", ""), on("GpuExporterDown", "gpu_uuid", ""), true},
		{on("KubeNodeNotReady", "gpu_uuid", ""), on("GpuMissing", "gpu_uuid", ""), true},
		{on("GpuPowerBrake", "axis", "health", "severity", "critical"), on("GpuAllocatedIdle", "axis", "efficiency"), true},
		{on("GpuPowerBrake", "axis", "health", "severity", "critical"), on("GpuAllocatedIdle", "axis", "efficiency", "gpu_uuid", "GPU-b"), false},
		{on("GpuPcieReplayRate", "axis", "health", "severity", "warning"), on("GpuAllocatedIdle", "axis", "efficiency"), false},
		{on("GpuUncorrectableEcc"), on("GpuCorrectableEccRate"), true},
		{on("GpuCorrectableEccRate"), on("GpuUncorrectableEcc"), false},
		{on("CoolantSupplyHigh", "rack", "r1", "node", ""), on("GpuThermalSlowdownHw", "rack", "r1"), true},
		{on("CoolantSupplyHigh", "node", ""), on("GpuThermalSlowdownHw"), false},
		{on("FabricDown", "node", ""), on("GpuNvlinkInactive"), true},
		{on("GpuMemTempHigh", "severity", "critical"), on("GpuMemTempHigh", "severity", "warning"), true},
		{on("GpuMemTempHigh", "severity", "critical"), on("GpuPcieReplayRate", "severity", "warning"), false},
	} {
		assert.Equal(t, pair.want, c.inhibited(t, pair.source, pair.target), "%v inhibits %v", pair.source, pair.target)
	}
	for _, rule := range c.Inhibit {
		for _, label := range rule.Equal {
			if label != "cluster" && label != "alertname" {
				assert.Contains(t, rule.Source, label+`=~".+"`, "an alert without %s would inhibit every alert without it", label)
			}
		}
	}
}
