package forecast

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/sku"
)

// Forecast is what is expected of one subject or pool.
type Forecast struct {
	Subject  int    // row of the devices' grid; -1 for a pool or a workload
	Workload int    // row of the workloads' grid; -1 otherwise
	Name     string // for people: the device's, the model of a pool, the workload's pod or job
	Field    insight.Field
	Unit     gpu.Unit
	Result
	// Reason is set when there is something to do.
	Reason *insight.Reason
}

// Answer is what a query gets. Forecasts are in the order of subjects.
type Answer struct {
	Forecasts []Forecast
	Missing   []string // canonical names of what was needed and not measured
	Skipped   int      // subjects of which there was nothing to say
	Left      int      // subjects beyond the most that one answer is for
}

// most is how many subjects one answer is for: a forecast takes milliseconds.
const most = 1000

// Judge looks ahead for all subjects. workloads may be nil.
func Judge(devices *insight.Devices, workloads *insight.Workloads, o Options, l Limits) Answer {
	if devices == nil {
		devices = insight.NewGrid[insight.Subject](time.Time{}, time.Time{}, time.Minute, nil)
	}
	j := judging{devices: devices, workloads: workloads, options: o, limits: l}
	switch o.kind() {
	case Capacity:
		for _, p := range Pools(devices) {
			j.pool(p)
		}
		if len(j.answer.Forecasts) == 0 {
			j.missing.add(activity()[0].Metric)
		}
	case Memory:
		for _, i := range j.some(len(devices.Subjects)) {
			j.memory(i)
		}
	case Temperature:
		for _, i := range j.first(boards(devices)) {
			j.temperature(i)
		}
	case Errors:
		for _, i := range j.first(boards(devices)) {
			j.errors(i)
		}
	default:
		j.metric()
	}
	j.answer.Missing = j.missing
	return j.answer
}

// judging is one answer being made.
type judging struct {
	devices   *insight.Devices
	workloads *insight.Workloads
	options   Options
	limits    Limits
	missing   missing
	answer    Answer
}

// first are the rows that are looked at. The others are counted.
func (j *judging) first(rows []int) []int {
	j.answer.Left = max(0, len(rows)-most)
	return rows[:min(len(rows), most)]
}

// some are the first of n rows.
func (j *judging) some(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return j.first(rows)
}

func (j *judging) add(f Forecast) *Forecast {
	if f.Unit == gpu.Ratio && f.Field.Of != insight.Rise {
		f.bound(0, 1)
	}
	j.answer.Forecasts = append(j.answer.Forecasts, f)
	return &j.answer.Forecasts[len(j.answer.Forecasts)-1]
}

func (j *judging) device(i int, field insight.Field, unit gpu.Unit, r Result) *Forecast {
	return j.add(Forecast{Subject: i, Workload: -1, Name: j.devices.Subjects[i].Name(), Field: field, Unit: unit, Result: r})
}

// metric forecasts any metric of devices or of workloads.
func (j *judging) metric() {
	field := insight.Field{Metric: j.options.Metric, Of: j.options.Value}
	unit := UnitOf(field)
	if onWorkloads(field.Metric) {
		if j.workloads == nil || !j.workloads.Has(field) {
			j.missing.add(field.Metric)
			return
		}
		for _, i := range j.some(len(j.workloads.Subjects)) {
			if values := j.workloads.Values(field, i); values != nil {
				r := Project(seriesOf(j.workloads, values), j.options.target(unit))
				j.add(Forecast{Subject: -1, Workload: i, Name: nameOf(j.workloads.Subjects[i]), Field: field, Unit: unit, Result: r})
			}
		}
		return
	}
	if !j.devices.Has(field) {
		j.missing.add(field.Metric)
		return
	}
	for _, i := range j.some(len(j.devices.Subjects)) {
		values := j.devices.Values(field, i)
		if values == nil {
			j.answer.Skipped++
			continue
		}
		j.device(i, field, unit, Project(seriesOf(j.devices, values), j.options.target(unit)))
	}
}

func nameOf(w insight.Workload) string {
	for _, name := range []string{w.Pod, w.Job, w.Instance, w.Model, w.Node} {
		if name != "" {
			if w.Rank != "" {
				return name + " rank " + w.Rank
			}
			return name
		}
	}
	return "workload"
}

// memory forecasts when a device runs out of it; of a server that took its memory at the start, when its cache is full.
func (j *judging) memory(i int) {
	ratio, wanting := full(j.devices, i)
	if ratio == nil {
		j.missing.add(wanting)
		j.answer.Skipped++
		return
	}
	t := j.options.target(gpu.Ratio)
	if j.options.Limit == nil {
		t.Limit = j.limits.MemoryFull
	}
	t.Below = false
	recent := max(t.Horizon, time.Duration(2*fewest)*j.devices.Step) // what was longer ago was another program
	s := seriesOf(j.devices, ratio).newest(recent)
	if row, cache := j.cacheOf(i); cache != nil && j.flat(s.Values) {
		t.Limit = j.limits.KVCache
		c := seriesOf(j.workloads, cache).newest(max(t.Horizon, time.Duration(2*fewest)*j.workloads.Step))
		f := j.device(i, insight.Field{Metric: kvCache}, gpu.Ratio, Project(c, t))
		f.Workload = row
		f.Notes = append(f.Notes, "The server took its memory when it started: its cache is what fills up.")
		f.Reason = j.runsOut(f, newestValue(cache), "kv-cache-full", "The KV cache fills up",
			"Add replicas, or allow fewer or shorter requests at a time.")
		return
	}
	f := j.device(i, insight.Field{Metric: memoryUsed, Of: insight.Max}, gpu.Ratio, Project(s, t))
	f.Notes = append(f.Notes, "Values are the used part of the usable memory.")
	f.Reason = j.runsOut(f, newestValue(ratio), "oom-risk", "Memory runs out",
		"Use a smaller batch, gradient accumulation or mixed precision, or free the allocator's cache.")
}

// runsOut is the reason to act when something that is nearly full is expected to be full.
func (j *judging) runsOut(f *Forecast, now float64, id, text, action string) *insight.Reason {
	c := f.Crossing
	if !(now > j.limits.MemoryRisky) || c.Outlook != Likely && c.Outlook != Reached {
		return nil
	}
	r := &insight.Reason{ID: id, Severity: insight.Warning, Text: text + ": " + f.Text, Action: insight.Action{Text: action, Who: gpu.XIDUser}}
	r.Evidence = []insight.Evidence{{
		Metric: f.Field.Metric, Value: now, Unit: gpu.Ratio, Limit: j.limits.MemoryRisky, Above: true,
		Text: fmt.Sprintf("%s now, above %s", amount(now, gpu.Ratio), amount(j.limits.MemoryRisky, gpu.Ratio)),
	}}
	return r
}

// flat reports whether values hardly move.
func (j *judging) flat(values []float64) bool {
	present := insight.Present(nil, values)
	return len(present) > 1 && slices.Max(present)-slices.Min(present) <= j.limits.MemoryFlat
}

// cacheOf is the occupancy of the cache of a server in the pod that owns a device: the fullest, when there are several.
func (j *judging) cacheOf(subject int) (row int, values []float64) {
	if j.workloads == nil {
		return -1, nil
	}
	row, highest := -1, math.Inf(-1)
	for _, o := range j.devices.Subjects[subject].Owners {
		if o.Pod == "" {
			continue
		}
		for i, w := range j.workloads.Subjects {
			if w.Pod != o.Pod || w.Namespace != "" && o.Namespace != "" && w.Namespace != o.Namespace ||
				w.Cluster != "" && w.Cluster != j.devices.Subjects[subject].Cluster {
				continue
			}
			cache := j.workloads.Values(insight.Field{Metric: kvCache}, i)
			if v := newestValue(cache); v > highest {
				row, values, highest = i, cache, v
			}
		}
	}
	return row, values
}

// temperature forecasts a board's margin, or its temperature against the limit that it names; and that of its memory.
func (j *judging) temperature(i int) {
	said := false
	if f, values := j.devices.First(i, insight.Field{Metric: margin, Of: insight.Min}, insight.Field{Metric: margin}); values != nil {
		t := j.options.target(gpu.Celsius)
		t.Below = true
		if j.options.Limit == nil {
			t.Limit = j.limits.Margin
		}
		j.hot(j.device(i, f, gpu.Celsius, Project(seriesOf(j.devices, values), t)))
		said = true
	} else if f, values := j.devices.First(i, insight.Field{Metric: dieCelsius, Of: insight.Max}, insight.Field{Metric: dieCelsius}); values != nil {
		t := j.options.target(gpu.Celsius)
		t.Below = false
		if j.options.Limit == nil {
			t.Limit = newestValue(j.devices.Values(insight.Field{Metric: slowdown}, i))
			if math.IsNaN(t.Limit) {
				j.missing.add(slowdown)
			}
		}
		j.hot(j.device(i, f, gpu.Celsius, Project(seriesOf(j.devices, values), t)))
		said = true
	}
	if f, values := j.devices.First(i, insight.Field{Metric: hbmCelsius, Of: insight.Max}, insight.Field{Metric: hbmCelsius}); values != nil {
		t := j.options.target(gpu.Celsius)
		t.Below = false
		if s, ok := sku.Lookup(j.devices.Subjects[i].Model); ok && j.options.Limit == nil && s.MemoryWarnCelsius > 0 {
			t.Limit = s.MemoryWarnCelsius
		}
		j.hot(j.device(i, f, gpu.Celsius, Project(seriesOf(j.devices, values), t)))
		said = true
	}
	if !said {
		j.missing.add(dieCelsius)
		j.answer.Skipped++
	}
}

func (j *judging) hot(f *Forecast) {
	if f.Crossing.Outlook == Likely || f.Crossing.Outlook == Reached {
		f.Reason = &insight.Reason{
			ID: "temperature-forecast", Severity: insight.Warning, Text: "A temperature limit is near. " + f.Text,
			Action: insight.Action{Text: "Look at airflow, fans and coolant of the node, or move load off it before the GPU slows down.", Who: gpu.XIDOperator},
		}
	}
}

// errors forecasts what precedes failures: retired pages against their limit, and by day what only counts.
func (j *judging) errors(i int) {
	said := false
	single, double := j.devices.Values(insight.Field{Metric: retiredSingle}, i), j.devices.Values(insight.Field{Metric: retiredDouble}, i)
	if single != nil && double != nil {
		said = true
		pages := make([]float64, len(single))
		for k := range pages {
			pages[k] = single[k] + double[k]
		}
		if newestValue(pages) > 0 {
			t := j.options.target(gpu.Count)
			t.Below = false
			if j.options.Limit == nil {
				t.Limit = j.limits.RetiredPages
			}
			f := j.device(i, insight.Field{Metric: retiredSingle}, gpu.Count, Project(seriesOf(j.devices, pages), t))
			f.Notes = append(f.Notes, "Values are retired pages of both kinds together.")
			j.worse(f)
		}
	}
	for _, field := range precursors() {
		rise := j.devices.Values(field, i)
		if rise == nil {
			continue
		}
		said = true
		if !slices.ContainsFunc(rise, func(v float64) bool { return v > 0 }) {
			continue // nothing ever happened: there is nothing to draw
		}
		perDay := make([]float64, len(rise))
		for k, v := range rise {
			perDay[k] = v * float64(day) / float64(max(j.devices.Step, 1))
		}
		unit := UnitOf(field)
		t := j.options.target(unit)
		t.Lowest, t.Highest, t.Below = 0, math.Inf(1), false
		f := j.device(i, field, unit, Project(seriesOf(j.devices, perDay), t))
		f.Notes = append(f.Notes, "Values are how much the counter rises in a day, at the rate of each step.")
		j.worse(f)
	}
	if !said {
		j.missing.add(precursors()[0].Metric, retiredSingle)
		j.answer.Skipped++
	}
}

// worse is the reason to look at errors that become more frequent.
func (j *judging) worse(f *Forecast) {
	c := f.Crossing.Outlook
	if f.Trend.Significant && f.Trend.PerDay > 0 || c == Likely || c == Reached {
		f.Reason = &insight.Reason{
			ID: "errors-rising", Severity: insight.Info, Text: "A risk, no prediction: " + f.Field.Metric + " becomes more frequent. " + f.Text,
			Action: insight.Action{Text: "Plan a diagnosis of the board when it is free, and keep long jobs off it until then.", Who: gpu.XIDOperator},
		}
	}
}
