package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// linked are the modules that programs of the checkout are made of, without building them.
func linked(t *testing.T, programs ...string) map[string]string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=Module"}, programs...)...)
	cmd.Dir = root
	// go-nvml is cgo: with cgo off its module would not be seen.
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Module *struct {
				Path, Version string
				Main          bool
			}
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return modules
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && !p.Module.Main {
			modules[p.Module.Path] = p.Module.Version
		}
	}
}

// What the plugin and the agent are linked from is under licences that go with ours.
func TestLicencesOfModules(t *testing.T) {
	modules := linked(t, "./pkg", "./node-agent")
	if len(modules) < 50 {
		t.Fatalf("only %d modules were found", len(modules))
	}
	modules["std"] = ""
	folders, err := moduleFolders(t.Context(), root, modules)
	if err != nil {
		t.Fatal(err)
	}
	for path := range modules {
		found, err := texts(folders[path])
		if err != nil {
			t.Fatal(err)
		}
		p := part{purl: path, name: path, texts: found}
		if p.licence, err = recognise(found); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if err := check([]part{p}); err != nil {
			t.Error(err)
		}
	}
}

// What the front end may be bundled from is, as far as its packages say.
func TestLicencesOfPackages(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			License string `json:"license"`
			Dev     bool   `json:"dev"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(raw, &lock); err != nil {
		t.Fatal(err)
	}
	// What packages of Grafana's that Grafana itself brings depend on is in no bundle. The release reads what is in one from
	// the bundles, and the texts of licences that package.json does not name.
	elsewhere := []string{
		"node_modules/argparse", "node_modules/fast-shallow-equal", "node_modules/spel2js", "node_modules/react-universal-interface",
		"node_modules/get-document", "node_modules/@grafana/plugin-ui",
	}
	checked := 0
	for path, p := range lock.Packages {
		if path == "" || p.Dev || slices.Contains(elsewhere, path) {
			continue
		}
		checked++
		if err := check([]part{{purl: path, name: path, licence: p.License}}); err != nil {
			t.Error(err)
		}
	}
	if checked < 20 {
		t.Errorf("only %d packages were found", checked)
	}
}
