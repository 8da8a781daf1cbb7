package dashboards

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// gridWidth is Grafana's.
const gridWidth = 24

// JSON is the dashboard in Grafana's classic schema, with a revision.
func (b Board) JSON(known *catalog.Catalog, revision int64) ([]byte, error) {
	built, err := b.build(known, revision)
	if err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", b.File, err)
	}
	text, err := json.Marshal(built)
	if err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", b.File, err)
	}
	// The SDK leaves out an id that is not set; Grafana's importer wants it said.
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", b.File, err)
	}
	fields["id"] = json.RawMessage("null")
	text, err = json.MarshalIndent(fields, "", "  ")
	return append(text, '\n'), err
}

// Boards are written in the first schema: Grafana 12.3 imports no other from an app.
//
//nolint:staticcheck // of the SDK's deprecation in favour of the second schema
func (b Board) build(known *catalog.Catalog, revision int64) (dashboard.Dashboard, error) {
	builder := dashboard.NewDashboardBuilder(b.Title).Uid(b.UID).Description(b.Question).Tags(b.tags()).Revision(revision).Version(1).
		Editable().Tooltip(dashboard.DashboardCursorSyncCrosshair).Time(b.From, "now").Timezone("").Refresh(b.Refresh).
		Timepicker(dashboard.NewTimePickerBuilder().RefreshIntervals([]string{"5s", "10s", "30s", "1m", "5m", "15m", "1h"})).
		Variables(b.variables()).Annotations(b.annotations(known))
	for _, link := range b.links() {
		builder = builder.Link(link)
	}
	out, err := builder.Build()
	if err != nil {
		return out, err //nolint:wrapcheck // the caller names the dashboard
	}
	out.Panels, err = b.panels(known)
	return out, err
}

func (b Board) tags() []string {
	tags := []string{"gpu", "warpwatch", "role:" + b.Role}
	if b.Axis != "" {
		tags = append(tags, "axis:"+b.Axis)
	}
	return tags
}

// panels puts panels from left to right and from top to bottom, each section under a row with its title.
func (b Board) panels(known *catalog.Catalog) ([]dashboard.PanelOrRowPanel, error) {
	var all []dashboard.PanelOrRowPanel
	id, y := uint32(0), uint32(0)
	for _, s := range append([]Section{b.opening()}, b.Sections...) {
		var row *dashboard.RowPanel
		if s.Title != "" {
			id++
			row = &dashboard.RowPanel{Type: "row", Id: id, Title: cog.ToPtr(s.Title), Collapsed: s.Collapsed, GridPos: &dashboard.GridPos{H: 1, W: gridWidth, Y: y}, Panels: []dashboard.Panel{}}
			all = append(all, dashboard.PanelOrRowPanel{RowPanel: row})
			y++
		}
		x, height := uint32(0), uint32(0)
		for _, p := range s.Panels {
			if x+p.W > gridWidth {
				x, y, height = 0, y+height, 0
			}
			id++
			built, err := p.built(b.Variables, known)
			if err != nil {
				return nil, err
			}
			built.Id, built.GridPos = cog.ToPtr(id), &dashboard.GridPos{X: x, Y: y, W: p.W, H: p.H}
			x, height = x+p.W, max(height, p.H)
			if row != nil && s.Collapsed {
				row.Panels = append(row.Panels, built)
			} else {
				all = append(all, dashboard.PanelOrRowPanel{Panel: &built})
			}
		}
		y += height
		if s.Collapsed {
			y -= height
		}
	}
	return all, nil
}

// opening is the question of the board, above its answer.
func (b Board) opening() Section {
	text := "### " + b.Question + "\n" + b.Answer
	if b.Needs != "" {
		text += " *" + b.Needs + "*"
	}
	return Section{Panels: []Panel{{W: gridWidth, H: 3, look: look{kind: "text", content: text}}}}
}

// links lead to the other boards and to the app, with what is chosen here.
func (b Board) links() []cog.Builder[dashboard.DashboardLink] {
	boards := dashboard.NewDashboardLinkBuilder("GPU dashboards").Type(dashboard.DashboardLinkTypeDashboards).Icon("dashboard").Tags([]string{"warpwatch"}).
		AsDropdown(true).IncludeVars(true).KeepTime(true).Tooltip("The other dashboards, for the same GPUs and time")
	app := func(title, page, tip string) cog.Builder[dashboard.DashboardLink] {
		return dashboard.NewDashboardLinkBuilder(title).Type(dashboard.DashboardLinkTypeLink).Icon("apps").Url(appPath + page).Tags([]string{}).
			IncludeVars(true).KeepTime(true).Tooltip(tip)
	}
	return []cog.Builder[dashboard.DashboardLink]{boards, app("Runbooks", "/runbooks", "What to do, by XID and verdict")}
}

// annotations mark what happened to the chosen GPUs. Over days the marks would hide the lines, and an alert that goes on colours
// the whole of a chart: somebody has to ask for these.
func (b Board) annotations(known *catalog.Catalog) []cog.Builder[dashboard.AnnotationQuery] {
	marks := func(name, colour string, shown bool, kinds ...string) cog.Builder[dashboard.AnnotationQuery] {
		q := events(kinds...).rows(200)
		return dashboard.NewAnnotationQueryBuilder().Name(name).Enable(shown).IconColor(colour).Datasource(*chosen()).
			Target(targetBuilder{q.document("Anno", b.Variables, known)})
	}
	return []cog.Builder[dashboard.AnnotationQuery]{
		marks("GPU events", "red", !strings.HasSuffix(b.From, "d"), gpu.KindXID, gpu.KindLost, gpu.KindECCUncorrected, gpu.KindRecoveryAction, gpu.KindMIGLayoutChanged),
		marks("Alerts and silences", "orange", false, gpu.KindAlert, gpu.KindSilence),
	}
}

// kinds of variables, and how people read them.
func kinds() map[string][2]string {
	return map[string][2]string{
		"cluster": {"Cluster", "A Prometheus and what it scrapes"}, "node": {"Node", "Machines with GPUs"}, "gpu": {"GPU", "Boards, by UUID"},
		"mig": {"MIG instance", "Slices of boards"}, "model": {"Model", "Kinds of GPUs"}, "namespace": {"Namespace", "Of the pods that have GPUs"},
		"pod": {"Pod", "Pods that have GPUs"}, "job": {"Job", "Slurm jobs, training jobs and servers"},
	}
}

// parents are the variables that narrow the values of a kind, those of them that the board has.
func (b Board) parents(kind string) map[string]any {
	above := map[string]string{
		"cluster": "", "model": "cluster", "node": "cluster", "gpu": "cluster node", "mig": "cluster node gpu", "namespace": "cluster", "pod": "cluster namespace",
		"job": "cluster namespace",
	}
	doc := map[string]any{"refId": kind, "kind": kind}
	for _, parent := range strings.Fields(above[kind]) {
		for _, has := range b.Variables {
			if has == parent {
				doc[lists()[parent]] = []string{"$" + parent}
			}
		}
	}
	return doc
}

func (b Board) variables() []cog.Builder[dashboard.VariableModel] {
	source := dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type(datasourceType)
	all := []cog.Builder[dashboard.VariableModel]{source}
	for _, kind := range b.Variables {
		about := kinds()[kind]
		one := kind == "node" && b.OneNode
		all = append(all, dashboard.NewQueryVariableBuilder(kind).Label(about[0]).Description(about[1]).Datasource(*chosen()).
			Query(dashboard.StringOrMap{Map: b.parents(kind)}).Refresh(dashboard.VariableRefreshOnDashboardLoad).
			Multi(kind != "cluster").IncludeAll(!one))
	}
	if b.Window != "" {
		all = append(all, b.window())
	}
	return all
}
