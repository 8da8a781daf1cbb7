package dashboards

import (
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/warpwatch/warpwatch/pkg/query"
)

// windowVariable is how far judgements look back: what was the case an hour ago is another question than how a line went.
const windowVariable = "window"

// windows are its values.
func windows() []string {
	return []string{"5m", "15m", "1h", "3h", "6h", "12h", "24h", "2d", "7d", "14d", "30d"}
}

// judgesNow reports whether the panel judges a window as a whole, not each time of the range. A forecast looks back as far as
// it needs, and a budget is of a month.
func (p Panel) judgesNow() bool {
	return slices.ContainsFunc(p.Queries, func(q Query) bool {
		switch q.Type {
		case query.TypeHealth, query.TypeMemory, query.TypeBottleneck, query.TypeStragglers, query.TypeEfficiency, query.TypeAnomaly:
		default:
			return false
		}
		show := q.options()["show"]
		return p.look.kind != "timeseries" && p.look.kind != "state-timeline" && show != "budgets"
	})
}

// options are those of a judgement.
func (q Query) options() map[string]any {
	options, _ := q.fields["options"].(map[string]any)
	return options
}

// judges reports whether any panel of the board does.
func (b Board) judges() bool {
	return slices.ContainsFunc(b.Sections, func(s Section) bool { return slices.ContainsFunc(s.Panels, Panel.judgesNow) })
}

// window is the variable.
func (b Board) window() cog.Builder[dashboard.VariableModel] {
	options := make([]dashboard.VariableOption, 0, len(windows()))
	for _, w := range windows() {
		options = append(options, windowOption(w, w == b.Window))
	}
	return dashboard.NewCustomVariableBuilder(windowVariable).Label("Judged over").
		Description("How far back verdicts, counts and sums look, when the dashboard's time ends now. Charts have the dashboard's time.").
		Values(dashboard.StringOrMap{String: cog.ToPtr(strings.Join(windows(), ","))}).Options(options).Current(windowOption(b.Window, true)).AllowCustomValue(true)
}

func windowOption(value string, selected bool) dashboard.VariableOption {
	one := dashboard.StringOrArrayOfString{String: cog.ToPtr(value)}
	return dashboard.VariableOption{Text: one, Value: one, Selected: &selected}
}
