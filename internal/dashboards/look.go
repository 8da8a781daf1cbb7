package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/text"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// look is how a panel shows its answers.
type look struct {
	kind       string // Grafana's panel type; see builder
	unit       string // "" for the first metric's
	unitless   bool   // the answers' own units
	min, max   *float64
	decimals   *float64
	noValue    string
	steps      []step // thresholds; none for one colour
	lines      bool   // thresholds as lines in the chart
	colour     string // of the lowest step
	stacked    bool
	field      string         // the column of a stat, a regular expression; "" for all numbers
	calc       string         // how a stat reduces it, "lastNotNull" when ""
	graph      bool           // a stat with its past
	content    string         // of a text
	options    map[string]any // of a panel that the SDK does not know
	frame      int            // of a table
	columns    []column
	transforms []dashboard.DataTransformerConfig
	overrides  []override
	sort       *common.TableSortByFieldState
}

// step is a threshold: from value on, colour.
type step struct {
	value  float64
	colour string
}

// override changes fields of a panel.
type override struct {
	matcher, of string
	properties  []dashboard.DynamicConfigValue
}

// builders make empty panels of each type.
func builders() map[string]func(look) cog.Builder[dashboard.Panel] {
	return map[string]func(look) cog.Builder[dashboard.Panel]{
		"stat":           statOf,
		"bargauge":       barGaugeOf,
		"timeseries":     timeSeriesOf,
		"heatmap":        heatmapOf,
		"state-timeline": statesOf,
		"table":          tableOf,
		"nodeGraph":      nodeGraphOf,
		fleetPanel:       fleetOf,
		"text": func(l look) cog.Builder[dashboard.Panel] {
			return text.NewPanelBuilder().Mode(text.TextModeMarkdown).Content(l.content).Transparent(true)
		},
	}
}

// reduced is how one value is made of an answer.
func (l look) reduced() cog.Builder[common.ReduceDataOptions] {
	calc := l.calc
	if calc == "" {
		calc = "lastNotNull"
	}
	return common.NewReduceDataOptionsBuilder().Values(false).Calcs([]string{calc}).Fields(l.field)
}

func statOf(l look) cog.Builder[dashboard.Panel] {
	graph := common.BigValueGraphModeNone
	if l.graph {
		graph = common.BigValueGraphModeArea
	}
	mode := common.BigValueTextModeAuto
	if l.graph {
		mode = common.BigValueTextModeValueAndName // one of several lines
	}
	return stat.NewPanelBuilder().Orientation(common.VizOrientationAuto).GraphMode(graph).TextMode(mode).ColorMode(common.BigValueColorModeValue).ReduceOptions(l.reduced())
}

func barGaugeOf(l look) cog.Builder[dashboard.Panel] {
	return bargauge.NewPanelBuilder().DisplayMode(common.BarGaugeDisplayModeBasic).Orientation(common.VizOrientationHorizontal).
		ReduceOptions(l.reduced()).ShowUnfilled(true).MinVizHeight(16).MaxVizHeight(28)
}

func timeSeriesOf(l look) cog.Builder[dashboard.Panel] {
	b := timeseries.NewPanelBuilder().LineWidth(1).FillOpacity(0).ShowPoints(common.VisibilityModeNever).PointSize(4).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if l.stacked {
		b = b.FillOpacity(60).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal).Group("A"))
	}
	if l.lines {
		b = b.ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
	}
	return b
}

func heatmapOf(look) cog.Builder[dashboard.Panel] {
	return heatmap.NewPanelBuilder().Calculate(false).CellGap(1).ShowValue(common.VisibilityModeNever).ShowLegend().
		Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Blues").Steps(64).Reverse(false).Exponent(0.5).Fill("dark-blue").Scale(heatmap.HeatmapColorScaleExponential)).
		CellValues(heatmap.NewCellValuesBuilder().Unit("short"))
}

// statesPerPage is how many lines of states are readable at once.
const statesPerPage = 16

func statesOf(look) cog.Builder[dashboard.Panel] {
	return statetimeline.NewPanelBuilder().PerPage(statesPerPage).MergeValues(true).RowHeight(0.85).ShowValue(common.VisibilityModeAuto).FillOpacity(75).LineWidth(0).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeSingle))
}

func tableOf(l look) cog.Builder[dashboard.Panel] {
	b := table.NewPanelBuilder().CellHeight(common.TableCellHeightSm).ShowHeader(true).FrameIndex(float64(l.frame)).Filterable(true)
	if l.sort != nil {
		b = b.SortBy([]cog.Builder[common.TableSortByFieldState]{common.NewTableSortByFieldStateBuilder().DisplayName(l.sort.DisplayName).Desc(l.sort.Desc != nil && *l.sort.Desc)})
	}
	return b
}
