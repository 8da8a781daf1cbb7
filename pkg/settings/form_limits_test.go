package settings_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/insight/anomaly"
	"github.com/warpwatch/warpwatch/pkg/insight/bottleneck"
	"github.com/warpwatch/warpwatch/pkg/insight/efficiency"
	"github.com/warpwatch/warpwatch/pkg/insight/forecast"
	"github.com/warpwatch/warpwatch/pkg/insight/health"
	"github.com/warpwatch/warpwatch/pkg/insight/memory"
	"github.com/warpwatch/warpwatch/pkg/insight/stragglers"
	"github.com/warpwatch/warpwatch/pkg/insight/topology"
)

// The settings page lists the limits of each judgement with their defaults.
func TestFormLimits(t *testing.T) {
	const file = "../../src/datasource/config/thresholds/limits.json"
	text, err := json.MarshalIndent(map[string]any{
		"bottleneck": bottleneck.DefaultLimits(), "health": health.DefaultLimits(), "efficiency": efficiency.DefaultLimits(),
		"forecast": forecast.DefaultLimits(), "anomaly": anomaly.DefaultLimits(), "stragglers": stragglers.DefaultLimits(),
		"memory": memory.DefaultLimits(), "topology": topology.DefaultLimits(),
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var old, now bytes.Buffer
	if err := json.Compact(&old, have); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&now, text); err != nil {
		t.Fatal(err)
	}
	if old.String() != now.String() {
		t.Errorf("%s is out of date: run go test ./pkg/settings -run Form -update", file)
	}
}
