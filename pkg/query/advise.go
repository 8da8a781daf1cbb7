package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Advise finds mistakes that published dashboards and rules make again and again with the series of GPUs: a rate of what
// is a rate already, the numbers of XIDs added up, per cent taken for a ratio, labels of another exporter. Everything it
// says is a fact about the series; it is silent about what it does not know and about what does not parse.
func Advise(expr string, c *catalog.Catalog) []gpu.Notice {
	parsed, err := parsePromQL(expr)
	if err != nil {
		return nil
	}
	return advise(parsed, c)
}

func advise(expr parser.Expr, c *catalog.Catalog) []gpu.Notice {
	a := adviser{catalog: c, labels: map[string]bool{}}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		a.note(node)
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.Call:
			a.call(n)
		case *parser.BinaryExpr:
			a.compare(n.LHS, n.RHS, n.Op)
			a.compare(n.RHS, n.LHS, mirrored(n.Op))
			a.divide(n)
			a.match(n)
		case *parser.AggregateExpr:
			a.group(n)
		case *parser.VectorSelector:
			for _, m := range n.LabelMatchers {
				if m.Type == labels.MatchRegexp && m.Value == "" {
					a.say(`%s selects what has no label %s, which is nothing when a variable was meant: is it empty?`, m, m.Name)
				}
				if m.Value != "" || m.Type != labels.MatchEqual { // which asks for its absence
					a.label(n, m.Name)
				}
			}
		}
		return nil
	})
	return a.notices
}

type adviser struct {
	catalog *catalog.Catalog
	labels  map[string]bool // that the expression names anywhere
	notices []gpu.Notice
}

func (a *adviser) say(format string, args ...any) {
	n := gpu.Notice{Severity: gpu.Info, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(a.notices, n) {
		a.notices = append(a.notices, n)
	}
}

// note remembers the labels that the expression names.
func (a *adviser) note(node parser.Node) {
	switch n := node.(type) {
	case *parser.VectorSelector:
		for _, m := range n.LabelMatchers {
			a.labels[m.Name] = true
		}
	case *parser.AggregateExpr:
		for _, name := range n.Grouping {
			a.labels[name] = true
		}
	case *parser.BinaryExpr:
		if n.VectorMatching != nil {
			for _, name := range slices.Concat(n.VectorMatching.MatchingLabels, n.VectorMatching.Include) {
				a.labels[name] = true
			}
		}
	case *parser.StringLiteral:
		a.labels[n.Val] = true // of label_replace() and the like
	}
}

// source is what the catalogue knows of a selector's series, false when it is no or not only one metric's.
func (a *adviser) source(selector *parser.VectorSelector) (catalog.Source, catalog.Metric, bool) {
	sources := a.catalog.Lookup(nameOf(selector))
	if len(sources) != 1 {
		return catalog.Source{}, catalog.Metric{}, false
	}
	m, ok := a.catalog.Metric(sources[0].Metric)
	return sources[0], m, ok
}

// call looks for rates of what is no counter.
func (a *adviser) call(call *parser.Call) {
	fn := call.Func.Name
	if !isSlope(fn) {
		return
	}
	matrix, ok := unwrap(call.Args[0]).(*parser.MatrixSelector)
	if !ok {
		return
	}
	selector, ok := matrix.VectorSelector.(*parser.VectorSelector)
	if !ok {
		return
	}
	a.repeated(fn, selector, matrix.Range)
	if fn != "rate" && fn != "irate" && fn != "increase" {
		return
	}
	_, m, ok := a.source(selector)
	name := nameOf(selector)
	switch {
	case !ok || m.Kind != catalog.Gauge:
	case m.Latched:
		a.say("%s holds the number of the last event, so %s() adds up numbers; use changes() to see when it changes.", name, fn)
	case m.Unit == gpu.BytesPerSecond:
		a.say("%s is a rate already: show it without %s().", name, fn)
	case m.Unit == gpu.Ratio || m.Unit == gpu.Celsius || m.Unit == gpu.Watts || m.Unit == gpu.Hertz:
		a.say("%s goes up and down, and %s() takes each fall for a restart; use deriv() or delta().", name, fn)
	}
}

// isSlope reports whether a function says how fast something changes.
func isSlope(function string) bool {
	return slices.Contains([]string{"rate", "irate", "increase", "delta", "idelta", "deriv", "predict_linear"}, function)
}

// RefreshOfDCGM is how often dcgm-exporter measures unless it is told otherwise; in between it repeats itself, however often
// it is scraped.
const RefreshOfDCGM = 30 * time.Second

// repeated looks for changes over less time than there is between two measurements.
func (a *adviser) repeated(function string, selector *parser.VectorSelector, span time.Duration) {
	if dialect, ok := a.catalog.SeriesDialect(nameOf(selector)); !ok || dialect != catalog.DCGM || span >= RefreshOfDCGM {
		return
	}
	n := gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf("%s() of %s looks at %s, and dcgm-exporter measures every %s unless it is told otherwise (--collect-interval): "+
		"what it repeats in between has no slope. Look at %s or more.",
		function, nameOf(selector), model.Duration(span), model.Duration(RefreshOfDCGM), model.Duration(2*RefreshOfDCGM))}
	if !slices.Contains(a.notices, n) {
		a.notices = append(a.notices, n)
	}
}

// compare looks at a comparison of a series with a number for one in another unit.
func (a *adviser) compare(side, other parser.Expr, op parser.ItemType) {
	number, ok := unwrap(other).(*parser.NumberLiteral)
	if !ok || !op.IsComparisonOperator() {
		return
	}
	selector := sameUnit(side)
	if selector == nil {
		return
	}
	source, m, ok := a.source(selector)
	if !ok || m.ShownUnit() != gpu.Ratio || m.Kind != catalog.Gauge {
		return
	}
	name, value := nameOf(selector), number.Val
	switch {
	case source.Conversion.Unit == "percent" && value > 0 && value < 1:
		a.say("%s is in per cent, from 0 to 100: %s is less than one per cent.", name, plain(value))
	case source.Conversion.Unit == "" && value >= 2 && (op == parser.GTR || op == parser.GTE):
		a.say("%s is a ratio, from 0 to 1: it is never above %s.", name, plain(value))
	}
}

// sameUnit is the only selector of an expression whose value is in the unit of its series, nil when there is none such.
func sameUnit(expr parser.Expr) *parser.VectorSelector {
	switch e := unwrap(expr).(type) {
	case *parser.VectorSelector:
		return e
	case *parser.MatrixSelector:
		return sameUnit(e.VectorSelector)
	case *parser.SubqueryExpr:
		return sameUnit(e.Expr)
	case *parser.AggregateExpr:
		if slices.Contains([]parser.ItemType{parser.AVG, parser.MAX, parser.MIN, parser.QUANTILE, parser.TOPK, parser.BOTTOMK}, e.Op) {
			return sameUnit(e.Expr)
		}
	case *parser.Call:
		switch e.Func.Name {
		case "avg_over_time", "max_over_time", "min_over_time", "last_over_time":
			return sameUnit(e.Args[0])
		case "quantile_over_time":
			return sameUnit(e.Args[1])
		}
	}
	return nil
}

// divide looks for divisors that belong to another unit.
func (a *adviser) divide(n *parser.BinaryExpr) {
	number, ok := unwrap(n.RHS).(*parser.NumberLiteral)
	if !ok || n.Op != parser.DIV {
		return
	}
	selector := onlySelector(n.LHS)
	if selector == nil {
		return
	}
	source, _, ok := a.source(selector)
	switch {
	case !ok:
	case source.Conversion.Unit == "millijoules" && number.Val == 3.6e12:
		a.say("%s is in millijoules: divide by 3.6e9 for kilowatt-hours; 3.6e12 is a thousand times too much.", nameOf(selector))
	case source.Conversion.Unit == "nanoseconds" && number.Val == 1e6:
		a.say("%s is in nanoseconds: divided by 1e6 it is in milliseconds; divide by 1e9 for seconds.", nameOf(selector))
	}
}

// onlySelector is the selector of an expression that only adds up or takes rates, nil for any other.
func onlySelector(expr parser.Expr) *parser.VectorSelector {
	switch e := unwrap(expr).(type) {
	case *parser.AggregateExpr:
		if e.Op == parser.SUM || e.Op == parser.AVG || e.Op == parser.MAX {
			return onlySelector(e.Expr)
		}
	case *parser.Call:
		if slices.Contains([]string{"rate", "irate", "increase", "delta"}, e.Func.Name) {
			return sameUnit(e.Args[0])
		}
	case *parser.VectorSelector:
		return e
	}
	return nil
}

// match looks for joins with absent(), which has few labels.
func (a *adviser) match(n *parser.BinaryExpr) {
	if n.Op != parser.LAND || n.VectorMatching == nil || !n.VectorMatching.On {
		return
	}
	for _, side := range []parser.Expr{n.LHS, n.RHS} {
		call, ok := unwrap(side).(*parser.Call)
		if !ok || call.Func.Name != "absent" && call.Func.Name != "absent_over_time" {
			continue
		}
		selector := sameUnit(call.Args[0])
		if selector == nil {
			continue
		}
		for _, name := range n.VectorMatching.MatchingLabels {
			if !slices.ContainsFunc(selector.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == name && m.Type == labels.MatchEqual }) {
				a.say("%s() has no label %s, because its selector does not compare it with =: the two sides never match by it.", call.Func.Name, name)
			}
		}
	}
}

// group looks at the labels that series of GPUs are grouped by.
func (a *adviser) group(n *parser.AggregateExpr) {
	selector := sameUnit(n.Expr)
	if selector == nil || n.Without {
		return
	}
	for _, name := range n.Grouping {
		a.label(selector, name)
	}
}

// label tells labels that the exporter of a selector's series has under another name.
func (a *adviser) label(selector *parser.VectorSelector, name string) {
	dialect, ok := a.catalog.SeriesDialect(nameOf(selector))
	if !ok {
		return
	}
	switch {
	case dialect == catalog.DCGM && name == "Hostname" && !a.labels["hostname"]:
		a.say("dcgm-exporter 4.8.3 renamed the label Hostname to hostname; use $__gpu_filter and $__gpu_identity where exporters of both kinds run.")
	case dialect == catalog.Warpwatch && dcgmLabels()[name] != "":
		a.say("%s has no label %s; it is %s there.", nameOf(selector), name, dcgmLabels()[name])
	}
}

// dcgmLabels are labels that only dcgm-exporter has, with what our agent calls them.
func dcgmLabels() map[string]string {
	return map[string]string{
		"Hostname": "node", "UUID": "gpu_uuid", "modelName": "model", "GPU_I_ID": "mig_id", "GPU_I_PROFILE": "mig_profile",
	}
}

// mirrored is a comparison with its sides exchanged.
func mirrored(op parser.ItemType) parser.ItemType {
	switch op {
	case parser.GTR:
		return parser.LSS
	case parser.GTE:
		return parser.LTE
	case parser.LSS:
		return parser.GTR
	case parser.LTE:
		return parser.GTE
	}
	return op
}

func plain(v float64) string { return strings.TrimSpace(strconv.FormatFloat(v, 'g', -1, 64)) }
