package repotest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/warpwatch/warpwatch/"

// pkg is what `go list` says about a package.
type pkg struct {
	ImportPath  string
	Imports     []string
	Deps        []string
	CgoFiles    []string
	TestImports []string
	Doc         string
	Name        string
	Standard    bool
	Incomplete  bool
}

// list asks go about our packages, with those they reach when deps is set.
func list(t *testing.T, deps bool) map[string]pkg {
	t.Helper()
	args := []string{"list", "-e", "-json=ImportPath,Imports,Deps,CgoFiles,TestImports,Doc,Name,Standard,Incomplete"}
	if deps {
		args = append(args, "-deps")
	}
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir = root
	// go-nvml is cgo; with cgo off its files, and the imports in them, would not be seen.
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	all := map[string]pkg{}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// room is the part of an import path that names the room: "pkg/history" for everything in it.
func room(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, module), "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// arrows are the rooms that each room of pkg/ may import. A room that is not listed may import none.
func arrows() map[string][]string {
	const catalog, gpu, query, wire = "pkg/catalog", "pkg/gpu", "pkg/query", "pkg/wire"
	return map[string][]string{
		"pkg/settings": {gpu},
		"pkg/alerts":   {},
		query:          {gpu, catalog},
		"pkg/history":  {query, catalog, gpu},
		"pkg/live":     {wire, gpu},
		"pkg/timeline": {gpu},
		"pkg/insight":  {gpu, catalog},
		"pkg/frames":   {gpu},
		catalog:        {gpu},
		gpu:            {},
		wire:           {gpu},
		"pkg/plugin":   {"pkg/settings", query, "pkg/history", "pkg/alerts", "pkg/live", "pkg/timeline", "pkg/insight", "pkg/frames", catalog, gpu, wire},
		"pkg/main":     {"pkg/plugin"},
	}
}

func TestArrows(t *testing.T) {
	allowed := arrows()
	for path, p := range list(t, false) {
		from := room(path)
		if !strings.HasPrefix(path, module+"pkg") {
			continue
		}
		if path == module+"pkg" {
			from = "pkg/main"
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, module) {
				continue
			}
			to := room(imported)
			if to != from && !slices.Contains(allowed[from], to) {
				t.Errorf("%s imports %s; it may import %v", path, imported, allowed[from])
			}
		}
	}
}

// The plugin is built without cgo, and Grafana's review forbids what the agent does.
func TestThePluginReachesNeitherCgoNorTheAgent(t *testing.T) {
	all := list(t, true)
	plugin, found := all[module+"pkg"]
	if !found {
		t.Fatal("there is no package pkg")
	}
	for _, path := range plugin.Deps {
		dep := all[path]
		switch {
		case strings.HasPrefix(path, module+"node-agent"), strings.Contains(path, "go-nvml"):
			t.Errorf("the plugin reaches %s", path)
		case len(dep.CgoFiles) > 0 && !dep.Standard:
			t.Errorf("the plugin reaches %s, which is cgo", path)
		}
	}
}

func TestOnlyTheAgentsMainImportsNVML(t *testing.T) {
	const nvml = module + "node-agent/internal/nvml"
	for path, p := range list(t, false) {
		if path == module+"node-agent" || strings.HasPrefix(path, nvml) {
			continue
		}
		for _, imported := range p.Imports {
			if imported == nvml || strings.Contains(imported, "go-nvml") {
				t.Errorf("%s imports %s; only node-agent/main.go may", path, imported)
			}
		}
	}
}

func TestTheAgentKnowsOnlyTheVocabularyOfThePlugin(t *testing.T) {
	allowed := []string{"pkg/wire", "pkg/gpu", "pkg/catalog"}
	for path, p := range list(t, false) {
		if !strings.HasPrefix(path, module+"node-agent") {
			continue
		}
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, module+"pkg") && !slices.Contains(allowed, room(imported)) {
				t.Errorf("%s imports %s; it may import %v", path, imported, allowed)
			}
		}
	}
}

// What computes does not read or write: it can then be tested with values alone.
func TestPureRoomsDoNoIO(t *testing.T) {
	pure := []string{"pkg/insight", "pkg/timeline", "pkg/frames", "pkg/query", "pkg/gpu", "pkg/wire"}
	forbidden := []string{"net", "net/http", "os", "os/exec", "io/ioutil", "io/fs", "syscall", "database/sql", "log", "log/slog"}
	for path, p := range list(t, false) {
		if !slices.Contains(pure, room(path)) {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains(forbidden, imported) {
				t.Errorf("%s imports %s", path, imported)
			}
		}
	}
}

func TestTheVocabularyImportsTheStandardLibraryOnly(t *testing.T) {
	for _, imported := range list(t, false)[module+"pkg/gpu"].Imports {
		if strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
			t.Errorf("pkg/gpu imports %s", imported)
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for path, p := range list(t, false) {
		if p.Doc == "" && strings.HasPrefix(path, module) {
			t.Errorf("%s has no package comment", path)
		}
	}
}
