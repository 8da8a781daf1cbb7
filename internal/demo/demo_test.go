package demo

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestFixedPorts(t *testing.T) {
	for base, want := range map[string]int{"": 3000, "23000": 23000} {
		topology, err := FixedPorts(base)
		if err != nil {
			t.Fatal(err)
		}
		if topology.UIPort != want {
			t.Errorf("base %q: user interface on %d, want %d", base, topology.UIPort, want)
		}
		seen := map[int]string{}
		for _, w := range topology.Wants() {
			if w.Port == 0 || seen[w.Port] != "" {
				t.Errorf("base %q: port %d is for %s and %s", base, w.Port, seen[w.Port], w.For)
			}
			seen[w.Port] = w.For
		}
	}
	for _, base := range []string{"x", "80", "70000"} {
		if _, err := FixedPorts(base); err == nil || !strings.Contains(err.Error(), portBaseVariable) {
			t.Errorf("base %q: got %v", base, err)
		}
	}
}

func TestFleet(t *testing.T) {
	nodes, mig := 0, 0
	for _, c := range slices.Concat(fleet(), loneFleets()) {
		for _, n := range c.Nodes {
			nodes++
			if len(n.MIG) > 0 {
				mig++
			}
		}
		for _, e := range c.Exporters {
			if _, err := os.Stat(filepath.Join("..", "..", "provisioning", "replay", e.File+".prom")); err != nil {
				t.Error(err)
			}
		}
	}
	if nodes != 8 || mig != 3 {
		t.Errorf("%d nodes, %d of them split, want 8 and 3", nodes, mig)
	}
}

func TestPrometheusIsGivenItsTargets(t *testing.T) {
	topology, err := FixedPorts("")
	if err != nil {
		t.Fatal(err)
	}
	folder := Folder(t.TempDir())
	if err := writePrometheus(filepath.Join("..", ".."), folder, topology, topology.Clusters[0]); err != nil {
		t.Fatal(err)
	}
	// Every file that the configuration names is there, and every one that is there is named.
	text, err := os.ReadFile(filepath.Join(folder.prometheus("north"), "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		ScrapeConfigs []struct {
			FileSD []struct {
				Files []string `yaml:"files"`
			} `yaml:"file_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, s := range config.ScrapeConfigs {
		for _, f := range s.FileSD[0].Files {
			named++
			groups, err := os.ReadFile(filepath.Join(folder.prometheus("north"), f))
			if err != nil {
				t.Error(err)
			}
			if !strings.Contains(string(groups), "127.0.0.1:") || !strings.Contains(string(groups), "instance: ") {
				t.Errorf("%s is\n%s", f, groups)
			}
		}
	}
	written, err := os.ReadDir(filepath.Join(folder.prometheus("north"), "targets"))
	if err != nil {
		t.Fatal(err)
	}
	if named != len(written) || named != 3 {
		t.Errorf("the configuration names %d files, %d were written, want 3", named, len(written))
	}
}

func TestAFolderRunsOneStack(t *testing.T) {
	folder := Folder(t.TempDir())
	release, err := folder.acquire()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.acquire(); err == nil || !strings.Contains(err.Error(), "already running: pid ") {
		t.Errorf("got %v", err)
	}
	release()
	release, err = folder.acquire()
	if err != nil {
		t.Fatal(err)
	}
	release()
}

// fakeGrafana is a program that says it is a Grafana of some version, in a home of its own.
func fakeGrafana(t *testing.T, version string) (home string) {
	t.Helper()
	home = t.TempDir()
	for _, dir := range []string{"bin", "conf"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "conf", "defaults.ini"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n[ \"$*\" = 'server -v' ] && echo 'Version " + version + " (commit: abc, branch: HEAD)'\n"
	if err := os.WriteFile(filepath.Join(home, "bin", "grafana"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return home
}

func TestFindGrafana(t *testing.T) {
	none := func(string) string { return "" }
	t.Run("GRAFANA_HOME", func(t *testing.T) {
		home := fakeGrafana(t, "12.3.1")
		g, why := findGrafana(t.Context(), func(string) string { return home })
		if g == nil || g.home != home || g.version != "12.3.1" {
			t.Errorf("got %+v, %s", g, why)
		}
	})
	t.Run("PATH", func(t *testing.T) {
		home := fakeGrafana(t, "13.0.0-pre")
		links := t.TempDir()
		if err := os.Symlink(filepath.Join(home, "bin", "grafana"), filepath.Join(links, "grafana")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", links)
		g, why := findGrafana(t.Context(), none)
		if g == nil || g.version != "13.0.0-pre" {
			t.Fatalf("got %+v, %s", g, why)
		}
		if resolved, err := filepath.EvalSymlinks(home); err != nil || g.home != resolved {
			t.Errorf("home is %s, want %s (%v)", g.home, resolved, err)
		}
	})
	t.Run("none", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if g, why := findGrafana(context.Background(), none); g != nil || !strings.Contains(why, "no Grafana was found") {
			t.Errorf("got %+v, %s", g, why)
		}
	})
	t.Run("too old", func(t *testing.T) {
		home := fakeGrafana(t, "12.2.9")
		if g, why := findGrafana(t.Context(), func(string) string { return home }); g != nil || !strings.Contains(why, "needs 12.3") {
			t.Errorf("got %+v, %s", g, why)
		}
	})
}
