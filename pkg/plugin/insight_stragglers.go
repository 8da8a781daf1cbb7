package plugin

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/stragglers"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// stragglersOptions are the options of a query of type stragglers.
type stragglersOptions struct {
	stragglers.Options

	Show  string `json:"show"`  // "jobs", "suspects", "skew", "" for all
	Value string `json:"value"` // what an alert rule or expression reads of each job; "severity" when left out
}

func stragglersValues() []string {
	return []string{"severity", "skew", "suspects", "lost_gpu_hours", "goodput"}
}

func (d *Datasource) stragglersLimits() (stragglers.Limits, error) {
	return limitsOver(stragglers.DefaultLimits(), d.settings, query.TypeStragglers)
}

// stragglers answers who slows training jobs down, the worst job first.
func (d *Datasource) stragglers(ctx context.Context, r request) (data.Frames, error) {
	limits, err := d.stragglersLimits()
	if err != nil {
		return nil, badInput(err)
	}
	var o stragglersOptions
	if err := r.query.DecodeOptions(&o); err != nil {
		return nil, badInput(err)
	}
	if limits, err = o.Resolve(limits); err == nil {
		err = oneOfThese("value", o.Value, stragglersValues()...)
	}
	if err != nil {
		return nil, badOptions(err)
	}
	// Who is slow must have been so for long enough, and is compared with what was before.
	j, err := d.judged(ctx, atLeast(r, 3*limits.SustainedMinutes), wanted{fields: stragglers.Fields(), workloads: stragglers.WorkloadFields()})
	if err != nil {
		return nil, err
	}
	jobs := stragglers.Judge(stragglers.Input{Devices: j.gathered.devices, Workloads: j.gathered.workloads}, limits, o.Options)
	missing := tallied{}
	for _, job := range jobs {
		missing.add(job.Missing)
	}
	var notices []gpu.Notice
	if len(jobs) == 0 && len(j.gathered.devices.Subjects) > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Info, Text: "No training job is known here: none of the GPUs has a Slurm job or a pod that trains as its owner, and nothing reports train_… metrics."})
	}
	if r.static {
		return data.Frames{jobNumbers(jobs, o.Value, j.options(ctx, missing, notices...))}, nil
	}
	rows, cut := cutRows(jobs, r.query.Rows(), "jobs")
	lines := jobs[:min(len(jobs), d.limit(r.query))]
	if len(lines) < len(jobs) && o.Show != "jobs" && o.Show != "suspects" {
		cut = append(cut, gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf("The lines are of %d of %d jobs, the worst.", len(lines), len(jobs))})
	}
	said := j.options(ctx, missing, append(notices, cut...)...)
	told := func() frames.Options {
		now := said
		said.Notices, said.Executed = nil, ""
		return now
	}
	return shownOf(o.Show, map[string]func() *data.Frame{
		"jobs":     func() *data.Frame { return slowJobs(rows, told()) },
		"suspects": func() *data.Frame { return j.suspects(jobs, r.query.Rows(), told()) },
		"skew":     func() *data.Frame { return j.skew(lines, told()) },
	}, "jobs", "suspects", "skew")
}

// jobColumns name a job.
func jobColumns[R any](t *frames.Sheet[R], job func(R) *stragglers.Job) {
	t.Text("cluster", func(r R) string { return job(r).Cluster })
	t.Text("namespace", func(r R) string { return job(r).Namespace })
	t.Text("job", func(r R) string { return job(r).Name })
}

// slowJobs is a row for each job.
func slowJobs(jobs []stragglers.Job, o frames.Options) *data.Frame {
	t := frames.SheetOf(jobs)
	jobColumns(t, func(j stragglers.Job) *stragglers.Job { return &j })
	t.Text("verdict", func(j stragglers.Job) string { return j.ID })
	reasonColumns(t, func(j stragglers.Job) insight.Reason { return worst(j.Reasons, j.Severity, j.Text) })
	confidenceColumn(t, func(j stragglers.Job) insight.Confidence { return j.Confidence })
	number := func(name string, unit gpu.Unit, help string, value func(stragglers.Job) *float64) {
		t.Number(name, unit, help, func(j stragglers.Job) gpu.Reading { return figure(value(j)) })
	}
	t.Number("ranks", gpu.Count, "That report of themselves.", func(j stragglers.Job) gpu.Reading { return gpu.Read(float64(len(j.Ranks))) })
	number("gpus", gpu.Count, "A MIG instance counts by its part.", func(j stragglers.Job) *float64 { return j.GPUs })
	t.Number("nodes", gpu.Count, "", func(j stragglers.Job) gpu.Reading { return gpu.Read(float64(j.Nodes)) })
	t.Number("skew", gpu.Count, "How many times the median the slowest took at the end.", func(j stragglers.Job) gpu.Reading { return lastKnown(j.Skew) })
	number("lost_gpu_hours", gpu.Count, "That the job's GPUs waited for slow ones.", func(j stragglers.Job) *float64 { return j.LostGPUHours })
	for _, s := range []struct {
		name, help string
		of         func(stragglers.Job) stragglers.Share
	}{
		{"exchange", "Of a step in collectives.", func(j stragglers.Job) stragglers.Share { return j.Exchange }},
		{"data", "Of a step that waits for data.", func(j stragglers.Job) stragglers.Share { return j.Data }},
		{"checkpoint", "Of time.", func(j stragglers.Job) stragglers.Share { return j.Checkpoint }},
	} {
		number(s.name, gpu.Ratio, s.help, func(j stragglers.Job) *float64 { return s.of(j).Value })
	}
	number("bubble_planned", gpu.Ratio, "Of a step that stages of a pipeline idle, by its plan.", func(j stragglers.Job) *float64 { return j.Bubble.Planned })
	number("bubble_measured", gpu.Ratio, "Of a step outside of forward and backward.", func(j stragglers.Job) *float64 { return j.Bubble.Measured })
	number("goodput", gpu.Ratio, "Time in steps that were new.", func(j stragglers.Job) *float64 { return j.Goodput.Ratio })
	t.Number("restarts", gpu.Count, "", func(j stragglers.Job) gpu.Reading {
		if j.Goodput.Ratio == nil {
			return gpu.Absent(gpu.NoData)
		}
		return gpu.Read(float64(j.Goodput.Restarts))
	})
	t.Text("down", func(j stragglers.Job) string { return seconds(j.Goodput.Down) })
	t.Text("compared_by", func(j stragglers.Job) string { return j.Basis })
	t.Text("notes", func(j stragglers.Job) string {
		texts := []string{j.LostAssumed, j.Exchange.Text, j.Data.Text, j.Checkpoint.Text, j.Bubble.Text, j.Goodput.Text}
		return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), " ")
	})
	t.Text("more", func(j stragglers.Job) string { return otherReasons(j.Reasons) })
	t.Text("missing", func(j stragglers.Job) string { return strings.Join(j.Missing, ", ") })
	return t.Table("stragglers", o)
}

// lastKnown is the newest of values of steps.
func lastKnown(values []float64) gpu.Reading {
	for _, v := range slices.Backward(values) {
		if !math.IsNaN(v) {
			return known(v)
		}
	}
	return gpu.Absent(gpu.NoData)
}

// accused is a suspect of a job.
type accused struct {
	job *stragglers.Job
	stragglers.Suspect
}

// suspects is a row for each rank, GPU or node that is slower than its peers, those of the worst jobs first.
func (j *judgement) suspects(jobs []stragglers.Job, most int, o frames.Options) *data.Frame {
	var rows []accused
	for i := range jobs {
		for _, s := range jobs[i].Suspects {
			rows = append(rows, accused{&jobs[i], s})
		}
	}
	rows, cut := cutRows(rows, most, "suspects")
	o.Notices = append(o.Notices[:len(o.Notices):len(o.Notices)], cut...)
	t := frames.SheetOf(rows)
	t.Text("kind", func(s accused) string { return s.Kind })
	t.Text("job", func(s accused) string { return s.job.Name })
	t.Text("namespace", func(s accused) string { return s.job.Namespace })
	t.Text("rank", func(s accused) string { return s.Rank })
	t.Device(func(s accused) gpu.Device {
		if s.Device >= 0 && s.Device < len(j.gathered.devices.Subjects) {
			return j.gathered.devices.Subjects[s.Device].Device
		}
		return gpu.Device{Identity: gpu.Identity{Cluster: s.job.Cluster, Node: s.Node}, Index: -1}
	})
	t.Number("ratio", gpu.Count, "How many times the median it took.", func(s accused) gpu.Reading { return known(s.Ratio) })
	t.Number("score", gpu.Ratio, "The median by its own, as NVIDIA's resiliency extension has it.", func(s accused) gpu.Reading { return known(s.Score) })
	t.Number("z", gpu.Count, "Robust standard deviations from the median.", func(s accused) gpu.Reading { return known(s.Z) })
	t.Number("members", gpu.Count, "Ranks or GPUs of the node that are slow.", func(s accused) gpu.Reading { return gpu.Read(float64(s.Members)) })
	t.At("since", func(s accused) time.Time { return timeOf(s.Since) })
	t.At("until", func(s accused) time.Time { return timeOf(s.Until) })
	t.Text("evidence", func(s accused) string { return evidenceText(s.Evidence) })
	return t.Table("stragglers_suspects", o)
}

// skew is a line for each job: how many times the median the slowest took.
func (j *judgement) skew(jobs []stragglers.Job, o frames.Options) *data.Frame {
	var series []gpu.Series
	times := j.gathered.devices.Times
	for _, job := range jobs {
		if len(job.Skew) != len(times) || !slices.ContainsFunc(job.Skew, func(v float64) bool { return !math.IsNaN(v) }) {
			continue
		}
		labels := map[string]string{"job": job.Name}
		for name, value := range map[string]string{"cluster": job.Cluster, "namespace": job.Namespace} {
			if value != "" {
				labels[name] = value
			}
		}
		series = append(series, gpu.Series{Labels: labels, Times: times, Values: job.Skew})
	}
	o.Metric, o.Unit, o.Naming = "skew", gpu.Count, frames.Naming{Legend: "{{job}}"}
	o.Description = "How many times the median of the job its slowest member took; 1 is even."
	return frames.Wide(series, o)
}

// jobNumbers is what an alert rule reads: one number for each job.
func jobNumbers(jobs []stragglers.Job, value string, o frames.Options) *data.Frame {
	value = cmp.Or(value, "severity")
	t := frames.SheetOf(jobs)
	jobColumns(t, func(j stragglers.Job) *stragglers.Job { return &j })
	switch value {
	case "severity":
		t.Text("verdict", func(j stragglers.Job) string { return j.ID })
		t.Number(value, gpu.Code, "", func(j stragglers.Job) gpu.Reading { return severityNumber(j.Severity, false) })
	case "skew":
		t.Number(value, gpu.Count, "", func(j stragglers.Job) gpu.Reading { return lastKnown(j.Skew) })
	case "suspects":
		t.Number(value, gpu.Count, "Of now.", func(j stragglers.Job) gpu.Reading {
			if j.ID == stragglers.Unknown {
				return gpu.Absent(gpu.NoData)
			}
			n := 0
			for _, s := range j.Suspects {
				n += order(s.Until == 0)
			}
			return gpu.Read(float64(n))
		})
	case "lost_gpu_hours":
		t.Number(value, gpu.Count, "", func(j stragglers.Job) gpu.Reading { return figure(j.LostGPUHours) })
	default:
		t.Number(value, gpu.Ratio, "", func(j stragglers.Job) gpu.Reading { return figure(j.Goodput.Ratio) })
	}
	return t.Numbers("stragglers", o)
}
