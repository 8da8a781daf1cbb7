package insighttest

import (
	"embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

//go:embed testdata/*.test
var scripts embed.FS

func evals() Evals { return Evals{"show": show} }

func TestLanguage(t *testing.T) { Run(t, scripts, evals()) }

// show writes a scenario: its subjects with the values of a few fields.
func show(s *Scenario, args []string) ([]string, error) {
	if len(args) > 0 && args[0] == "fail" {
		return nil, errors.New("it fails as asked")
	}
	var lines []string
	if len(args) > 0 {
		lines = append(lines, "args "+strings.Join(args, "|"))
	}
	for i, d := range s.Devices.Subjects {
		if len(args) > 0 {
			lines = append(lines, Name(d))
			continue
		}
		owners := make([]string, 0, len(d.Owners))
		for _, o := range d.Owners {
			owners = append(owners, o.Name())
		}
		mig := ""
		if d.MIGEnabled {
			mig = "mig"
		}
		lines = append(lines, strings.Join([]string{Name(d), gpu.ShortModel(d.Model), string(d.Class), mig, strings.Join(owners, ",")}, " "))
		for _, f := range []insight.Field{
			{Metric: "gpu_sm_active_ratio"}, {Metric: "gpu_power_watts", Of: insight.Max}, {Metric: "gpu_memory_used_bytes"},
		} {
			lines = append(lines, written(f, s.Devices.Values(f, i))...)
		}
	}
	for i, w := range s.Workloads.Subjects {
		lines = append(lines, w.Job+"/"+w.Rank)
		f := insight.Field{Metric: "train_step_seconds"}
		lines = append(lines, written(f, s.Workloads.Values(f, i))...)
	}
	for _, e := range s.Events {
		at, uuid := s.Offset(e.Time.UnixMilli()), e.Device.UUID
		if !e.Until.IsZero() {
			at += "-" + s.Offset(e.Until.UnixMilli())
		}
		if uuid == "" {
			uuid = "-"
		}
		lines = append(lines, fmt.Sprint(at, " ", e.Device.Node, " ", uuid, " ", e.Kind, " ", e.XID, " ", e.Origin, " ", e.Detail))
	}
	return lines, nil
}

func written(f insight.Field, values []float64) []string {
	if values == nil {
		return nil
	}
	name := f.Metric
	if f.Of != insight.Mean {
		name += ":" + string(f.Of)
	}
	for _, v := range values {
		if math.IsNaN(v) {
			name += " _"
		} else {
			name += fmt.Sprintf(" %.6g", v)
		}
	}
	return []string{name}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]string{
		"1":             "[1]",
		"1 2 3":         "[1 2 3]",
		"1x2":           "[1 1 1]",
		"-1+0.5x2":      "[-1 -0.5 0]",
		"1e3-1e2x1":     "[1000 900]",
		"_":             "[NaN]",
		"_x2":           "[NaN NaN]",
		"1 _x0 2":       "[1 NaN 2]",
		"(1 2)x2 3":     "[1 2 1 2 3]",
		"64Gi":          "[6.8719476736e+10]",
		"1G+1Mx1":       "[1e+09 1.001e+09]",
		"  7x0   8  ":   "[7 8]",
		"":              "[]",
		"Inf":           "[+Inf]",
		"1e-3+0.001x1 ": "[0.001 0.002]",
	} {
		got, err := parseValues(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, fmt.Sprint(got), text)
	}
	for text, want := range map[string]string{
		"x":                            "number",
		"1x":                           "number of times",
		"1x-1":                         "number of times",
		"1x99999999":                   "number of times",
		"NaN":                          "absent",
		"1+x3":                         "number",
		"(1 2":                         "parenthesis",
		"(1 2)":                        "followed by x",
		"(1 2)y3":                      "followed by x",
		"(1 2)x999999":                 "followed by x",
		strings.Repeat("1x199999 ", 2): "more than",
	} {
		_, err := parseValues(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "14d": 14 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "0m": 0} {
		got, err := parseDuration(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "5", "-1m", "xd", "99999999d", "1y"} {
		_, err := parseDuration(text)
		require.ErrorContains(t, err, "is not a duration", text)
	}
	s := Scenario{Start: Start}
	for d, want := range map[time.Duration]string{0: "0m", time.Hour: "1h", 90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 20 * time.Second: "20s", 61 * time.Second: "1m1s"} {
		assert.Equal(t, want, s.Offset(Start.Add(d).UnixMilli()))
	}
}

func TestMistakesInScripts(t *testing.T) {
	const head = "load 1m\n  {node=\"n1\",uuid=\"GPU-1\",model=\"T4\"}\n"
	for script, want := range map[string]string{
		"  x":                                "1: an indented line",
		"lode 1m":                            "none of load, eval and clear",
		"eval show":                          "nothing has been loaded",
		"load":                               "write load STEP",
		"load 0s":                            "a millisecond or more",
		"load 1m from today":                 "not a time",
		"load 1m\nload 2m":                   "2: load: step and start differ",
		"load 1m\n  gpu_sm_active_ratio 1":   "has no labels",
		"load 1m\n  {node=\"n\"}":            "node and uuid",
		"load 1m\n  {node=n}":                "double quotes",
		"load 1m\n  {node=\"n\"":             "expected name=",
		"load 1m\n  {node=\"n\",node=\"n\"}": "there twice",
		head + "  {node=\"n1\",uuid=\"GPU-1\"} 3":                                            "of no metric",
		head + "  {node=\"n1\",uuid=\"GPU-1\",model=\"A100\"}":                               `model of n1 GPU-1 is "A100" here and "T4" before`,
		head + "  {node=\"n1\",uuid=\"GPU-1\",hostname=\"x\"}":                               "no label hostname",
		head + "  {node=\"n1\",uuid=\"GPU-1\",class=\"x\"}":                                  "training or inference",
		head + "  {node=\"n1\",uuid=\"GPU-1\",index=\"x\"}":                                  "index",
		head + "  {node=\"n1\",uuid=\"GPU-[3-1]\"}":                                          "must be [first-last]",
		head + "  {node=\"n[1-2]i\",uuid=\"GPU-[1-3]i\"}":                                    "as long as",
		head + "  {node=\"n[1-999]\",uuid=\"GPU-[1-999]\"}":                                  "more than",
		head + "  gpu_sm_active{node=\"n1\",uuid=\"GPU-1\"} 1":                               "is it gpu_sm_active_ratio?",
		head + "  gpu_sm_active_ratio{node=\"n1\",uuid=\"GPU-1\"}:p99 1":                     "max, min, rise, anybits or total",
		head + "  gpu_sm_active_ratio{node=\"n1\",uuid=\"GPU-1\"}":                           "no values",
		head + "  gpu_sm_active_ratio{node=\"n1\",uuid=\"GPU-1\"} y":                         "not a number",
		head + strings.Repeat("  gpu_sm_active_ratio{node=\"n1\",uuid=\"GPU-1\"} 1\n", 2):    "4: load: gpu_sm_active_ratio is there twice",
		head + "  train_step_seconds{hostname=\"x\"} 1":                                      "a workload has no label hostname",
		head + "  train_step_seconds{} 1":                                                    "at least one label",
		head + "  event 1m n1":                                                               "write event TIME",
		head + "  event 1x n1 GPU-1 lost":                                                    "not a duration",
		head + "  event 1m-x n1 GPU-1 lost":                                                  "not a duration",
		head + "  event 1m n1 GPU-1 xid":                                                     "needs its code",
		head + "  event 1m n1 GPU-2 lost":                                                    "no line before names",
		head + "  event 1m n1 GPU-1 lost a b":                                                "is too much",
		head + "  event 1m n1 GPU-1 lost {x=\"y\"}":                                          "neither cluster nor origin",
		head + "  event 1m n1 GPU-1 lost \"a":                                                "no closing quote",
		head + "eval hide":                                                                   "not one that this package can judge",
		"load 1m\n  gpu_sm_active_ratio{node=\"n\",uuid=\"GPU-[1-5000]\"} 1x9999\neval show": "more than 20000000 values",
		head + "eval": "not one that this package can judge",
	} {
		_, err := Parse(script, evals())
		require.ErrorContains(t, err, want, script)
	}
}

func TestFailuresShowTheDifference(t *testing.T) {
	script := "load 1m\n  {node=\"n1\",uuid=\"GPU-[1-4]\"}\neval show names\n  args names\n  n1 GPU-1\n  n1 GPU-9\n  n1   GPU-3\n  ~PU-4\n  more\n"
	checks, err := Parse(script, evals())
	require.NoError(t, err)
	require.Len(t, checks, 1)
	err = checks[0].Verify()
	require.Error(t, err)
	assert.Equal(t, `3: eval show differs (- expected, + answered):
    args names
    n1 GPU-1
  - n1 GPU-9
  + n1 GPU-2
    n1 GPU-3
    n1 GPU-4
  - more`, err.Error())

	for want, text := range map[string]string{"fail x": "expected an error", "fail": "expected an error"} {
		checks[0].Want = []string{want}
		require.ErrorContains(t, checks[0].Verify(), text)
	}
	checks[0].Args, checks[0].Want = []string{"fail"}, []string{"fail for another reason"}
	require.ErrorContains(t, checks[0].Verify(), "it fails as asked")
	checks[0].Want = []string{"args"}
	require.ErrorContains(t, checks[0].Verify(), "it fails as asked")
	checks[0].Want = []string{"fail as asked"}
	require.NoError(t, checks[0].Verify())
	checks[0].Args, checks[0].Want = []string{"names"}, []string{"...", "n1 GPU-4"}
	require.NoError(t, checks[0].Verify())
	checks[0].Want = nil
	require.ErrorContains(t, checks[0].Verify(), "+ n1 GPU-1")
}

func TestEachEvalHasItsOwnGrid(t *testing.T) {
	script := "load 1m\n  gpu_sm_active_ratio{node=\"n1\",uuid=\"GPU-1\"} 1 2\neval show\neval show"
	checks, err := Parse(script, evals())
	require.NoError(t, err)
	f := insight.Field{Metric: "gpu_sm_active_ratio"}
	checks[0].Scenario.Devices.Values(f, 0)[0] = 7
	assert.InDelta(t, 1, checks[1].Scenario.Devices.Values(f, 0)[0], 0)
	assert.Equal(t, 2*time.Minute, checks[0].Scenario.End.Sub(checks[0].Scenario.Start))
}

func FuzzParse(f *testing.F) {
	text, err := scripts.ReadFile("testdata/language.test")
	require.NoError(f, err)
	f.Add(string(text))
	f.Add("load 1m\n  gpu_sm_active_ratio{node=\"n1\",uuid=\"GPU-[1-2]i\"}:max (1 _)x3 -1e3+2x2")
	f.Add("load 1m\n  event 1m-2m n1 - xid 79 \"x\" {origin=\"y\"}\neval show \"")
	f.Fuzz(func(t *testing.T, script string) {
		if len(script) > 2000 {
			return
		}
		checks, err := Parse(script, evals())
		if err != nil {
			require.Regexp(t, `^\d+: `, err.Error())
			return
		}
		for _, c := range checks {
			_ = c.Verify()
		}
	})
}
