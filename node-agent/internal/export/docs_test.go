package export

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// docGroup is a group of the metrics' reference.
type docGroup struct {
	Name        string
	Class       device.Class
	Profile     device.Profile
	PerInstance bool
	Metrics     []docMetric
}

type docMetric struct {
	catalog.Metric
	Labels  []string // of its own
	Windows []string
}

// docSeries is a series that no row of the catalogue speaks of.
type docSeries struct{ Name, Labels, Help string }

// The page is made of the catalogue, the table of devices and the sources themselves, so it cannot say anything else.
func TestReferenceIsUpToDate(t *testing.T) {
	c, err := catalog.Load()
	require.NoError(t, err)
	var groups []docGroup
	for g := range device.NumGroups {
		groups = append(groups, docGroup{g.String(), g.Class(), g.Profile(), g.PerInstance(), documented(t, c, g)})
	}
	xids, _ := c.Metric("gpu_xid_errors_total")
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	page := template.Must(template.New("").Funcs(template.FuncMap{
		"code": func(names []string) string { return "`" + strings.Join(names, "`, `") + "`" },
		"cell": func(text string) string { return cell.Replace(text) },
	}).ParseFiles("testdata/agent-metrics.md.tmpl"))
	var got bytes.Buffer
	require.NoError(t, page.ExecuteTemplate(&got, "agent-metrics.md.tmpl", map[string]any{
		"Groups": groups, "Series": otherSeries(t, xids), "Own": ownSeries(t), "Kinds": eventKinds(),
	}))
	const path = "../../../docs/user/agent-metrics.md"
	if *update {
		require.NoError(t, os.WriteFile(path, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got.String(), "run go test ./node-agent/internal/export -update")
}

// documented are the metrics of a group, each once.
func documented(t *testing.T, c *catalog.Catalog, g device.Group) []docMetric {
	t.Helper()
	var all []docMetric
	for m := range device.NumMetrics {
		if m.Group() != g || len(all) > 0 && all[len(all)-1].Name == m.String() {
			continue
		}
		row, ok := c.Metric(m.String())
		require.True(t, ok, m.String())
		d := docMetric{Metric: row}
		if name, _ := m.Label(); name != "" {
			d.Labels = append(d.Labels, name)
		}
		if g.Class() == device.Fast {
			for _, w := range windowsOf(m, row) {
				d.Windows = append(d.Windows, w.name)
			}
		}
		all = append(all, d)
	}
	return all
}

func otherSeries(t *testing.T, xids catalog.Metric) []docSeries {
	t.Helper()
	labels := map[string]string{
		gpuInfo:         "GPU, `pci_bus_id`, `driver_version`, `mig_enabled`",
		boardInfo:       "GPU, `serial`, `brand`, `architecture`, `compute_capability`, `vbios_version`, `inforom_version`, `part_number`, `minor`, `memory` (`host` where the GPU has none of its own), `memory_bus_bits`, `cores`",
		migInfo:         "MIG instance, `mig_uuid`, `compute_instance_id`, `placement_start`, `placement_size`",
		driverInfo:      "node, `driver_version`, `nvml_version`, `cuda_version`",
		ownerInfo:       "device, `namespace`, `pod`, `pod_uid`, `container`, `replica`, `claim`, `slurm_job`, `slurm_step`, `user`, `container_id`, `runtime`, `source`, `conflict`",
		sampleTimestamp: "node, `group`", xidTimestamp: "GPU, `xid`", eventsTotal: "GPU, `kind`",
		processMemory: "device, `pid`, `name`, `user`", processSM: "device, `pid`, `name`, `user`",
		agentInfo: "node, `version`, `address`, `scheme`, `source`", windowSeconds: "node",
		sourceState: "node, `state`", deviceState: "GPU, `state`",
	}
	all := []docSeries{{xids.Name, "GPU, `xid`", xids.Help}}
	for name, help := range helps() {
		require.NotEmpty(t, labels[name], name)
		all = append(all, docSeries{name, labels[name], help})
	}
	slices.SortFunc(all, func(a, b docSeries) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func eventKinds() []string {
	var kinds []string
	for k := range device.NumEventKinds {
		if k != device.EventXID {
			kinds = append(kinds, k.String())
		}
	}
	return kinds
}

// ownSeries are the agent's figures about itself, found in its sources: wherever a name stands beside its help.
func ownSeries(t *testing.T) []docSeries {
	t.Helper()
	found, mentioned := map[string]string{}, map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		searchOwn(file, found, mentioned)
		return nil
	})
	require.NoError(t, err)
	said := helps()
	for name := range mentioned {
		_, isFound := found[name]
		_, isSaid := said[name]
		assert.True(t, isFound || isSaid, "%s has no help beside it that could be read", name)
	}
	var all []docSeries
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, docSeries{Name: name, Help: found[name]})
	}
	return all
}

var ownName = regexp.MustCompile(`^warpwatch_agent_[a-z_]*[a-z]$`)

// searchOwn finds {Name: n, Help: h} and f(n, h, …), also where f puts a beginning before n.
func searchOwn(file *ast.File, found map[string]string, mentioned map[string]bool) {
	beginnings := map[string]string{} // by the function's name
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if s, ok := literal(n); ok && ownName.MatchString(s) {
				mentioned[s] = true
			}
		case *ast.CompositeLit:
			fields := map[string]string{}
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if key, ok := kv.Key.(*ast.Ident); ok {
						fields[key.Name], _ = literal(kv.Value)
					}
				}
			}
			if ownName.MatchString(fields["Name"]) && fields["Help"] != "" {
				found[fields["Name"]] = fields["Help"]
			}
		case *ast.AssignStmt:
			if name, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Rhs) == 1 {
				if f, ok := n.Rhs[0].(*ast.FuncLit); ok {
					beginnings[name.Name] = beginning(f)
				}
			}
		case *ast.CallExpr:
			if len(n.Args) < 2 {
				return true
			}
			name, isName := literal(n.Args[0])
			help, isHelp := literal(n.Args[1])
			if f, ok := n.Fun.(*ast.Ident); ok && beginnings[f.Name] != "" {
				name = beginnings[f.Name] + name
			}
			if isName && isHelp && ownName.MatchString(name) {
				found[name] = help
			}
		}
		return true
	})
}

// beginning is what a function puts before its argument: "warpwatch_agent_workload_" + name.
func beginning(f *ast.FuncLit) (text string) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if sum, ok := n.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
			if s, ok := literal(sum.X); ok && strings.HasPrefix(s, "warpwatch_agent_") {
				text = s
			}
		}
		return true
	})
	return text
}

// literal is a text that stands in the source, in one piece or several.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			return s, err == nil
		}
	case *ast.BinaryExpr:
		x, okX := literal(e.X)
		y, okY := literal(e.Y)
		return x + y, okX && okY && e.Op == token.ADD
	}
	return "", false
}

// Every family that a node may have is in the reference.
func TestEverythingIsInTheReference(t *testing.T) {
	page, err := os.ReadFile("../../../docs/user/agent-metrics.md")
	require.NoError(t, err)
	for _, mig := range []bool{false, true} {
		n := node()
		e, store, rows := setup(t, n)
		require.NoError(t, store.Append(simulated(t, n, rows, mig)))
		for _, line := range strings.Split(string(e.Append(nil, store.Newest().Time)), "\n") {
			if name, kind := lineOf([]byte(line)); kind != "" {
				assert.Contains(t, string(page), "`"+name+"`")
			}
		}
	}
}
