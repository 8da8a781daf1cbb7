package stragglers

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
	"github.com/warpwatch/warpwatch/pkg/insight/runbook"
)

//go:embed testdata/*.test
var scenarios embed.FS

func TestScenarios(t *testing.T) {
	insighttest.Run(t, scenarios, insighttest.Evals{
		// Words behind stragglers are what to write besides the verdict: basis, suspects, evidence, lost, reasons, action, shares,
		// bubble, goodput, missing. pipeline=8/32/2 is the plan: stages, microbatches, interleave.
		"stragglers": show,
	})
}

func show(s *insighttest.Scenario, args []string) ([]string, error) {
	var options Options
	for _, arg := range args {
		if plan, is := strings.CutPrefix(arg, "pipeline="); is {
			options.Pipeline = &Pipeline{}
			if n, _ := fmt.Sscanf(plan, "%d/%d/%d", &options.Pipeline.Stages, &options.Pipeline.Microbatches, &options.Pipeline.Interleave); n < 2 {
				return nil, fmt.Errorf("bad plan %q", plan)
			}
		}
	}
	if err := options.Validate(); err != nil {
		return nil, err
	}
	words := func(word string) bool { return slices.Contains(args, word) }
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, j := range Judge(Input{Devices: s.Devices, Workloads: s.Workloads}, DefaultLimits(), options) {
		add("%s %s %s %s: %s", j.Name, j.ID, j.Severity, j.Confidence, j.Text)
		if words("basis") {
			add("by %s; %d ranks, %d devices, %d nodes, %s GPUs", j.Basis, len(j.Ranks), len(j.Devices), j.Nodes, number3(j.GPUs))
		}
		for _, r := range j.Reasons {
			if words("reasons") {
				add("%s %s: %s", r.ID, r.Severity, r.Text)
			}
			if words("action") {
				add("%s: %s", r.Action.Who, r.Action.Text)
			}
		}
		for _, x := range j.Suspects {
			if words("suspects") {
				device := "?"
				if x.Device >= 0 {
					device = s.Devices.Subjects[x.Device].UUID
				}
				until := ""
				if x.Until != 0 {
					until = " until " + s.Offset(x.Until)
				}
				add("%s rank %s gpu %s on %s, %d × %.2f, score %.2f, since %s%s", x.Kind, x.Rank, device, x.Node, x.Members, x.Ratio, x.Score, s.Offset(x.Since), until)
			}
			for _, e := range x.Evidence {
				if words("evidence") {
					add("%s", e.Text)
				}
			}
		}
		if words("lost") {
			add("lost %s GPU hours: %s", number3(j.LostGPUHours), j.LostAssumed)
		}
		if words("shares") {
			add("exchange %s, data %s, checkpoint %s", number3(j.Exchange.Value), number3(j.Data.Value), number3(j.Checkpoint.Value))
			for _, x := range []Share{j.Exchange, j.Data, j.Checkpoint} {
				add("%s %s", x.Text, strings.Join(x.Missing, " "))
			}
		}
		if words("bubble") {
			add("bubble %s, %s: %s %s", number3(j.Bubble.Planned), number3(j.Bubble.Measured), j.Bubble.Text, strings.Join(j.Bubble.Missing, " "))
		}
		if words("goodput") {
			add("goodput %s: %s %s", number3(j.Goodput.Ratio), j.Goodput.Text, strings.Join(j.Goodput.Missing, " "))
		}
		if words("missing") {
			add("missing %s", strings.Join(j.Missing, " "))
		}
	}
	return lines, nil
}

func number3(v *float64) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprintf("%.3g", *v)
}

func TestLimitsSayWhatIsWrong(t *testing.T) {
	require.NoError(t, DefaultLimits().Validate())
	l := DefaultLimits()
	l.StepRatio, l.MostSuspects = 1, 0.6
	require.EqualError(t, l.Validate(), "mostSuspects: 0.6 must be from 0 to 0.5\nstepRatio: 1 must be from 1.001 to 1000")
	require.EqualError(t, Options{Pipeline: &Pipeline{Stages: 0, Microbatches: -1, Interleave: -1}}.Validate(),
		"pipeline.stages: 0 must be from 1 to 1000000\npipeline.microbatches: -1 must be from 1 to 1000000\n"+
			"pipeline.interleave: -1 must be from 0 to 1000000")

	l, err := Options{Limits: json.RawMessage(`{"stepRatio": 1.2}`)}.Resolve(DefaultLimits())
	require.NoError(t, err)
	assert.InDelta(t, 1.2, l.StepRatio, 0)
	assert.InDelta(t, 3.5, l.RobustZ, 0, "what was not given stays")
	for part, want := range map[string]string{`{"score": 2}`: "limits: score: 2 must be from 0 to 1", `{"scare": 1}`: `limits: json: unknown field "scare"`} {
		_, err = Options{Limits: json.RawMessage(part)}.Resolve(DefaultLimits())
		require.EqualError(t, err, want)
	}
}

func TestFieldsAreOfTheCatalogue(t *testing.T) {
	insighttest.FieldsAreKnown(t, Fields(), WorkloadFields())
}

func TestReasonsHaveRunbooks(t *testing.T) {
	for _, id := range []string{Straggler, Past, Uneven, Slowed, LowClock, NoPart, DataBound, Exchange, Writing, Goodless} {
		_, known := runbook.Lookup(runbookOf(id))
		assert.True(t, known, id)
	}
}

func TestPodsOfAJob(t *testing.T) {
	for pod, base := range map[string]string{
		"train-0": "train", "train-worker-3": "train", "train-master-0": "train", "train-0-x7k2p": "train", "job-a-1-3": "job-a",
		"web-7d9f8b6c5-x7k2p": "web-7d9f8b6c5-x7k2p", "train": "train", "0": "0", "-0": "-0", "": "", "gpt-4": "gpt",
	} {
		assert.Equal(t, base, podBase(pod), pod)
	}
}

func TestWithoutAnything(t *testing.T) {
	assert.Empty(t, Judge(Input{}, DefaultLimits(), Options{}))
	grid := insight.NewGrid(insighttest.Start, insighttest.Start, time.Minute, []insight.Workload{{Job: "j"}})
	assert.Empty(t, Judge(Input{Workloads: grid}, DefaultLimits(), Options{}))
}
