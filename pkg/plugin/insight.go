package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/bottleneck"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// checkLimits reports what is wrong with the limits of the settings, so that the health check says it and not every panel.
func (d *Datasource) checkLimits() error {
	_, bottleneck := d.bottleneckLimits()
	_, health := d.healthLimits()
	_, efficiency := d.efficiencyLimits()
	_, forecast := d.forecastLimits()
	_, anomaly := d.anomalyLimits()
	_, memory := d.memoryLimits()
	_, stragglers := d.stragglersLimits()
	_, topology := d.topologyLimits()
	return errors.Join(bottleneck, health, efficiency, forecast, anomaly, memory, stragglers, topology)
}

// bottleneckLimits are the limits of the settings over the defaults.
func (d *Datasource) bottleneckLimits() (bottleneck.Limits, error) {
	return limitsOver(bottleneck.DefaultLimits(), d.settings, query.TypeBottleneck)
}

// limitsOver puts the limits of the settings for a query type over its defaults.
func limitsOver[L interface {
	Merge(part json.RawMessage) (L, error)
}](defaults L, s settings.Settings, queryType string) (L, error) {
	limits, err := defaults.Merge(s.Insight.Limits[queryType])
	if err != nil {
		return limits, fmt.Errorf("insight.limits.%s: %w", queryType, err)
	}
	return limits, nil
}

// resolved are the limits of a query, given in part, over those of the settings.
func resolved[L interface {
	Merge(part json.RawMessage) (L, error)
}](base L, part json.RawMessage) (L, error) {
	limits, err := base.Merge(part)
	if err != nil {
		return base, fmt.Errorf("limits: %w", err)
	}
	return limits, nil
}

// badOptions is what is wrong with the options of a query.
func badOptions(err error) error { return badInput(fmt.Errorf(`field "options": %w`, err)) }

// oneOfThese checks a key of the options that takes one of some words, or none.
func oneOfThese(key, value string, words ...string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("%s: %q is not known; use %s", key, value, strings.Join(words, ", "))
}

// runbookAddress is where the app shows a runbook.
const runbookAddress = "/a/warpwatch-gpu-app/runbooks/${__value.raw}"

// severityColours are those of all answers that have severities.
func severityColours() map[string]string {
	return map[string]string{
		insight.OK.String(): "green", insight.Unknown.String(): "purple", insight.Info.String(): "blue", insight.Warning.String(): "orange",
		insight.Critical.String(): "red",
	}
}

func confidenceColours() map[string]string {
	return map[string]string{
		insight.NoConfidence.String(): "purple", insight.Low.String(): "orange", insight.Medium.String(): "yellow", insight.High.String(): "green",
	}
}

// evidenceText is all evidence in one line.
func evidenceText(all []insight.Evidence) string {
	var texts []string
	for _, e := range all {
		if e.Text != "" && !slices.Contains(texts, e.Text) {
			texts = append(texts, e.Text)
		}
	}
	return strings.Join(texts, "; ")
}

// actionText is what to do, with NVIDIA's own word where there is one.
func actionText(a insight.Action) string {
	if a.NVIDIA == "" {
		return a.Text
	}
	return strings.TrimSpace(a.Text + " NVIDIA: " + a.NVIDIA + ".")
}

// judgement is what all answers that judge have in common.
type judgement struct {
	*Datasource
	request  request
	gathered *gathered
}

// judged gathers for a query that judges.
func (d *Datasource) judged(ctx context.Context, r request, want wanted) (*judgement, error) {
	g, err := d.gather(ctx, r, want)
	if err != nil {
		return nil, err
	}
	return &judgement{Datasource: d, request: r, gathered: g}, nil
}

// options of a frame. What was asked, and the notices, are told once: with the first frame of an answer.
func (j *judgement) options(ctx context.Context, missing tallied, more ...gpu.Notice) frames.Options {
	notices := append(slices.Clone(j.gathered.notices), more...)
	if n, ok := j.missingNotice(ctx, j.request.query.Scope, j.gathered, missing.names()); ok {
		notices = append(notices, n)
	}
	return frames.Options{Executed: j.gathered.executed, Notices: j.shown(notices), Step: j.gathered.devices.Step, Naming: j.naming()}
}

// naming tells whether names need the cluster.
func (j *judgement) naming() frames.Naming {
	var n frames.Naming
	subjects := j.gathered.devices.Subjects
	for _, s := range subjects {
		n.Clusters = n.Clusters || s.Cluster != subjects[0].Cluster
	}
	return n
}

// shownOf chooses the frames that a query shows: all, or the one that it names.
func shownOf(show string, all map[string]func() *data.Frame, order ...string) (data.Frames, error) {
	if show == "" {
		out := make(data.Frames, 0, len(order))
		for _, name := range order {
			out = append(out, all[name]())
		}
		return out, nil
	}
	one, known := all[show]
	if !known {
		return nil, badOptions(oneOfThese("show", show, order...))
	}
	return data.Frames{one()}, nil
}

// cutRows says how many rows are left out of a table whose first rows are those that matter most.
func cutRows[R any](rows []R, most int, what string) ([]R, []gpu.Notice) {
	if len(rows) <= most {
		return rows, nil
	}
	return rows[:most], []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"Showing %d of %d %s, the worst first: narrow the query, or set maxRows (up to %d).", most, len(rows), what, query.MaxRowsLimit)}}
}

// cutOrNothing is cutRows for a list that may have nothing to tell: then it says what that means, as an empty table does not.
func cutOrNothing[R any](rows []R, most int, what, nothing string) ([]R, []gpu.Notice) {
	if len(rows) == 0 {
		return nil, []gpu.Notice{{Severity: gpu.Info, Text: nothing}}
	}
	return cutRows(rows, most, what)
}

// reasonColumns say how bad it is, why, and what to do.
func reasonColumns[R any](t *frames.Sheet[R], reason func(R) insight.Reason) {
	t.Text("severity", func(r R) string { return reason(r).Severity.String() }).Coloured(severityColours())
	t.Text("reason", func(r R) string { return reason(r).Text })
	t.Text("evidence", func(r R) string { return evidenceText(reason(r).Evidence) })
	t.Text("action", func(r R) string { return actionText(reason(r).Action) })
	t.Text("who_acts", func(r R) string { return string(reason(r).Action.Who) })
	t.Text("runbook", func(r R) string { return reason(r).Action.Runbook }).Linked("Open the runbook", runbookAddress)
}

// confidenceColumn says how sure it is.
func confidenceColumn[R any](t *frames.Sheet[R], of func(R) insight.Confidence) {
	t.Text("confidence", func(r R) string { return of(r).String() }).Coloured(confidenceColours())
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
