package plugin

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight/efficiency"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// efficiencyPoints is how many steps a range is divided into at most: idle times of half an hour show within a month.
const efficiencyPoints = 1440

// efficiencyOptions are the options of a query of type efficiency.
type efficiencyOptions struct {
	efficiency.Options

	Limits json.RawMessage `json:"limits"`
	Show   string          `json:"show"`  // "groups", "timeline", "idle", "jobs", "budgets", "" for all
	Value  string          `json:"value"` // what an alert rule or expression reads of each group; "efficiency" when left out
}

// efficiencyValues are what rules may read of a group.
func efficiencyValues() map[string]func(*efficiency.Group) float64 {
	share := func(of func(efficiency.Parts) float64) func(*efficiency.Group) float64 {
		return func(g *efficiency.Group) float64 { return of(g.Hours) / g.Hours.Total() }
	}
	return map[string]func(*efficiency.Group) float64{
		"efficiency":  (*efficiency.Group).Efficiency,
		"used":        share(func(p efficiency.Parts) float64 { return p.Used }),
		"idle":        share(func(p efficiency.Parts) float64 { return p.Idle }),
		"unallocated": share(func(p efficiency.Parts) float64 { return p.Unallocated }),
		"broken":      share(func(p efficiency.Parts) float64 { return p.Broken }),
		"cost": func(g *efficiency.Group) float64 {
			return costOf(g, func(c efficiency.Cost) float64 { return c.Charge })
		},
		"waste_per_hour": func(g *efficiency.Group) float64 {
			return costOf(g, ofPriced(func(c efficiency.Cost) float64 { return c.WastePerHour }))
		},
	}
}

func efficiencyNames() []string {
	return []string{"efficiency", "used", "idle", "unallocated", "broken", "cost", "waste_per_hour"}
}

// costOf is an amount of a group whose costs are all in one currency, NaN otherwise: currencies are not converted.
func costOf(g *efficiency.Group, of func(efficiency.Cost) float64) float64 {
	if len(g.Costs) != 1 {
		return math.NaN()
	}
	return of(g.Costs[0])
}

// ofPriced is a part of what GPUs cost, NaN where none of them has a price.
func ofPriced(part func(efficiency.Cost) float64) func(efficiency.Cost) float64 {
	return func(c efficiency.Cost) float64 {
		if c.Priced == 0 {
			return math.NaN()
		}
		return part(c)
	}
}

func (d *Datasource) efficiencyLimits() (efficiency.Limits, error) {
	return limitsOver(efficiency.DefaultLimits(), d.settings, query.TypeEfficiency)
}

// tariff is what things cost, by the settings.
func tariff(in settings.Insight) efficiency.Tariff {
	t := efficiency.Tariff{
		Currency: in.Currency, PUE: in.Energy.PUE, CarbonKgPerKWh: in.Energy.CarbonKgPerKWh, EnergyPerKWh: in.Energy.PricePerKWh,
	}
	for _, p := range in.Prices {
		t.Prices = append(t.Prices, efficiency.Price(p))
	}
	return t
}

// efficiency answers what became of the time of GPUs.
func (d *Datasource) efficiency(ctx context.Context, r request) (data.Frames, error) {
	limits, err := d.efficiencyLimits()
	if err != nil {
		return nil, badInput(err)
	}
	var o efficiencyOptions
	if err := r.query.DecodeOptions(&o); err != nil {
		return nil, badInput(err)
	}
	if limits, err = resolved(limits, o.Limits); err == nil {
		err = o.Validate()
	}
	if err == nil {
		err = oneOfThese("value", o.Value, efficiencyNames()...)
	}
	if err != nil {
		return nil, badOptions(err)
	}
	j, err := d.judged(ctx, r, wanted{fields: efficiency.Fields(), workloads: efficiency.WorkloadFields(), points: efficiencyPoints})
	if err != nil {
		return nil, err
	}
	tenures, notices := j.tenures(ctx)
	measure := func(o efficiency.Options) *efficiency.Result {
		return efficiency.Measure(efficiency.Input{Devices: j.gathered.devices, Workloads: j.gathered.workloads, Tenures: tenures}, limits, tariff(d.settings.Insight), o)
	}
	result := measure(o.Options)
	missing := tallied{}
	missing.add(result.Missing)
	said := j.options(ctx, missing, append(notices, result.Notices...)...)
	told := func() frames.Options {
		now := said
		said.Notices, said.Executed = nil, ""
		return now
	}
	if r.static {
		return data.Frames{groupNumbers(result, o.Value, told())}, nil
	}
	most := r.query.Rows()
	all := map[string]func() *data.Frame{
		"groups":   func() *data.Frame { return groupTable(result, most, told()) },
		"timeline": func() *data.Frame { return j.partsOverTime(result, told()) },
		"idle":     func() *data.Frame { return idleTable(result.Idle, most, told()) },
		"jobs":     func() *data.Frame { return efficiencyJobs(result.Jobs, most, told()) },
		"budgets": func() *data.Frame {
			return budgetTable(spending(d.settings.Insight, result, measure), d.settings.Insight, r.window.To, told())
		},
	}
	return shownOf(o.Show, all, "groups", "timeline", "idle", "jobs", "budgets")
}

// groupsOf are the groups, or all together where there are none.
func groupsOf(result *efficiency.Result) []*efficiency.Group {
	switch {
	case len(result.Groups) > 0:
		return result.Groups
	case result.Total == nil || result.Total.Hours.Total() == 0:
		return nil
	}
	return []*efficiency.Group{result.Total}
}

// groupColumns name a group. What has no name there is said to be nobody's, or not known.
func groupColumns(t *frames.Sheet[*efficiency.Group], by []efficiency.By) {
	for i, dimension := range by {
		t.Text(string(dimension), func(g *efficiency.Group) string {
			if i < len(g.Values) {
				return g.Values[i]
			}
			return ""
		}).ShownEmpty(nameless(dimension))
	}
}

// nameless is what people read where a group has no name in a dimension.
func nameless(dimension efficiency.By) string {
	switch dimension {
	case efficiency.ByNamespace, efficiency.ByPod, efficiency.ByJob, efficiency.ByUser:
		return "nobody"
	default:
		return "not known"
	}
}

// How many decimals GPUs, hours and energy have, and money: the rows of a column are alike.
const (
	countDecimals = 1
	moneyDecimals = 2
)

// known is a reading of a number that NaN stands for when it is not known.
func known(v float64) gpu.Reading {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return gpu.Absent(gpu.NoData)
	}
	return gpu.Read(v)
}

// groupTable is a row for each group: its hours, side by side what it had, used and left idle, and what that cost.
func groupTable(result *efficiency.Result, most int, o frames.Options) *data.Frame {
	rows, cut := cutRows(groupsOf(result), most, "groups")
	o.Notices = append(o.Notices[:len(o.Notices):len(o.Notices)], cut...)
	t := frames.SheetOf(rows)
	groupColumns(t, result.By)
	number := func(name string, unit gpu.Unit, help string, of func(*efficiency.Group) float64) {
		t.Number(name, unit, help, func(g *efficiency.Group) gpu.Reading { return known(of(g)) }).Decimals(countDecimals)
	}
	number("gpus", gpu.Count, "How many GPUs there were on average; a MIG instance counts by its part.", func(g *efficiency.Group) float64 { return g.GPUs })
	for _, part := range hourParts() {
		number(part.name+"_hours", gpu.Count, part.help, func(g *efficiency.Group) float64 { return part.of(g.Hours) })
	}
	number("efficiency", gpu.Ratio, "Mean activity of the SMs of allocated GPUs.", (*efficiency.Group).Efficiency)
	number("tensor_pipe_ceiling", gpu.Ratio, "A bound of MFU from above, and not MFU itself.", func(g *efficiency.Group) float64 { return g.Ceiling })
	number("energy_kwh", gpu.Count, "Of the GPUs.", func(g *efficiency.Group) float64 { return g.Energy.KWh.Total() })
	number("site_kwh", gpu.Count, "Times the PUE.", func(g *efficiency.Group) float64 { return g.Energy.SiteKWh })
	number("carbon_kg", gpu.Count, "", func(g *efficiency.Group) float64 { return g.Energy.CarbonKg })
	if result.Total != nil && len(result.Total.Costs) > 0 {
		costColumns(t)
	}
	number("charged_quantity", gpu.Count, "", func(g *efficiency.Group) float64 { return g.ChargeQuantity })
	t.Text("charged_unit", func(g *efficiency.Group) string { return g.ChargeUnit })
	number("unpriced_hours", gpu.Count, "Hours of models without a price: no amount has them.", func(g *efficiency.Group) float64 { return g.Unpriced })
	return t.Table("efficiency", o)
}

// costColumns say what a group costs; without prices there is nothing to say.
func costColumns(t *frames.Sheet[*efficiency.Group]) {
	money := func(name, help string, of func(efficiency.Cost) float64) {
		t.Number(name, gpu.Count, help, func(g *efficiency.Group) gpu.Reading { return known(costOf(g, of)) }).Decimals(moneyDecimals)
	}
	t.Text("currency", func(g *efficiency.Group) string {
		var all []string
		for _, c := range g.Costs {
			all = append(all, c.Currency)
		}
		return strings.Join(all, ", ")
	})
	money("cost_allocated", "", ofPriced(func(c efficiency.Cost) float64 { return c.Parts.Allocated() }))
	money("cost_used", "", ofPriced(func(c efficiency.Cost) float64 { return c.Parts.Used }))
	money("cost_idle", "What was had and not used.", ofPriced(func(c efficiency.Cost) float64 { return c.Parts.Idle }))
	money("cost_unallocated", "", ofPriced(func(c efficiency.Cost) float64 { return c.Parts.Unallocated }))
	money("charge", "By the mode of the query.", func(c efficiency.Cost) float64 { return c.Charge })
	money("waste_per_hour", "What those that are idle at the end cost in an hour.", ofPriced(func(c efficiency.Cost) float64 { return c.WastePerHour }))
}

// hourPart is one of the parts that hours fall into.
type hourPart struct {
	name, help string
	of         func(efficiency.Parts) float64
}

func hourParts() []hourPart {
	return []hourPart{
		{"allocated", "Somebody had it.", efficiency.Parts.Allocated},
		{"used", "Somebody had it, and it worked.", func(p efficiency.Parts) float64 { return p.Used }},
		{"idle", "Somebody had it, and it did not work.", func(p efficiency.Parts) float64 { return p.Idle }},
		{"unmeasured", "Somebody had it, and nobody knows whether it worked.", func(p efficiency.Parts) float64 { return p.Unmeasured }},
		{"unallocated", "Nobody had it.", func(p efficiency.Parts) float64 { return p.Unallocated }},
		{"broken", "It needs a reset, or was missing.", func(p efficiency.Parts) float64 { return p.Broken }},
		{"absent", "Nothing is known of it.", func(p efficiency.Parts) float64 { return p.Absent }},
	}
}

// partsOverTime is how many GPUs were in each part in each step.
func (j *judgement) partsOverTime(result *efficiency.Result, o frames.Options) *data.Frame {
	var series []gpu.Series
	times := j.gathered.devices.Times
	for _, part := range hourParts()[1:] {
		s := gpu.Series{Labels: map[string]string{"part": part.name}, Times: times, Values: make([]float64, len(times))}
		some := false
		for i := range times {
			s.Values[i] = math.NaN()
			if i < len(result.Timeline) {
				s.Values[i] = part.of(result.Timeline[i])
				some = some || s.Values[i] != 0
			}
		}
		if some {
			series = append(series, s)
		}
	}
	o.Metric, o.Unit, o.Description, o.Naming = "efficiency_timeline", gpu.Count, "GPUs; a MIG instance counts by its part.", frames.Naming{Legend: "{{part}}"}
	return frames.Wide(series, o)
}

// idleTable is a row for each GPU that somebody had and that was idle at the end, the dearest first.
func idleTable(all []efficiency.IdleGPU, most int, o frames.Options) *data.Frame {
	all, cut := cutOrNothing(all, most, "idle GPUs", "No GPU that somebody has is known to be idle.")
	o.Notices = append(o.Notices[:len(o.Notices):len(o.Notices)], cut...)
	t := frames.SheetOf(all)
	t.Device(func(i efficiency.IdleGPU) gpu.Device { return i.Device })
	t.Owners(func(i efficiency.IdleGPU) []gpu.Owner { return i.Owners })
	t.At("since", func(i efficiency.IdleGPU) time.Time { return timeOf(i.Since) })
	t.Text("longer", func(i efficiency.IdleGPU) string {
		if i.Open {
			return "or before"
		}
		return ""
	})
	t.Number("activity", gpu.Ratio, "", func(i efficiency.IdleGPU) gpu.Reading { return known(i.Activity) })
	t.Number("weight", gpu.Ratio, "Part of a GPU.", func(i efficiency.IdleGPU) gpu.Reading { return gpu.Read(i.Weight) })
	if slices.ContainsFunc(all, func(i efficiency.IdleGPU) bool { return known(i.PerHour).OK() }) {
		t.Number("per_hour", gpu.Count, "What it costs in an hour.", func(i efficiency.IdleGPU) gpu.Reading { return known(i.PerHour) }).Decimals(moneyDecimals)
		t.Text("currency", func(i efficiency.IdleGPU) string { return i.Currency })
	}
	return t.Table("efficiency_idle", o)
}

// efficiencyJobs is a row for each training job and server that tells of itself.
func efficiencyJobs(all []efficiency.Job, most int, o frames.Options) *data.Frame {
	all, cut := cutOrNothing(all, most, "jobs", "No job tells of itself: the metrics of its framework have to be scraped for that.")
	o.Notices = append(o.Notices[:len(o.Notices):len(o.Notices)], cut...)
	t := frames.SheetOf(all)
	t.Text("cluster", func(j efficiency.Job) string { return j.Cluster })
	t.Text("namespace", func(j efficiency.Job) string { return j.Namespace })
	t.Text("job", func(j efficiency.Job) string { return j.Name })
	t.Text("class", func(j efficiency.Job) string { return string(j.Kind) })
	number := func(name string, unit gpu.Unit, help string, of func(efficiency.Job) float64) {
		t.Number(name, unit, help, func(j efficiency.Job) gpu.Reading { return known(of(j)) })
	}
	count := func(name string, of func(efficiency.Job) float64) {
		t.Number(name, gpu.Count, "", func(j efficiency.Job) gpu.Reading { return known(of(j)) }).Decimals(countDecimals)
	}
	count("gpus", func(j efficiency.Job) float64 { return j.GPUs })
	count("hours", func(j efficiency.Job) float64 { return j.Hours })
	number("mfu", gpu.Ratio, "Against the dense BF16 peak of the data sheet.", func(j efficiency.Job) float64 { return j.MFU })
	number("reachable_mfu", gpu.Ratio, "Against the largest matrix multiplication that anybody measured.", func(j efficiency.Job) float64 { return j.ReachableMFU })
	number("reported_mfu", gpu.Ratio, "As the framework computes it.", func(j efficiency.Job) float64 { return j.ReportedMFU })
	number("tensor_pipe_ceiling", gpu.Ratio, "A bound of MFU from above, and not MFU itself.", func(j efficiency.Job) float64 { return j.Ceiling })
	t.Text("mfu_from", func(j efficiency.Job) string { return j.MFUFrom })
	number("tokens", gpu.Count, "", func(j efficiency.Job) float64 { return j.Tokens })
	number("tokens_per_second", gpu.Count, "", func(j efficiency.Job) float64 { return j.TokensPerSecond })
	number("tokens_per_joule", gpu.Count, "", func(j efficiency.Job) float64 { return j.TokensPerJoule })
	if slices.ContainsFunc(all, func(j efficiency.Job) bool { return known(j.CostPerMillion).OK() }) {
		t.Number("cost_per_million_tokens", gpu.Count, "", func(j efficiency.Job) gpu.Reading { return known(j.CostPerMillion) }).Decimals(moneyDecimals)
		t.Text("currency", func(j efficiency.Job) string { return j.Currency })
	}
	t.Text("notes", func(j efficiency.Job) string { return strings.Join(j.Notes, " ") })
	t.Text("confidence", func(j efficiency.Job) string { return j.Confidence.String() }).Coloured(confidenceColours())
	return t.Table("efficiency_jobs", o)
}

// spending is what each budget was spent of on each day.
func spending(in settings.Insight, all *efficiency.Result, measure func(efficiency.Options) *efficiency.Result) [][]efficiency.Spending {
	var apart *efficiency.Result
	out := make([][]efficiency.Spending, len(in.Budgets))
	for i, b := range in.Budgets {
		if b.Namespace == "" {
			if all.Total != nil {
				out[i] = all.Days(all.Total, in.Currency, time.UTC)
			}
			continue
		}
		if apart == nil {
			apart = measure(efficiency.Options{By: []efficiency.By{efficiency.ByNamespace}, Charge: all.Charge, Series: true})
		}
		for _, g := range apart.Groups {
			if len(g.Values) > 0 && b.Counts(g.Values[0]) {
				out[i] = append(out[i], apart.Days(g, in.Currency, time.UTC)...)
			}
		}
	}
	return out
}

// budgetTable is a row for each budget: how much of it is spent, what the month will cost, and when the budget is used up.
// Months are those of UTC.
func budgetTable(spent [][]efficiency.Spending, in settings.Insight, now time.Time, o frames.Options) *data.Frame {
	type row struct {
		settings.Budget
		efficiency.Outlook
	}
	var rows []row
	for i, b := range in.Budgets {
		rows = append(rows, row{b, efficiency.Budget(spent[i], b.Month, now.UTC())})
	}
	rows, nothing := cutOrNothing(rows, len(rows), "budgets", "There is no budget in the data source's settings: insight.budgets.")
	o.Notices = append(o.Notices[:len(o.Notices):len(o.Notices)], nothing...)
	t := frames.SheetOf(rows)
	t.Text("budget", func(r row) string { return r.Name })
	t.Text("currency", func(row) string { return in.Currency })
	number := func(name string, unit gpu.Unit, help string, of func(row) float64) {
		t.Number(name, unit, help, func(r row) gpu.Reading { return known(of(r)) })
	}
	number("month", gpu.Count, "What may be spent.", func(r row) float64 { return r.Month })
	number("month_to_date", gpu.Count, "What is known to have been spent.", func(r row) float64 {
		if r.Known > 0 {
			return r.MonthToDate
		}
		return math.NaN() // nothing is known, which is not nothing spent
	})
	number("known", gpu.Ratio, "Share of the month up to now that this is of: choose a range that begins with the month.", func(r row) float64 { return r.Known })
	number("forecast", gpu.Count, "What the whole month will cost.", func(r row) float64 { return r.Forecast })
	number("forecast_low", gpu.Count, "", func(r row) float64 { return r.Low })
	number("forecast_high", gpu.Count, "", func(r row) float64 { return r.High })
	t.At("used_up", func(r row) time.Time { return r.Crossing })
	return t.Table("efficiency_budgets", o)
}

// groupNumbers is what an alert rule reads: one number for each group.
func groupNumbers(result *efficiency.Result, value string, o frames.Options) *data.Frame {
	if value == "" {
		value = "efficiency"
	}
	unit := gpu.Ratio
	if value == "cost" || value == "waste_per_hour" {
		unit = gpu.Count
	}
	t := frames.SheetOf(groupsOf(result))
	groupColumns(t, result.By)
	t.Number(value, unit, "", func(g *efficiency.Group) gpu.Reading { return known(efficiencyValues()[value](g)) })
	return t.Numbers("efficiency", o)
}
