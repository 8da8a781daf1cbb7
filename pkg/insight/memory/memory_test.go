package memory

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
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
		// Words behind memory are what to write besides the verdict: usage, evidence, missing, batch, action, since, allocator.
		// batch=8 and static=1e9 are options, owners says that owners were looked for.
		"memory": func(s *insighttest.Scenario, args []string) ([]string, error) { return show(s, args, false) },
		"owners": func(s *insighttest.Scenario, args []string) ([]string, error) { return show(s, args, true) },
	})
}

func show(s *insighttest.Scenario, args []string, owners bool) ([]string, error) {
	in := Input{Devices: s.Devices, Workloads: s.Workloads}
	var options Options
	words := map[string]bool{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		n, _ := strconv.ParseFloat(value, 64)
		switch key {
		case "batch=", "batch":
			options.Batch = n
		case "static":
			options.StaticBytes = n * gibi
		case "owners":
			in.OwnersKnown = true
		}
		words[arg] = true
	}
	if err := options.Validate(); err != nil {
		return nil, err
	}
	result := Judge(in, DefaultLimits(), options)
	var lines []string
	if owners {
		for _, o := range result.Owners {
			lines = append(lines, fmt.Sprint(o.Owner.Name(), " ", o.ID, " ", o.Severity, " ", o.Confidence, " of ", len(o.Devices), ": ", o.Text))
			if words["usage"] {
				lines = append(lines, fmt.Sprint("used ", gib(o.UsedBytes), " of ", gib(o.UsableBytes), ", peak ", ratio(o.PeakRatio), ", least headroom ", gib(o.HeadroomBytes)))
			}
		}
		return lines, nil
	}
	for _, v := range result.Verdicts {
		lines = append(lines, fmt.Sprint(insighttest.Name(s.Devices.Subjects[v.Subject]), " ", v.ID, " ", v.Severity, " ", v.Confidence, ": ", v.Text))
		if words["usage"] {
			line := fmt.Sprint("usable ", gib(v.Usage.UsableBytes), ", used ", gib(v.Usage.UsedBytes), " ", ratio(v.Usage.UsedRatio),
				", peak ", gib(v.Usage.PeakBytes), " ", ratio(v.Usage.PeakRatio), ", headroom ", gib(v.Usage.HeadroomBytes))
			if v.Usage.PeakAt != 0 {
				line += ", at " + s.Offset(v.Usage.PeakAt)
			}
			lines = append(lines, line)
			if v.Usage.Assumed != "" {
				lines = append(lines, "assumed: "+v.Usage.Assumed)
			}
		}
		for _, r := range v.Reasons {
			if words["since"] && r.Since != 0 {
				lines = append(lines, "since "+s.Offset(r.Since)+" "+r.ID)
			}
			if words["action"] {
				lines = append(lines, string(r.Action.Who)+": "+r.Action.Text)
			}
			for _, e := range r.Evidence {
				if words["evidence"] {
					lines = append(lines, r.ID+" "+e.Metric+": "+e.Text)
				}
			}
		}
		if words["batch"] || options.Batch > 0 {
			if v.Batch == nil {
				lines = append(lines, "no batch")
			} else {
				lines = append(lines, fmt.Sprintf("batch × %.3g = %g: %s", v.Batch.Factor, v.Batch.Size, v.Batch.Assumption))
			}
		}
		if words["missing"] {
			lines = append(lines, "missing "+strings.Join(v.Missing, " "))
		}
	}
	return lines, nil
}

const gibi = 1 << 30

func gib(v *float64) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprintf("%.4gGi", *v/gibi)
}

func ratio(v *float64) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprintf("%.3g", *v)
}

func TestLimitsSayWhatIsWrong(t *testing.T) {
	require.NoError(t, DefaultLimits().Validate())
	l := DefaultLimits()
	l.Risk, l.TrendMinutes, l.TrendChance = 1.5, 0, 0
	err := l.Validate()
	require.Error(t, err)
	assert.Equal(t, "risk: 1.5 must be from 0 to 1\ntrendChance: 0 must be from 1e-09 to 0.5\ntrendMinutes: 0 must be from 1 to 10080", err.Error())
	require.EqualError(t, Options{Batch: -1}.Validate(), "batch: -1 must be from 0 to 1e+18")

	l, err = Options{Batch: 8, Limits: json.RawMessage(`{"risk": 0.8}`)}.Resolve(DefaultLimits())
	require.NoError(t, err)
	assert.InDelta(t, 0.8, l.Risk, 0)
	assert.InDelta(t, 0.92, l.NearFull, 0, "what was not given stays")
	for part, want := range map[string]string{`{"risk": 2}`: "limits: risk: 2 must be from 0 to 1", `{"rusk": 1}`: `limits: json: unknown field "rusk"`} {
		_, err = Options{Limits: json.RawMessage(part)}.Resolve(DefaultLimits())
		require.EqualError(t, err, want)
	}
}

func TestFieldsAreOfTheCatalogue(t *testing.T) {
	insighttest.FieldsAreKnown(t, Fields(), WorkloadFields())
}

func TestReasonsHaveRunbooks(t *testing.T) {
	for _, id := range order {
		_, known := runbook.Lookup(runbookOf(id))
		assert.True(t, known, id)
	}
}

func TestWithoutAnythingThereIsNoVerdict(t *testing.T) {
	assert.Empty(t, Judge(Input{}, DefaultLimits(), Options{}).Verdicts)
	grid := insight.NewGrid(insighttest.Start, insighttest.Start, time.Minute, []insight.Subject{{}})
	v := Judge(Input{Devices: grid}, DefaultLimits(), Options{}).Verdicts[0]
	assert.Equal(t, insight.Unknown, v.Severity, "a range without a step is not healthy")
	assert.Equal(t, insight.NoConfidence, v.Confidence)
}
