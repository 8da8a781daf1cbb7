package health

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
	"github.com/warpwatch/warpwatch/pkg/insight/runbook"
)

//go:embed testdata/*.test
var scenarios embed.FS

// Arguments are nodes: n1:exporter=down,agent=down,gpus=8,rack=r1,coolant=leak; or GPUs: GPU-1:maintenance=fans, GPU-1:vbios=96.0.
func judgeScenario(s *insighttest.Scenario, args []string, limits Limits) (Result, error) {
	in := Input{Grid: s.Devices, Events: s.Events, Whole: true}
	for _, arg := range args {
		name, rest, found := strings.Cut(arg, ":")
		if !found {
			continue
		}
		if strings.HasPrefix(name, "GPU-") {
			if err := in.ofBoard(name, rest); err != nil {
				return Result{}, err
			}
			continue
		}
		n := NodeState{Node: name}
		for _, pair := range strings.Split(rest, ",") {
			key, value, _ := strings.Cut(pair, "=")
			switch key {
			case "exporter":
				n.Exporter = Presence(value)
			case "agent":
				n.Agent = Presence(value)
			case "gpus":
				n.GPUs, _ = strconv.Atoi(value)
			case "rack":
				n.Rack = value
			case "coolant":
				n.Coolant = value
			case "power":
				n.Power = value
			case "maintenance":
				n.Maintenance = &Maintenance{Why: value}
			case "feed":
				n.Feed = value
			case "fabric":
				n.Fabric = value
			case "leaf":
				n.Leaf = value
			default:
				return Result{}, fmt.Errorf("%q is not known of nodes", key)
			}
		}
		in.Nodes = append(in.Nodes, n)
	}
	return Judge(in, limits), nil
}

// ofBoard takes what an argument says of a GPU.
func (in *Input) ofBoard(uuid, said string) error {
	at := slices.IndexFunc(in.Grid.Subjects, func(d insight.Subject) bool { return d.UUID == uuid })
	if at < 0 {
		return fmt.Errorf("%q is no GPU", uuid)
	}
	switch key, value, _ := strings.Cut(said, "="); key {
	case "maintenance":
		in.Maintenance = map[gpu.Identity]Maintenance{in.Grid.Subjects[at].Parent(): {Why: value}}
	case "vbios":
		if in.VBIOS == nil {
			in.VBIOS = map[gpu.Identity]string{}
		}
		in.VBIOS[in.Grid.Subjects[at].Parent()] = value
	default:
		return fmt.Errorf("%q is not known of GPUs", key)
	}
	return nil
}

func TestScenarios(t *testing.T) { insighttest.Run(t, scenarios, evals(DefaultLimits())) }

// evals are the judgements of scenarios, by some limits.
func evals(limits Limits) insighttest.Evals {
	return insighttest.Evals{
		// NODE UUID severity, and its reasons, with their severity where it is another.
		"health": func(s *insighttest.Scenario, args []string) ([]string, error) {
			result, err := judgeScenario(s, args, limits)
			var lines []string
			for _, v := range result.Verdicts {
				line := name(s, v.Subject) + " " + v.Severity.String()
				for _, r := range v.Reasons {
					line += " " + r.ID
					if r.Severity != v.Severity {
						line += "(" + r.Severity.String() + ")"
					}
				}
				if v.Silenced != "" {
					line += " silenced"
				}
				lines = append(lines, line)
			}
			for _, n := range result.Nodes {
				line := n.Node + " " + n.Severity.String()
				for _, r := range n.Reasons {
					line += " " + r.ID
				}
				lines = append(lines, line)
			}
			return lines, err
		},
		"incidents": func(s *insighttest.Scenario, args []string) ([]string, error) {
			result, err := judgeScenario(s, args, limits)
			var lines []string
			for _, in := range result.Incidents {
				line := fmt.Sprintf("%s %s %d", in.ID, in.Severity, len(in.Subjects))
				if len(in.Silences) > 0 {
					line += " explains " + strings.Join(in.Silences, " ")
				}
				if in.Silenced != "" {
					line += " silenced"
				}
				lines = append(lines, line)
			}
			return lines, err
		},
		// All that is said of the worst.
		"why": func(s *insighttest.Scenario, args []string) ([]string, error) {
			result, err := judgeScenario(s, args, limits)
			if err != nil || len(result.Verdicts) == 0 {
				return nil, err
			}
			v := result.Verdicts[0]
			lines := []string{fmt.Sprintf("%s %s, %s confidence, %d missing", name(s, v.Subject), v.Severity, v.Confidence, len(v.Missing))}
			for _, r := range v.Reasons {
				since := "?"
				if r.Since > 0 {
					since = s.Offset(r.Since)
				}
				lines = append(lines, fmt.Sprintf("%s since %s: %s", r.ID, since, r.Text))
				for _, e := range r.Evidence {
					lines = append(lines, "evidence: "+e.Text)
				}
				lines = append(lines, fmt.Sprintf("%s %s runbook %s: %s", r.Action.Who, dash(r.Action.NVIDIA), r.Action.Runbook, r.Action.Text))
			}
			return lines, nil
		},
		"risk": func(s *insighttest.Scenario, args []string) ([]string, error) {
			result, err := judgeScenario(s, args, limits)
			var lines []string
			for _, v := range result.Verdicts {
				line := fmt.Sprintf("%s %.2f", name(s, v.Subject), v.Risk.Score)
				for _, p := range v.Risk.Parts {
					line += fmt.Sprintf(" %s=%.2f", p.ID, p.Share)
				}
				lines = append(lines, line)
			}
			return lines, err
		},
	}
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func name(s *insighttest.Scenario, subject int) string {
	d := s.Devices.Subjects[subject]
	text := d.Node + " " + d.UUID
	if d.IsMIG() {
		text += "/" + d.GPUInstance
	}
	return text
}

// Whatever is answered links a runbook that exists, has an action, and comes worst first.
func checkResult(t *testing.T, result Result) {
	t.Helper()
	worst := 5
	reason := func(r insight.Reason) {
		_, found := runbook.Lookup(r.Action.Runbook)
		assert.True(t, found, "%s: there is no runbook %q", r.ID, r.Action.Runbook)
		assert.NotEmpty(t, r.Action.Text, r.ID)
		assert.NotEmpty(t, r.Action.Who, r.ID)
		assert.NotContains(t, r.Text, "NaN")
		assert.NotContains(t, r.Text, "%!")
	}
	for _, v := range result.Verdicts {
		require.LessOrEqual(t, v.Severity.Rank(), worst)
		worst = v.Severity.Rank()
		assert.True(t, slices.IsSortedFunc(v.Reasons, func(a, b insight.Reason) int { return b.Severity.Rank() - a.Severity.Rank() }))
		for _, r := range v.Reasons {
			reason(r)
		}
		assert.True(t, v.Risk.Score >= 0 && v.Risk.Score <= 1)
	}
	for _, n := range result.Nodes {
		for _, r := range n.Reasons {
			reason(r)
		}
	}
	for _, in := range result.Incidents {
		reason(in.Root)
	}
}
