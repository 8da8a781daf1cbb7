package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/bottleneck"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// checkLimits reports what is wrong with the limits of the settings, so that the health check says it and not every panel.
func (d *Datasource) checkLimits() error {
	_, err := d.bottleneckLimits()
	return errors.Join(err)
}

// bottleneckLimits are the limits of the settings over the defaults.
func (d *Datasource) bottleneckLimits() (bottleneck.Limits, error) {
	limits, err := bottleneck.DefaultLimits().Merge(d.settings.Insight.Limits["bottleneck"])
	if err != nil {
		return limits, fmt.Errorf("insight.limits.bottleneck: %w", err)
	}
	return limits, nil
}

// overLimits reads limits that are given in part over those that into has.
func overLimits(raw json.RawMessage, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("read the limits: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
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

// severityRank orders severities for what is shown first. What is not known comes before what is only worth knowing.
func severityRank(s insight.Severity) int {
	switch s {
	case insight.Critical:
		return 4
	case insight.Warning:
		return 3
	case insight.Unknown:
		return 2
	case insight.Info:
		return 1
	case insight.OK:
	}
	return 0
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
	make, known := all[show]
	if !known {
		return nil, badInput(fmt.Errorf(`field "options": show: %q is not known; use %s`, show, strings.Join(order, ", ")))
	}
	return data.Frames{make()}, nil
}

// cutRows says how many rows are left out of a table whose first rows are those that matter most.
func cutRows[R any](rows []R, most int, what string) ([]R, []gpu.Notice) {
	if len(rows) <= most {
		return rows, nil
	}
	return rows[:most], []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"Showing %d of %d %s, the worst first: narrow the query, or set maxRows (up to %d).", most, len(rows), what, query.MaxRowsLimit)}}
}
