package deploy

import (
	"path/filepath"
	"testing"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/common/model"

	"github.com/warpwatch/warpwatch/dashboards/rules"
)

func alertmanager(t *testing.T) *config.Config {
	t.Helper()
	c, err := config.LoadFile(filepath.Join(root, "provisioning", "alertmanager", "alertmanager.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// receivers are who is told of an alert with these labels, as `amtool config routes test` says.
func receivers(c *config.Config, labels map[string]string) (names []string) {
	set := model.LabelSet{}
	for name, value := range labels {
		set[model.LabelName(name)] = model.LabelValue(value)
	}
	for _, r := range dispatch.NewRoute(c.Route, nil).Match(set) {
		names = append(names, r.RouteOpts.Receiver)
	}
	return names
}

func TestAlertmanagerTellsWhoItConcerns(t *testing.T) {
	c := alertmanager(t)
	shipped, err := rules.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, g := range rules.Shadow(shipped) {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			if names := receivers(c, r.Labels); len(names) != 1 || names[0] != "nobody" {
				t.Errorf("%s in shadow mode is told %v", r.Alert, names)
			}
			want := "ticket"
			switch {
			case r.Labels["axis"] == "efficiency", r.Labels["severity"] == "info":
				want = "digest"
			case r.Labels["severity"] == "critical":
				want = "page"
			}
			delete(r.Labels, "mode")
			if names := receivers(c, r.Labels); len(names) != 1 || names[0] != want {
				t.Errorf("%s is told %v, want %s", r.Alert, names, want)
			}
			told[want]++
		}
	}
	if len(told) != 3 {
		t.Errorf("receivers %v", told)
	}
	for _, r := range c.Receivers {
		if r.Name == "nobody" && len(r.WebhookConfigs) > 0 {
			t.Error("nobody is somebody")
		}
	}
}
