package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"

	"github.com/warpwatch/warpwatch/pkg/query"
)

// The sizes of panels. Three numbers go side by side: with more, the notices beside a title leave no room for it on a laptop.
const (
	third, half, full = 8, 12, 24

	statHeight, chartHeight, tableHeight = 3, 8, 10
)

// change alters how a panel looks.
type change func(*look)

// number is one number of a metric, with its past behind it.
func number(title string, q Query, help Help, changes ...change) Panel {
	return panel(title, third, statHeight, help, look{kind: "stat", graph: true, colour: "blue"}, []Query{q}, changes)
}

// value is one column of a judgement or table.
func value(title, field string, q Query, help Help, changes ...change) Panel {
	return panel(title, third, statHeight, help, look{kind: "stat", field: "/^" + field + "$/", colour: "blue", unitless: true}, []Query{q}, changes)
}

// bars is a bar for each line of a metric.
func bars(title string, q Query, help Help, changes ...change) Panel {
	return panel(title, third, chartHeight, help, look{kind: "bargauge", colour: "green"}, []Query{q}, changes)
}

// chart is lines over time.
func chart(title string, help Help, queries []Query, changes ...change) Panel {
	return panel(title, half, chartHeight, help, look{kind: "timeseries", colour: "green"}, queries, changes)
}

// bandsOf are quantiles over the whole selection, whatever its size.
func bandsOf(title, name string, help Help, changes ...change) Panel {
	for _, band := range []struct{ name, colour string }{{"min", "light-blue"}, {"p5", "light-blue"}, {"p25", "blue"}, {"p50", "dark-blue"}, {"p75", "blue"}, {"p95", "light-blue"}, {"max", "light-blue"}} {
		changes = append(changes, fixed(band.name, band.colour))
	}
	changes = append(changes, func(l *look) {
		// How many devices there are is in the tooltip alone, and needs no axis.
		l.overrides = append(l.overrides, override{"byName", "count", properties("custom.axisPlacement", "hidden")})
	})
	return chart(title, help, []Query{metric(name).reduced(query.ReduceBands)}, changes...)
}

// heat is how many devices have a value, over time.
func heat(title, name string, help Help, changes ...change) Panel {
	return panel(title, half, chartHeight, help, look{kind: "heatmap"}, []Query{metric(name).reduced(query.ReduceHeatmap)}, changes)
}

// states is what each device was in.
func states(title string, q Query, help Help, changes ...change) Panel {
	return panel(title, full, tableHeight, help, look{kind: "state-timeline", unitless: true}, []Query{q}, changes)
}

// grid is a table with some columns.
func grid(title string, q Query, help Help, columns []column, changes ...change) Panel {
	return panel(title, full, tableHeight, help, look{kind: "table", unitless: true, columns: columns}, []Query{q}, changes)
}

// most keeps the ten lines of a chart with the highest values, for boards of a whole fleet.
func (p Panel) most() Panel {
	p.Queries = append([]Query{}, p.Queries...)
	p.Queries[0] = p.Queries[0].top(10)
	return p
}

func panel(title string, w, h uint32, help Help, l look, queries []Query, changes []change) Panel {
	for _, c := range changes {
		c(&l)
	}
	return Panel{Title: title, W: w, H: h, Help: help, Queries: queries, look: l}
}

// rising are thresholds of what is worse the higher it is.
func rising(warn, bad float64) change {
	return func(l *look) { l.colour, l.steps = "green", []step{{warn, "orange"}, {bad, "red"}} }
}

// falling are thresholds of what is worse the lower it is.
func falling(bad, warn float64) change {
	return func(l *look) { l.colour, l.steps = "red", []step{{bad, "orange"}, {warn, "green"}} }
}

// anyIs colours everything above zero.
func anyIs(colour string) change {
	return func(l *look) { l.colour, l.steps = "green", []step{{0.5, colour}} }
}

// drawn draws thresholds as lines.
func drawn(l *look) { l.lines = true }

// stack puts lines on each other.
func stack(l *look) { l.stacked = true }

// between sets the scale.
func between(low, high float64) change {
	return func(l *look) { l.min, l.max = cog.ToPtr(low), cog.ToPtr(high) }
}

// positive starts the scale at 0.
func positive(l *look) { l.min = cog.ToPtr(0.0) }

// rounded shows so many decimals.
func rounded(decimals float64) change {
	return func(l *look) { l.decimals = cog.ToPtr(decimals) }
}

// otherwise is what stands where there is no value.
func otherwise(text string) change { return func(l *look) { l.noValue = text } }

// in sets the unit.
func in(unit string) change { return func(l *look) { l.unit = unit } }

// counted counts rows.
func counted(l *look) { l.calc, l.unit, l.decimals = "count", "none", cog.ToPtr(0.0) }

// painted gives the lowest step another colour.
func painted(colour string) change { return func(l *look) { l.colour = colour } }

// sorted sorts a table by a column.
func sorted(column string, descending bool) change {
	return func(l *look) { l.sort = &common.TableSortByFieldState{DisplayName: column, Desc: &descending} }
}

// dashed draws the lines of a query as a red dashed limit.
func dashed(ref string) change {
	return func(l *look) {
		l.overrides = append(l.overrides, override{"byFrameRefID", ref, properties(
			"custom.lineStyle", map[string]any{"fill": "dash", "dash": []int{8, 6}}, "color", map[string]any{"mode": "fixed", "fixedColor": "red"}, "custom.lineWidth", 1)})
	}
}

// fixed gives a line its colour, by name.
func fixed(name, colour string) change {
	return func(l *look) {
		l.overrides = append(l.overrides, override{"byName", name, properties("color", map[string]any{"mode": "fixed", "fixedColor": colour})})
	}
}
