package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// built is the panel as Grafana has it, without a place.
func (p Panel) built(variables []string, known *catalog.Catalog) (dashboard.Panel, error) {
	builder, found := builders()[p.look.kind]
	if !found {
		return dashboard.Panel{}, fmt.Errorf("panel %q: there is no kind %q", p.Title, p.look.kind)
	}
	out, err := builder(p.look).Build()
	if err != nil {
		return out, fmt.Errorf("panel %q: %w", p.Title, err)
	}
	out.Title = &p.Title
	if p.look.kind == "text" {
		return out, nil
	}
	described := p.description(known)
	out.Description, out.Datasource = &described, chosen()
	if p.judgesNow() {
		out.TimeFrom = cog.ToPtr("$" + windowVariable)
		// Beside the title of a number there is no room for it; the variable at the top says it, too.
		out.HideTimeOverride = cog.ToPtr(p.look.kind == "stat")
	}
	for i, q := range p.Queries {
		out.Targets = append(out.Targets, variants.Dataquery(q.document(string(rune('A'+i)), variables, known)))
	}
	out.Transformations = append(p.look.choosing(), p.look.transforms...)
	if out.FieldConfig == nil {
		out.FieldConfig = dashboard.NewFieldConfigSource()
	}
	p.dress(out.FieldConfig, known)
	return out, nil
}

// dress sets how fields look.
func (p Panel) dress(config *dashboard.FieldConfigSource, known *catalog.Catalog) {
	d, l := &config.Defaults, p.look
	if unit := p.unit(known); unit != "" {
		d.Unit = &unit
	}
	d.Min, d.Max, d.Decimals = l.min, l.max, l.decimals
	if l.noValue != "" {
		d.NoValue = &l.noValue
	}
	mode := dashboard.FieldColorModeIdThresholds
	if l.kind == "timeseries" {
		mode = dashboard.FieldColorModeIdPaletteClassic
	}
	d.Color = &dashboard.FieldColor{Mode: mode}
	d.Thresholds = thresholds(l.colour, l.steps)
	config.Overrides = append(config.Overrides, l.dressing()...)
}

// thresholds are steps above a colour.
func thresholds(colour string, steps []step) *dashboard.ThresholdsConfig {
	if colour == "" {
		colour = "text"
	}
	out := &dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: []dashboard.Threshold{{Color: colour}}}
	for _, s := range steps {
		out.Steps = append(out.Steps, dashboard.Threshold{Value: cog.ToPtr(s.value), Color: s.colour})
	}
	return out
}

// unit is Grafana's unit of what the panel shows.
func (p Panel) unit(known *catalog.Catalog) string {
	if p.look.unit != "" || p.look.unitless || len(p.Queries) == 0 || p.look.kind == "table" || p.look.kind == "heatmap" {
		return p.look.unit
	}
	m, found := known.Metric(p.Queries[0].Metric)
	if !found {
		return ""
	}
	if m.ShownUnit() == gpu.Count && m.Kind == catalog.Counter {
		return "cps"
	}
	return map[gpu.Unit]string{
		gpu.Bytes: "bytes", gpu.BytesPerSecond: "Bps", gpu.Seconds: "s", gpu.Watts: "watt", gpu.Joules: "joule", gpu.Hertz: "hertz",
		gpu.Celsius: "celsius", gpu.Ratio: "percentunit", gpu.Count: "short",
	}[m.ShownUnit()]
}

// column is a column of a table.
type column struct {
	field    string // of the answer
	title    string // "" to leave it as it is
	width    int
	cell     string // "gauge", "text" (coloured text), "background", "" for plain
	link     string // what a click opens: a file of a board, see drill
	unit     string
	decimals *float64
	hidden   bool // in the answer for links alone
	wrap     bool
	steps    []step
	colour   string
}

// choosing leaves the columns of a table in their order, under their titles.
func (l look) choosing() []dashboard.DataTransformerConfig {
	if len(l.columns) == 0 {
		return nil
	}
	names, order, titles := []string{}, map[string]int{}, map[string]string{}
	for i, c := range l.columns {
		names = append(names, c.field)
		order[c.field] = i
		if c.title != "" && c.title != c.field {
			titles[c.field] = c.title
		}
	}
	return []dashboard.DataTransformerConfig{
		{Id: "filterFieldsByName", Options: map[string]any{"include": map[string]any{"names": names}}},
		{Id: "organize", Options: map[string]any{"excludeByName": map[string]bool{}, "indexByName": order, "renameByName": titles}},
	}
}

// dressing is the overrides of a panel: those of columns, and its own.
func (l look) dressing() []dashboard.DashboardFieldConfigSourceOverrides {
	var all []dashboard.DashboardFieldConfigSourceOverrides
	for _, c := range l.columns {
		if properties := c.properties(); len(properties) > 0 {
			name := c.title
			if name == "" {
				name = c.field
			}
			all = append(all, dashboard.DashboardFieldConfigSourceOverrides{Matcher: dashboard.MatcherConfig{Id: "byName", Options: name}, Properties: properties})
		}
	}
	if l.field != "" && l.unit != "" {
		// The data source's own unit comes before the panel's, but not before an override.
		all = append(all, dashboard.DashboardFieldConfigSourceOverrides{Matcher: dashboard.MatcherConfig{Id: "byRegexp", Options: l.field}, Properties: properties("unit", l.unit)})
	}
	if (l.kind == "table" || l.kind == "state-timeline") && l.noValue != "" {
		// It is for an answer without rows, not for cells and times without a value.
		all = append(all, dashboard.DashboardFieldConfigSourceOverrides{Matcher: dashboard.MatcherConfig{Id: "byRegexp", Options: "/.*/"}, Properties: properties("noValue", "")})
	}
	for _, o := range l.overrides {
		all = append(all, dashboard.DashboardFieldConfigSourceOverrides{Matcher: dashboard.MatcherConfig{Id: o.matcher, Options: o.of}, Properties: o.properties})
	}
	return all
}

func property(id string, value any) dashboard.DynamicConfigValue {
	return dashboard.DynamicConfigValue{Id: id, Value: value}
}

func (c column) properties() []dashboard.DynamicConfigValue {
	var all []dashboard.DynamicConfigValue
	if c.hidden {
		return append(all, property("custom.hidden", true))
	}
	if c.width > 0 {
		all = append(all, property("custom.width", c.width))
	}
	switch c.cell {
	case "gauge":
		all = append(all, property("custom.cellOptions", map[string]any{"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}),
			property("min", 0), property("max", 1), property("decimals", 0), property("color", map[string]any{"mode": "continuous-BlPu"}))
	case "text", "background":
		all = append(all, property("custom.cellOptions", map[string]any{"type": "color-" + c.cell}))
	}
	if c.wrap {
		all = append(all, property("custom.cellOptions", map[string]any{"type": "auto", "wrapText": true}))
	}
	if c.unit != "" {
		all = append(all, property("unit", c.unit))
	}
	if c.decimals != nil {
		all = append(all, property("decimals", *c.decimals))
	}
	if len(c.steps) > 0 {
		all = append(all, property("thresholds", thresholds(c.colour, c.steps)), property("color", map[string]any{"mode": "thresholds"}))
	}
	if c.link != "" {
		all = append(all, property("links", []map[string]any{{"title": "Open " + strings.ReplaceAll(c.link, "-", " "), "url": drill(c.link)}}))
	}
	return all
}

// drill is the address of another board for the row that is clicked, with the data source and the time of this one.
func drill(file string) string {
	const of = "?${datasource:queryparam}&${__url_time_range}&var-cluster=${__data.fields.cluster}"
	switch file {
	case "gpu-node-live":
		return "/d/warpwatch-gpu-node-live" + of + "&var-node=${__data.fields.node}"
	case "gpu-job":
		return "/d/warpwatch-gpu-job" + of + "&var-namespace=${__data.fields.namespace}&var-job=${__data.fields.job}"
	}
	return "/d/warpwatch-" + file + of
}

// properties are pairs of an id and a value.
func properties(pairs ...any) []dashboard.DynamicConfigValue {
	var all []dashboard.DynamicConfigValue
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, property(fmt.Sprint(pairs[i]), pairs[i+1]))
	}
	return all
}
