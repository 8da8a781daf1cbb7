package repotest

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

type dashboard struct {
	file          string
	ID            *int              `json:"id"`
	UID           string            `json:"uid"`
	Title         string            `json:"title"`
	Revision      int               `json:"revision"`
	Tags          []string          `json:"tags"`
	SchemaVersion int               `json:"schemaVersion"`
	Inputs        []json.RawMessage `json:"__inputs"`
	Requires      []json.RawMessage `json:"__requires"`
	Elements      json.RawMessage   `json:"elements"` // of the v2 schema, which apps cannot bring
	Panels        []panel           `json:"panels"`
	Templating    struct {
		List []struct {
			Name       string          `json:"name"`
			Type       string          `json:"type"`
			Query      json.RawMessage `json:"query"`
			Datasource datasource      `json:"datasource"`
		} `json:"list"`
	} `json:"templating"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type panel struct {
	ID          int         `json:"id"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Datasource  *datasource `json:"datasource"`
	GridPos     struct{ X, Y, W, H int }
	Targets     []json.RawMessage `json:"targets"`
	Panels      []panel           `json:"panels"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

func dashboards(t *testing.T) []dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "dashboards", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := make([]dashboard, 0, len(files))
	for _, f := range files {
		name, err := filepath.Rel(root, f)
		if err != nil {
			t.Fatal(err)
		}
		d := dashboard{file: name}
		if err := json.Unmarshal(read(t, name), &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, d)
	}
	return all
}

// An app's dashboards are imported without questions, and again only when their revision rose.
func TestDashboardsCanBeImportedByTheApp(t *testing.T) {
	seen := map[string]string{}
	for _, d := range dashboards(t) {
		switch {
		case !regexp.MustCompile(`^warpwatch-[a-z0-9-]{1,30}$`).MatchString(d.UID):
			t.Errorf("%s: uid %q", d.file, d.UID)
		case seen[d.UID] != "":
			t.Errorf("%s has the uid of %s", d.file, seen[d.UID])
		case d.ID != nil:
			t.Errorf("%s: id must be null", d.file)
		case d.Revision < 1:
			t.Errorf("%s has no revision", d.file)
		case d.Inputs != nil || d.Requires != nil:
			t.Errorf("%s has __inputs or __requires, with which the app cannot import it", d.file)
		case d.SchemaVersion < 39 || d.Elements != nil:
			t.Errorf("%s is not in the classic schema", d.file)
		case !slices.Contains(d.Tags, "warpwatch") || !slices.ContainsFunc(d.Tags, func(tag string) bool { return strings.HasPrefix(tag, "role:") }):
			t.Errorf("%s: tags %q, want warpwatch and the role it is for", d.file, d.Tags)
		}
		seen[d.UID] = d.file
	}
}

func TestDashboardsAskTheChosenDataSource(t *testing.T) {
	want := datasource{"warpwatch-gpu-datasource", "${datasource}"}
	for _, d := range dashboards(t) {
		if list := d.Templating.List; len(list) == 0 || list[0].Type != "datasource" || string(list[0].Query) != `"warpwatch-gpu-datasource"` {
			t.Errorf("%s: the first variable must choose the data source", d.file)
		}
		for _, v := range d.Templating.List {
			if v.Type == "query" && v.Datasource != want {
				t.Errorf("%s: variable %s asks %v", d.file, v.Name, v.Datasource)
			}
		}
		for _, p := range flat(d.Panels) {
			if len(p.Targets) > 0 && (p.Datasource == nil || *p.Datasource != want) {
				t.Errorf("%s: panel %q asks %v", d.file, p.Title, p.Datasource)
			}
			for _, raw := range p.Targets {
				var target struct{ Datasource datasource }
				if err := json.Unmarshal(raw, &target); err != nil || target.Datasource != want {
					t.Errorf("%s: panel %q has a query that asks %v (%v)", d.file, p.Title, target.Datasource, err)
				}
			}
		}
	}
}

func flat(panels []panel) []panel {
	var all []panel
	for _, p := range panels {
		all = append(append(all, p), flat(p.Panels)...)
	}
	return all
}

// A panel says what it shows, why that matters, what to do, and how to see it on the node.
func TestPanelsExplainThemselves(t *testing.T) {
	for _, d := range dashboards(t) {
		ids := map[int]bool{}
		for _, p := range flat(d.Panels) {
			if ids[p.ID] {
				t.Errorf("%s: panel id %d is used twice", d.file, p.ID)
			}
			ids[p.ID] = true
			if p.Type == "row" || p.Type == "text" {
				continue
			}
			for _, part := range []string{"**Shows** ", "**Matters** ", "**Do** ", "**nvidia-smi:** "} {
				if !strings.Contains(p.Description, part) {
					t.Errorf("%s: the description of panel %q has no %s", d.file, p.Title, part)
				}
			}
		}
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	for _, d := range dashboards(t) {
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			if p.GridPos.X < 0 || p.GridPos.W <= 0 || p.GridPos.X+p.GridPos.W > 24 || p.GridPos.H <= 0 {
				t.Errorf("%s: panel %q is at %+v", d.file, p.Title, p.GridPos)
				continue
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other, clash := taken[[2]int{x, y}]; clash {
						t.Fatalf("%s: panels %q and %q overlap", d.file, other, p.Title)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}

func TestQueriesAreUnderstoodByTheBackend(t *testing.T) {
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dashboards(t) {
		for _, p := range flat(d.Panels) {
			for _, raw := range p.Targets {
				var target struct {
					RefID         string `json:"refId"`
					QueryType     string `json:"queryType"`
					SchemaVersion int    `json:"schemaVersion"`
					Metric        string `json:"metric"`
				}
				if err := json.Unmarshal(raw, &target); err != nil {
					t.Errorf("%s: panel %q: %v", d.file, p.Title, err)
					continue
				}
				if _, err := query.Parse(withoutMIGVariables(raw), target.QueryType); err != nil {
					t.Errorf("%s: panel %q, query %s: %v", d.file, p.Title, target.RefID, err)
				}
				if target.SchemaVersion != 1 {
					t.Errorf("%s: panel %q, query %s has schema version %d", d.file, p.Title, target.RefID, target.SchemaVersion)
				}
				if target.QueryType == "metric" {
					checkMetric(t, known, d, p, target.Metric)
				}
			}
		}
	}
}

// withoutMIGVariables puts an instance in the place of a variable, which is not one until the browser replaced it.
func withoutMIGVariables(raw json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.ReplaceAll(string(raw), `"$mig"`, `"GPU-1/1"`))
}

// checkMetric compares the panel's unit with the metric's. A stat that counts, a table, and a heatmap, whose cells count devices,
// have units of their own.
func checkMetric(t *testing.T, known *catalog.Catalog, d dashboard, p panel, name string) {
	t.Helper()
	m, found := known.Metric(name)
	if !found {
		t.Errorf("%s: panel %q asks for %q, which the catalogue does not know", d.file, p.Title, name)
		return
	}
	unit := m.Unit
	if m.Kind == catalog.Counter {
		unit = unit.PerSecond()
	}
	want := map[gpu.Unit]string{
		gpu.Bytes: "bytes", gpu.BytesPerSecond: "Bps", gpu.Seconds: "s", gpu.Watts: "watt", gpu.Joules: "joule", gpu.Hertz: "hertz",
		gpu.Celsius: "celsius", gpu.Ratio: "percentunit",
	}[unit]
	if got := p.FieldConfig.Defaults.Unit; p.Type != "table" && p.Type != "heatmap" && want != "" && got != want && p.Title != "GPUs reporting" {
		t.Errorf("%s: panel %q shows %s in %q, want %q", d.file, p.Title, name, got, want)
	}
}
