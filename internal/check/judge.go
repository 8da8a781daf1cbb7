package check

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// verdict is what an answer is worth.
type verdict struct {
	series, values int
	told           int // texts
	low, high      float64
	unit           string
	notices        []string
	faults         []string
	dark           []string // what to export, where there is no value and that is no fault
	quiet          []string // what an empty list means
}

// judged is what an answer is judged by beside its query.
type judged struct {
	empty  string // what the panel says where there is nothing
	agents bool   // whether agents measure the fleet
	long   bool   // whether the range goes back to before the stack was started
}

// judge reads an answer to a query of a panel.
func judge(query map[string]any, a answer, known *catalog.Catalog, by judged) verdict {
	v := verdict{low: math.Inf(1), high: math.Inf(-1)}
	if a.Error != "" {
		v.faults = append(v.faults, a.Error)
		return v
	}
	want, limit := expectation(query, known)
	if reduce, is := query["reduce"].(map[string]any); is && (reduce["mode"] == "heatmap" || reduce["mode"] == "bands") {
		limit = bounds{math.Inf(-1), math.Inf(1)} // counts are among the values
	}
	for _, f := range a.Frames {
		for _, n := range f.Schema.Meta.Notices {
			v.notices = append(v.notices, n.Severity+": "+n.Text)
		}
		for i, column := range f.Schema.Fields {
			if i >= len(f.Data.Values) {
				continue
			}
			if column.Type != "number" {
				v.told += told(f.Data.Values[i], column.Type)
				continue
			}
			v.series++
			v.read(f.Data.Values[i])
			if counts(query, column) {
				continue
			}
			if v.unit = column.Config.Unit; want != "" && v.unit != want {
				v.fault("field %q is in %q, its metric in %q", column.Name, v.unit, want)
			}
		}
	}
	switch {
	case v.values+v.told == 0:
		switch mark, text := reason(query, v.notices, known, by); mark {
		case MarkDark:
			v.dark = append(v.dark, text)
		case MarkQuiet:
			v.quiet = append(v.quiet, text)
		default:
			v.fault("empty")
		}
	case v.values == 0:
	case v.low < limit.low || v.high > limit.high:
		v.fault("values from %g to %g, possible are %g to %g", v.low, v.high, limit.low, limit.high)
	}
	return v
}

// reason is why an answer may be empty; a mark of "BAD" where it may not. What agents measure is there in a fleet that has agents.
// Else the panel must name what to export, unless it is a list that may have nothing to tell.
func reason(query map[string]any, notices []string, known *catalog.Catalog, by judged) (mark, text string) {
	name, _ := query["metric"].(string)
	metric, isMetric := known.Metric(name)
	if isMetric && metric.Agent && by.agents && !notSimulated(name) {
		return MarkBad, ""
	}
	for _, said := range append(slices.Clone(notices), by.empty) {
		if named().MatchString(said) {
			return MarkDark, said
		}
	}
	if by.long && ofScrapes(query) {
		return MarkDark, "what Prometheus writes of its own scrapes begins with the stack, and steps may be longer than that"
	}
	if by.empty != "" && (lists(query) || ofInstances(query)) {
		return MarkQuiet, by.empty
	}
	return MarkBad, ""
}

// named finds what somebody could export, scrape or configure.
func named() *regexp.Regexp {
	return regexp.MustCompile(`\b(DCGM_(FI|EXP)|train|serve|nvidia_smi|warpwatch)_|none of its series|/metrics|\bredfish\b|warpwatch-agent`)
}

// ofInstances reports whether a query is of MIG instances, which a fleet need not have.
func ofInstances(query map[string]any) bool {
	instances, _ := query["migs"].([]any)
	return len(instances) > 0
}

// ofScrapes reports whether a query is of the series that Prometheus writes with each scrape, which no history is made of.
func ofScrapes(query map[string]any) bool {
	expr, _ := query["expr"].(string)
	return query["queryType"] == "promql" && strings.Contains(expr, "scrape_")
}

// lists reports whether a query lists what happened or is wrong, which may be nothing.
func lists(query map[string]any) bool {
	options, _ := query["options"].(map[string]any)
	switch query["queryType"] {
	case "events", "processes":
		return true
	case "health":
		return options["show"] == "gpus" || options["show"] == "incidents"
	case "anomaly":
		return options["show"] == "episodes"
	case "stragglers":
		return options["show"] == "suspects" || options["show"] == "skew"
	case "efficiency":
		return options["show"] == "idle" || options["show"] == "budgets" || options["show"] == "jobs"
	case "forecast":
		return true
	}
	return false
}

// notSimulated reports whether the demo may leave a metric out that agents on real boards measure: data centre boards have no
// fans, and counters of errors are not in the history that the demo begins with, so that long ranges have them only after a while.
func notSimulated(name string) bool {
	return name == "gpu_fan_speed_ratio" || strings.HasSuffix(name, "_errors_total") || strings.HasPrefix(name, "gpu_c2c_")
}

// told is how many texts of a column say something.
func told(values []any, kind string) int {
	n := 0
	for _, value := range values {
		if text, is := value.(string); is && text != "" && kind == "string" {
			n++
		}
	}
	return n
}

// counts reports whether a column counts lines, and is in no unit of the metric.
func counts(query map[string]any, column field) bool {
	reduce, _ := query["reduce"].(map[string]any)
	return reduce["mode"] == "heatmap" || reduce["mode"] == "bands" && strings.HasSuffix(column.Name, "count")
}

func (v *verdict) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !strings.Contains(strings.Join(v.faults, "\n"), text) {
		v.faults = append(v.faults, text)
	}
}

func (v *verdict) read(values []any) {
	for _, value := range values {
		if n, ok := value.(float64); ok {
			v.values++
			v.low, v.high = min(v.low, n), max(v.high, n)
		}
	}
}

// bounds are the values that a unit can have on a GPU of today; what lies outside was converted wrongly.
type bounds struct{ low, high float64 }

// expectation is Grafana's unit of the metric that a query asks for, and its bounds. A PromQL query may have any.
func expectation(query map[string]any, known *catalog.Catalog) (unit string, b bounds) {
	anything := bounds{math.Inf(-1), math.Inf(1)}
	name, _ := query["metric"].(string)
	metric, found := known.Metric(name)
	if !found {
		return "", anything
	}
	measured := metric.Unit
	rate := metric.Kind == catalog.Counter
	if rate {
		measured = measured.PerSecond()
	}
	// A sum is of many devices.
	many := query["aggregation"] == "sum"
	switch measured {
	case gpu.Ratio:
		if rate {
			// Two scrapes that are 14 s apart may see 15 s of the agent's, and live rates are over 4 s, of which a busy machine's
			// simulators may read the last a second late: 5/4.
			return "percentunit", orMore(bounds{0, 1.26}, many)
		}
		return "percentunit", orMore(bounds{0, 1.001}, many)
	case gpu.Celsius:
		return "celsius", bounds{-40, 130}
	case gpu.Watts:
		return "watt", orMore(bounds{0, 3000}, many)
	case gpu.Hertz:
		return "hertz", bounds{0, 2e10}
	case gpu.Bytes:
		return "bytes", orMore(bounds{0, 1e12}, many)
	case gpu.BytesPerSecond:
		return "Bps", orMore(bounds{0, 5e12}, many)
	case gpu.Seconds:
		return "s", anything
	case gpu.Joules:
		return "joule", anything
	case gpu.Count:
		if rate {
			return "cps", bounds{0, math.Inf(1)}
		}
		return "short", bounds{0, math.Inf(1)}
	default:
		return "none", anything
	}
}

func orMore(b bounds, many bool) bounds {
	if many {
		b.high = math.Inf(1)
	}
	return b
}
