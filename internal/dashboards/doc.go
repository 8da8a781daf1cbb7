// Package dashboards is the bundled dashboards: one library of panels, and the boards that are made of them for each
// role. `go tool mage dashboards` writes their JSON, and the gallery of the documentation, anew.
package dashboards

// The plugins that dashboards name.
const (
	datasourceType = "warpwatch-gpu-datasource"
	appPath        = "/a/warpwatch-gpu-app"
)

// Board is a dashboard for one role.
type Board struct {
	UID, File string // of warpwatch-<file>, and <file>.json
	Title     string
	Role      string   // who it is for, a tag: "sre"
	Axis      string   // "health", "efficiency" or "" for both and neither
	Question  string   // what the role asks
	Answer    string   // where the numbers on top answer it, in one or two sentences
	Needs     string   // what of the numbers on top default exporters do not give, "" for nothing
	Variables []string // kinds of the data source's variable queries, in the order of the dashboard
	OneNode   bool     // the node variable starts with one node, not with all
	From      string   // "now-6h"
	Refresh   string   // "30s", "" for off
	Window    string   // what judgements look back on at first, one of windows; "" where there are none
	Sections  []Section
}

// Section is a row of a board. The first has no title: it answers the board's question.
type Section struct {
	Title     string
	Collapsed bool
	Panels    []Panel
}

// Panel is a panel before it has a place. W and H are in Grafana's grid, 24 wide.
type Panel struct {
	Title   string
	W, H    uint32
	Help    Help
	Queries []Query

	look look
}

// Help is a panel's description.
type Help struct {
	Shows   string // what it shows
	Matters string // why it matters
	Do      string // what to do
	SMI     string // how to see it on the node; "" for what the catalogue says of the first metric
}

// sized is the panel in another size.
func (p Panel) sized(w, h uint32) Panel {
	p.W, p.H = w, h
	return p
}

// titled is the panel under another name.
func (p Panel) titled(title string) Panel {
	p.Title = title
	return p
}
