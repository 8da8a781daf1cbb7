package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/memory"
	"github.com/warpwatch/warpwatch/pkg/insight/runbook"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// memoryOptions are the options of a query of type memory.
type memoryOptions struct {
	memory.Options

	Show  string `json:"show"`  // "gpus", "owners", "" for both
	Value string `json:"value"` // what an alert rule or expression reads; "severity" when left out
}

func memoryValues() []string {
	return []string{"severity", "used", "peak", "headroom", "hours_to_full"}
}

func (d *Datasource) memoryLimits() (memory.Limits, error) {
	return limitsOver(memory.DefaultLimits(), d.settings, query.TypeMemory)
}

// memory answers how much memory is left, the worst first.
func (d *Datasource) memory(ctx context.Context, r request) (data.Frames, error) {
	limits, err := d.memoryLimits()
	if err != nil {
		return nil, badInput(err)
	}
	var o memoryOptions
	if err := r.query.DecodeOptions(&o); err != nil {
		return nil, badInput(err)
	}
	if limits, err = o.Resolve(limits); err == nil {
		err = oneOfThese("value", o.Value, memoryValues()...)
	}
	if err != nil {
		return nil, badOptions(err)
	}
	asked := atLeast(r, max(limits.TrendMinutes, limits.ZombieMinutes, limits.IdleMinutes, limits.CacheMinutes))
	j, err := d.judged(ctx, asked, wanted{fields: memory.Fields(), workloads: memory.WorkloadFields()})
	if err != nil {
		return nil, err
	}
	result := memory.Judge(memory.Input{Devices: j.gathered.devices, Workloads: j.gathered.workloads}, limits, o.Options)
	missing := tallied{}
	for _, v := range result.Verdicts {
		missing.add(v.Missing)
	}
	if r.static {
		return data.Frames{j.memoryNumbers(result.Verdicts, o.Value, j.options(ctx, missing))}, nil
	}
	slices.SortStableFunc(result.Verdicts, func(a, b memory.Verdict) int {
		return cmp.Or(b.Severity.Rank()-a.Severity.Rank(), cmp.Compare(orZero(b.Usage.PeakRatio), orZero(a.Usage.PeakRatio)))
	})
	slices.SortStableFunc(result.Owners, func(a, b memory.OwnerVerdict) int { return b.Severity.Rank() - a.Severity.Rank() })
	rows, cut := cutRows(result.Verdicts, r.query.Rows(), "GPUs and MIG instances")
	owners, cutOwners := cutRows(result.Owners, r.query.Rows(), "owners")
	said := j.options(ctx, missing, append(cut, cutOwners...)...)
	told := func() frames.Options {
		now := said
		said.Notices, said.Executed = nil, ""
		return now
	}
	return shownOf(o.Show, map[string]func() *data.Frame{
		"gpus":   func() *data.Frame { return j.memoryTable(rows, told()) },
		"owners": func() *data.Frame { return ownersMemory(owners, told()) },
	}, "gpus", "owners")
}

// atLeast is a request whose range is not shorter than what a judgement looks back on: a rule's range is often shorter.
func atLeast(r request, minutes float64) request {
	if from := r.window.To.Add(-time.Duration(minutes * float64(time.Minute))); r.window.From.After(from) {
		r.window.From = from
	}
	return r
}

// figure is a reading of a number, absent where there is none.
func figure(v *float64) gpu.Reading {
	if v == nil {
		return gpu.Absent(gpu.NoData)
	}
	return known(*v)
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// of is a figure of what may not be there.
func of[T any](whole *T, part func(*T) *float64) gpu.Reading {
	if whole == nil {
		return gpu.Absent(gpu.NoData)
	}
	return figure(part(whole))
}

// memoryTable is a row for each GPU and MIG instance.
func (j *judgement) memoryTable(rows []memory.Verdict, o frames.Options) *data.Frame {
	t := frames.SheetOf(rows)
	t.Device(func(v memory.Verdict) gpu.Device { return j.gathered.devices.Subjects[v.Subject].Device })
	t.Owners(func(v memory.Verdict) []gpu.Owner { return j.gathered.devices.Subjects[v.Subject].Owners })
	t.Text("verdict", func(v memory.Verdict) string { return v.ID })
	reasonColumns(t, func(v memory.Verdict) insight.Reason { return worst(v.Reasons, v.Severity, v.Text) })
	confidenceColumn(t, func(v memory.Verdict) insight.Confidence { return v.Confidence })
	t.Number("used", gpu.Bytes, "Now.", func(v memory.Verdict) gpu.Reading { return figure(v.Usage.UsedBytes) })
	t.Number("usable", gpu.Bytes, "Used and free: without what the driver reserves.", func(v memory.Verdict) gpu.Reading { return figure(v.Usage.UsableBytes) })
	t.Number("used_ratio", gpu.Ratio, "Of what is usable, now.", func(v memory.Verdict) gpu.Reading { return figure(v.Usage.UsedRatio) })
	t.Number("peak", gpu.Bytes, "The highest of the range.", func(v memory.Verdict) gpu.Reading { return figure(v.Usage.PeakBytes) })
	t.Number("peak_ratio", gpu.Ratio, "Of what is usable.", func(v memory.Verdict) gpu.Reading { return figure(v.Usage.PeakRatio) })
	t.At("peak_at", func(v memory.Verdict) time.Time { return timeOf(v.Usage.PeakAt) })
	t.Number("headroom", gpu.Bytes, "What was never used.", func(v memory.Verdict) gpu.Reading { return figure(v.Usage.HeadroomBytes) })
	t.Number("hours_to_full", gpu.Count, "If it goes on growing; empty where it does not.", func(v memory.Verdict) gpu.Reading { return hoursToFull(v) })
	allocatorColumns(t, func(v memory.Verdict) *memory.Allocator { return v.Allocator })
	cacheColumns(t, func(v memory.Verdict) *memory.Cache { return v.Cache })
	batchColumns(t, func(v memory.Verdict) *memory.Batch { return v.Batch })
	t.Text("assumed", func(v memory.Verdict) string { return v.Usage.Assumed })
	t.Text("more", func(v memory.Verdict) string { return otherReasons(v.Reasons) })
	t.Text("missing", func(v memory.Verdict) string { return strings.Join(v.Missing, ", ") })
	return t.Table("memory", o)
}

// worst is the first reason, with the severity of the whole; where nothing is wrong, what is known of it.
func worst(reasons []insight.Reason, severity insight.Severity, text string) insight.Reason {
	why := insight.Reason{Text: text}
	if len(reasons) > 0 {
		why = reasons[0]
	}
	why.Severity = severity
	return why
}

// otherReasons are the names of all but the first.
func otherReasons(reasons []insight.Reason) string {
	var ids []string
	for _, r := range reasons[min(1, len(reasons)):] {
		ids = append(ids, r.ID)
	}
	return runbook.AllCalled(ids)
}

func hoursToFull(v memory.Verdict) gpu.Reading {
	if v.TimeToFull == nil {
		return gpu.Absent(gpu.NoData)
	}
	return known(v.TimeToFull.Hours())
}

func allocatorColumns[R any](t *frames.Sheet[R], allocator func(R) *memory.Allocator) {
	number := func(name string, unit gpu.Unit, help string, part func(*memory.Allocator) *float64) {
		t.Number(name, unit, help, func(r R) gpu.Reading { return of(allocator(r), part) })
	}
	number("fragmentation", gpu.Ratio, "Of what the allocator holds and never had in tensors.", func(a *memory.Allocator) *float64 { return a.Fragmentation })
	number("allocation_retries", gpu.Count, "", func(a *memory.Allocator) *float64 { return a.Retries })
	number("out_of_memory", gpu.Count, "Within the range.", func(a *memory.Allocator) *float64 { return a.OOMs })
}

func cacheColumns[R any](t *frames.Sheet[R], cache func(R) *memory.Cache) {
	number := func(name string, unit gpu.Unit, help string, part func(*memory.Cache) *float64) {
		t.Number(name, unit, help, func(r R) gpu.Reading { return of(cache(r), part) })
	}
	number("kv_cache", gpu.Ratio, "Of the fullest server.", func(c *memory.Cache) *float64 { return c.Ratio })
	number("requests_waiting", gpu.Count, "", func(c *memory.Cache) *float64 { return c.Waiting })
	number("preemptions", gpu.Count, "", func(c *memory.Cache) *float64 { return c.Preemptions })
}

func batchColumns[R any](t *frames.Sheet[R], batch func(R) *memory.Batch) {
	t.Number("batch_factor", gpu.Count, "Times the batch of now that would fit: an estimate.", func(r R) gpu.Reading {
		return of(batch(r), func(b *memory.Batch) *float64 { return &b.Factor })
	})
	t.Number("batch_size", gpu.Count, "Samples on each GPU, where the query says how many there are now.", func(r R) gpu.Reading {
		return of(batch(r), func(b *memory.Batch) *float64 {
			if b.Size == 0 {
				return nil
			}
			return &b.Size
		})
	})
	t.Text("batch_assumes", func(r R) string {
		if b := batch(r); b != nil {
			return b.Assumption
		}
		return ""
	})
}

// ownersMemory is a row for each pod, job or user.
func ownersMemory(rows []memory.OwnerVerdict, o frames.Options) *data.Frame {
	t := frames.SheetOf(rows)
	t.Text("cluster", func(v memory.OwnerVerdict) string { return v.Cluster })
	t.Owners(func(v memory.OwnerVerdict) []gpu.Owner { return []gpu.Owner{v.Owner} })
	t.Number("gpus", gpu.Count, "GPUs and MIG instances.", func(v memory.OwnerVerdict) gpu.Reading { return gpu.Read(float64(len(v.Devices))) })
	t.Text("verdict", func(v memory.OwnerVerdict) string { return v.ID })
	t.Text("severity", func(v memory.OwnerVerdict) string { return v.Severity.String() }).Coloured(severityColours())
	t.Text("reason", func(v memory.OwnerVerdict) string { return v.Text })
	confidenceColumn(t, func(v memory.OwnerVerdict) insight.Confidence { return v.Confidence })
	t.Number("used", gpu.Bytes, "Of all, now.", func(v memory.OwnerVerdict) gpu.Reading { return figure(v.UsedBytes) })
	t.Number("usable", gpu.Bytes, "Of all.", func(v memory.OwnerVerdict) gpu.Reading { return figure(v.UsableBytes) })
	t.Number("peak_ratio", gpu.Ratio, "Of the fullest.", func(v memory.OwnerVerdict) gpu.Reading { return figure(v.PeakRatio) })
	t.Number("headroom", gpu.Bytes, "Of the one with the least.", func(v memory.OwnerVerdict) gpu.Reading { return figure(v.HeadroomBytes) })
	allocatorColumns(t, func(v memory.OwnerVerdict) *memory.Allocator { return v.Allocator })
	cacheColumns(t, func(v memory.OwnerVerdict) *memory.Cache { return v.Cache })
	batchColumns(t, func(v memory.OwnerVerdict) *memory.Batch { return v.Batch })
	t.Text("missing", func(v memory.OwnerVerdict) string { return strings.Join(v.Missing, ", ") })
	return t.Table("memory_owners", o)
}

// memoryNumbers is what an alert rule reads: one number for each GPU and MIG instance. What does not grow has no hours until
// it is full, and a GPU that is split none at all: its instances have.
func (j *judgement) memoryNumbers(all []memory.Verdict, value string, o frames.Options) *data.Frame {
	value = cmp.Or(value, "severity")
	rows := slices.DeleteFunc(slices.Clone(all), func(v memory.Verdict) bool {
		return v.ID == memory.Split || value == "hours_to_full" && v.TimeToFull == nil
	})
	t := frames.SheetOf(rows)
	t.Device(func(v memory.Verdict) gpu.Device { return j.gathered.devices.Subjects[v.Subject].Device })
	switch value {
	case "severity":
		t.Text("verdict", func(v memory.Verdict) string { return v.ID })
		t.Number(value, gpu.Code, "", func(v memory.Verdict) gpu.Reading { return severityNumber(v.Severity, false) })
	case "used":
		t.Number(value, gpu.Ratio, "", func(v memory.Verdict) gpu.Reading { return figure(v.Usage.UsedRatio) })
	case "peak":
		t.Number(value, gpu.Ratio, "", func(v memory.Verdict) gpu.Reading { return figure(v.Usage.PeakRatio) })
	case "headroom":
		t.Number(value, gpu.Bytes, "", func(v memory.Verdict) gpu.Reading { return figure(v.Usage.HeadroomBytes) })
	default:
		t.Number(value, gpu.Count, "", hoursToFull)
	}
	return t.Numbers("memory", o)
}

// seconds of a duration as people read it, to the second.
func seconds(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return fmt.Sprint(d.Round(time.Second))
}
