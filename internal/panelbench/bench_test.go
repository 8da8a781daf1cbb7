package panelbench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// measured is what the script in the browser prints.
type measured struct {
	OursMs            float64 `json:"oursMs"`
	RivalMs           float64 `json:"rivalMs"`
	OursScriptMs      float64 `json:"oursScriptMs"`
	RivalScriptMs     float64 `json:"rivalScriptMs"`
	SustainedScriptMs float64 `json:"sustainedScriptMs"`
	FramesPerSecond   float64 `json:"framesPerSecond"`
	HeapBefore        float64 `json:"heapBefore"`
	HeapAfter         float64 `json:"heapAfter"`
}

// BenchmarkFleetPanel draws 100,000 cells of which every value changes with each frame, as the panel does and with a
// rectangle for each cell. Times of scripts are those of one frame; drawn is until the pixels can be read.
func BenchmarkFleetPanel(b *testing.B) {
	if missing := whatIsMissing(); missing != "" {
		b.Skip(missing)
	}
	var m measured
	cmd := exec.CommandContext(b.Context(), "node", "src/panel/bench/run.mjs", "60")
	cmd.Dir = "../.."
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %v: %s", cmd.Args, err, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), &m); err != nil {
		b.Fatalf("%s: %v", stdout.String(), err)
	}
	report := func(name string, values map[string]float64) {
		b.Run(name, func(b *testing.B) {
			for unit, value := range values {
				b.ReportMetric(value, unit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	report("ours", map[string]float64{
		"script-ms": m.OursScriptMs, "sustained-ms": m.SustainedScriptMs, "drawn-ms": m.OursMs, "heap-growth": m.HeapAfter / m.HeapBefore,
		"frames/s": m.FramesPerSecond,
	})
	report("fillRect", map[string]float64{"script-ms": m.RivalScriptMs, "drawn-ms": m.RivalMs})
}

// whatIsMissing says what has to be installed before a browser can be measured; "" when nothing has.
func whatIsMissing() string {
	if _, err := exec.LookPath("node"); err != nil {
		return "the fleet panel is measured in a browser that Node.js starts: install Node.js 20 or newer"
	}
	if _, err := os.Stat("../../node_modules/@playwright/test"); err != nil {
		return "the fleet panel is measured in a browser with the front end's packages: run npm ci"
	}
	if named := cmp.Or(os.Getenv("CHROMIUM_PATH"), os.Getenv("CHROMIUM")); named != "" {
		if _, err := os.Stat(named); err != nil {
			return "the fleet panel is measured in Chromium, and there is none at " + named + ": change CHROMIUM_PATH"
		}
		return ""
	}
	for _, path := range []string{"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"} {
		if _, err := os.Stat(path); err == nil {
			return ""
		}
	}
	return "the fleet panel is measured in Chromium: install Debian's package chromium, or name a browser with CHROMIUM_PATH"
}
