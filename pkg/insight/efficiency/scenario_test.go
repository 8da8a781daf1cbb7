package efficiency

import (
	"embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

//go:embed testdata/*.test
var scenarios embed.FS

// The words behind eval efficiency are settings, key=value:
//
//	by, charge, jobGPUs      options
//	missing, idleMinutes     limits
//	price=MODEL[@CLUSTER]:AMOUNT, currency, pue, carbon, kwh  the tariff
//	tenure=UUID:FROM-TO:NAMESPACE/POD  who had a device, "-" for nobody
//	show=costs,energy,charge,use,idle,jobs,fragments,unpriced,missing,notices  what is written besides hours
func TestScenarios(t *testing.T) {
	insighttest.Run(t, scenarios, insighttest.Evals{"efficiency": evaluate})
}

func evaluate(s *insighttest.Scenario, args []string) ([]string, error) {
	in := Input{Devices: s.Devices, Workloads: s.Workloads}
	limits, tariff, options := DefaultLimits(), Tariff{Currency: "EUR"}, Options{}
	show := ""
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		var err error
		switch name {
		case "by":
			for by := range strings.SplitSeq(value, ",") {
				options.By = append(options.By, By(by))
			}
		case "charge":
			options.Charge = Mode(value)
		case "jobGPUs":
			options.JobGPUs, err = strconv.Atoi(value)
		case "missing":
			limits.Missing = value
		case "idleMinutes":
			limits.IdleMinutes, err = strconv.ParseFloat(value, 64)
		case "price":
			where, amount, _ := strings.Cut(value, ":")
			p := Price{}
			p.Model, p.Cluster, _ = strings.Cut(where, "@")
			p.PerGPUHour, err = strconv.ParseFloat(strings.TrimSuffix(amount, "USD"), 64)
			if strings.HasSuffix(amount, "USD") {
				p.Currency = "USD"
			}
			tariff.Prices = append(tariff.Prices, p)
		case "pue":
			tariff.PUE, err = strconv.ParseFloat(value, 64)
		case "carbon":
			tariff.CarbonKgPerKWh, err = strconv.ParseFloat(value, 64)
		case "kwh":
			tariff.EnergyPerKWh, err = strconv.ParseFloat(value, 64)
		case "tenure":
			var t Tenure
			if t, err = tenureOf(s, value); err == nil {
				in.Tenures = append(in.Tenures, t)
			}
		case "show":
			show = value
		default:
			err = fmt.Errorf("unknown setting %q", arg)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, err := range []error{limits.Validate(), tariff.Validate(), options.Validate()} {
		if err != nil {
			return nil, err
		}
	}
	return write(s, Measure(in, limits, tariff, options), strings.Split(show, ",")), nil
}

func tenureOf(s *insighttest.Scenario, text string) (Tenure, error) {
	parts := strings.Split(text, ":")
	t := Tenure{Subject: slices.IndexFunc(s.Devices.Subjects, func(d insight.Subject) bool { return d.UUID == parts[0] })}
	if len(parts) != 3 || t.Subject < 0 {
		return t, fmt.Errorf("tenure %q names no device", text)
	}
	from, to, _ := strings.Cut(parts[1], "-")
	start, err := time.ParseDuration(from)
	if err != nil {
		return t, err
	}
	end, err := time.ParseDuration(to)
	if err != nil {
		return t, err
	}
	t.From, t.To = s.Start.Add(start).UnixMilli(), s.Start.Add(end).UnixMilli()
	if parts[2] != "-" {
		namespace, pod, _ := strings.Cut(parts[2], "/")
		t.Owners = []gpu.Owner{{Namespace: namespace, Pod: pod}}
	}
	return t, nil
}

// short writes a number with three digits behind the point at most.
func short(v float64) string {
	if math.IsNaN(v) {
		return "?"
	}
	if abs := math.Abs(v); abs > 0 && abs < 0.001 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

func parts(p Parts) string {
	var b strings.Builder
	for _, part := range []struct {
		name  string
		value float64
	}{{"used", p.Used}, {"idle", p.Idle}, {"unmeasured", p.Unmeasured}, {"unallocated", p.Unallocated}, {"broken", p.Broken}, {"absent", p.Absent}} {
		if part.value > 1e-12 {
			fmt.Fprintf(&b, " %s %s", part.name, short(part.value))
		}
	}
	return b.String()
}

func write(s *insighttest.Scenario, r *Result, show []string) []string {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, g := range append([]*Group{r.Total}, r.Groups...) {
		name := "total"
		if g != r.Total {
			names := slices.Clone(g.Values)
			for i, n := range names {
				if n == NotOwned {
					names[i] = "-"
				}
			}
			name = strings.Join(names, "/")
		}
		text := fmt.Sprintf("%s %s GPUs:%s", name, short(g.GPUs), parts(g.Hours))
		if g.Pool > 1e-12 {
			text += " pool " + short(g.Pool)
		}
		if c := g.Hours.Coverage(); c < 1 {
			text += " coverage " + short(c)
		}
		lines = append(lines, text)
		if slices.Contains(show, "use") {
			line("  efficiency %s of %s, memory %s GiB h, ceiling %s", short(g.Efficiency()), short(g.ActivityKnown), short(g.MemoryGiBHours), short(g.Ceiling))
		}
		if slices.Contains(show, "energy") {
			e := g.Energy
			line("  kWh%s known %s by %q estimated %s site %s carbon %s", parts(e.KWh), short(e.Known), e.Source, short(e.Estimated), short(e.SiteKWh), short(e.CarbonKg))
		}
		if slices.Contains(show, "charge") {
			partly := ""
			if g.ChargeKnown < 1 {
				partly = " known " + short(g.ChargeKnown)
			}
			line("  charged %s %s%s", short(g.ChargeQuantity), g.ChargeUnit, partly)
		}
		if slices.Contains(show, "costs") {
			for _, c := range g.Costs {
				if c.Priced == 0 {
					line("  %s of energy, charge %s", c.Currency, short(c.Charge))
					continue
				}
				line("  %s%s, charge %s, waste %s/h", c.Currency, parts(c.Parts), short(c.Charge), short(c.WastePerHour))
			}
			if g.Unpriced > 0 {
				line("  unpriced %s h", short(g.Unpriced))
			}
		}
	}
	return append(lines, rest(s, r, show)...)
}

func rest(s *insighttest.Scenario, r *Result, show []string) (lines []string) {
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, what := range show {
		switch what {
		case "idle":
			for _, i := range r.Idle {
				owners := make([]string, len(i.Owners))
				for k, o := range i.Owners {
					owners[k] = o.Name()
				}
				open := ""
				if i.Open {
					open = " or before"
				}
				line("idle %s of %s since %s%s activity %s costs %s %s/h", insighttest.Name(insight.Subject{Device: i.Device}), strings.Join(owners, "+"), s.Offset(i.Since), open, short(i.Activity), short(i.PerHour), i.Currency)
			}
		case "fragments":
			for _, f := range r.Fragments {
				line("cluster %q jobs of %d: %d of %d free, fragmentation %s", f.Cluster, f.JobGPUs, f.Usable, f.Free, short(f.Ratio))
			}
		case "unpriced":
			for _, u := range r.Unpriced {
				line("unpriced %q in %q %s h", u.Model, u.Cluster, short(u.Hours))
			}
		case "missing":
			line("missing %v confidence %s", r.Missing, r.Confidence)
		case "notices":
			for _, n := range r.Notices {
				line("notice %s", n.Text)
			}
		case "jobs":
			for _, j := range r.Jobs {
				line("%s %s/%s %s GPUs %s h, %s tokens, %s/s, %s/J, %s %s per million", j.Kind, j.Namespace, j.Name, short(j.GPUs), short(j.Hours),
					short(j.Tokens), short(j.TokensPerSecond), short(j.TokensPerJoule), short(j.CostPerMillion), j.Currency)
				line("  MFU %s reachable %s by %q reported %s ceiling %s %s", short(j.MFU), short(j.ReachableMFU), j.MFUFrom, short(j.ReportedMFU), short(j.Ceiling), j.Confidence)
				for _, n := range j.Notes {
					line("  note %s", n)
				}
			}
		}
	}
	return lines
}
