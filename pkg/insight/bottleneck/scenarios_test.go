package bottleneck

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

//go:embed testdata/*.test
var scenarios embed.FS

// TestScenarios runs testdata/*.test. The words behind eval choose what is written of each interval:
//
//	eval gpus [limits]     n1 GPU-1 compute medium, also launch-bound
//	eval jobs [limits]     job j compute medium (2 of 2)
//	eval evidence          the same as gpus, then its evidence, notes and missing metrics, a line each
//	eval reasons           the sentence and the action
//	eval shares            shares of time
func TestScenarios(t *testing.T) {
	insighttest.Run(t, scenarios, insighttest.Evals{
		"gpus": written(func(s *insighttest.Scenario, r *Report) []string { return gpuLines(s, r, nil) }),
		"jobs": written(jobLines),
		"evidence": written(func(s *insighttest.Scenario, r *Report) []string {
			return gpuLines(s, r, func(i Interval) []string {
				var lines []string
				for _, e := range i.Evidence() {
					lines = append(lines, e.Text)
				}
				for _, n := range i.Notes() {
					lines = append(lines, "note "+n)
				}
				return append(lines, "missing "+strings.Join(i.Missing(), " "))
			})
		}),
		"reasons": written(func(s *insighttest.Scenario, r *Report) []string {
			return gpuLines(s, r, func(i Interval) []string {
				reason := i.Reason()
				return []string{reason.Text, fmt.Sprint(reason.Action.Who, ": ", reason.Action.Text)}
			})
		}),
		"shares": written(func(s *insighttest.Scenario, r *Report) []string {
			var lines []string
			for d := range r.Devices {
				line := insighttest.Name(s.Devices.Subjects[d])
				for v, share := range r.Devices[d].Shares() {
					if share > 0 {
						line += fmt.Sprintf(" %v=%.3g", Verdict(v), share)
					}
				}
				lines = append(lines, line)
			}
			return lines
		}),
	})
}

func written(write func(*insighttest.Scenario, *Report) []string) insighttest.Eval {
	return func(s *insighttest.Scenario, args []string) ([]string, error) {
		limits, err := Options{Limits: json.RawMessage(strings.Join(args, " "))}.Resolve(DefaultLimits())
		if err != nil {
			return nil, err
		}
		report, err := Judge(s.Devices, s.Workloads, limits)
		if err != nil {
			return nil, err
		}
		return write(s, report), nil
	}
}

func gpuLines(s *insighttest.Scenario, r *Report, more func(Interval) []string) []string {
	var lines []string
	for d := range r.Devices {
		for _, i := range r.Devices[d].Intervals {
			lines = append(lines, insighttest.Name(s.Devices.Subjects[d])+span(s, i, len(r.Devices[d].Intervals))+" "+said(i.Judgement))
			if more != nil {
				lines = append(lines, more(i)...)
			}
		}
	}
	return lines
}

func jobLines(s *insighttest.Scenario, r *Report) []string {
	var lines []string
	for _, job := range r.Jobs {
		for _, i := range job.Intervals {
			line := "job " + job.Name + span(s, i, len(job.Intervals)) + " " + said(i.Judgement)
			if i.GPUs > 0 {
				line += fmt.Sprintf(" (%d of %d)", i.Share, i.GPUs)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// span is the time of an interval, nothing when there is one only.
func span(s *insighttest.Scenario, i Interval, n int) string {
	if n == 1 {
		return ""
	}
	return " " + s.Offset(i.From) + "-" + s.Offset(i.To)
}

func said(j Judgement) string {
	line := j.Verdict.String() + " " + j.Confidence.String()
	if j.suspect != "" {
		line += " suspect " + j.suspect
	}
	if near := j.near(); near != "" && j.Verdict == Mixed {
		line += " near " + near
	}
	word := ", also "
	for v := range j.Secondary.All() {
		line += word + v.String()
		word = " "
	}
	if j.Confidence > insight.High {
		line += " impossible confidence"
	}
	return line
}
