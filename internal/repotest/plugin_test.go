package repotest

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// descriptor is what matters here of a plugin.json.
type descriptor struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	Executable string `json:"executable"`
	Backend    bool   `json:"backend"`
	Info       struct {
		Version string `json:"version"`
		Updated string `json:"updated"`
		Logos   struct {
			Small string `json:"small"`
			Large string `json:"large"`
		} `json:"logos"`
	} `json:"info"`
	Includes []struct {
		Type string `json:"type"`
		Name string `json:"name"`
		Path string `json:"path"`
		UID  string `json:"uid"`
	} `json:"includes"`
	Dependencies struct {
		GrafanaDependency string `json:"grafanaDependency"`
	} `json:"dependencies"`
}

// descriptors are the plugins of the app, by their folder below src/.
func descriptors(t *testing.T) map[string]descriptor {
	t.Helper()
	all := map[string]descriptor{}
	src := filepath.Join(root, "src")
	err := filepath.WalkDir(src, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "plugin.json" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		var d descriptor
		if err := json.Unmarshal(read(t, name), &d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all[filepath.ToSlash(filepath.Dir(strings.TrimPrefix(name, "src"+string(filepath.Separator))))] = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPluginsAgree(t *testing.T) {
	all := descriptors(t)
	app := all["."]
	if app.ID != "warpwatch-gpu-app" || app.Type != "app" || app.Backend {
		t.Errorf("the app is %q of type %q, backend %v", app.ID, app.Type, app.Backend)
	}
	for folder, d := range all {
		if d.Dependencies.GrafanaDependency != ">=12.3.0" {
			t.Errorf("%s depends on Grafana %q, want >=12.3.0 in every plugin", d.ID, d.Dependencies.GrafanaDependency)
		}
		if d.Info.Version != "%VERSION%" || d.Info.Updated != "%TODAY%" {
			t.Errorf("%s has version %q of %q; the build fills in %%VERSION%% and %%TODAY%%", d.ID, d.Info.Version, d.Info.Updated)
		}
		for _, logo := range []string{d.Info.Logos.Small, d.Info.Logos.Large} {
			read(t, filepath.Join("src", folder, logo))
		}
		if folder == "." {
			continue
		}
		if want := "warpwatch-gpu-" + d.Type; d.ID != want && d.ID != "warpwatch-fleet-panel" {
			t.Errorf("src/%s is %q, want %q", folder, d.ID, want)
		}
		if !includes(app, d.Type, folder+"/plugin.json") {
			t.Errorf("the app does not include src/%s/plugin.json", folder)
		}
	}
	if d := all["datasource"]; d.Executable != "gpx_warpwatch" || !d.Backend {
		t.Errorf("the data source has executable %q, backend %v", d.Executable, d.Backend)
	}
}

func includes(app descriptor, kind, path string) bool {
	for _, i := range app.Includes {
		if i.Type == kind && i.Path == path {
			return true
		}
	}
	return false
}

func TestTheAppIncludesExactlyTheDashboards(t *testing.T) {
	included := map[string]string{}
	for _, i := range descriptors(t)["."].Includes {
		if i.Type == "dashboard" {
			included[i.Path] = i.UID
		}
	}
	for _, d := range dashboards(t) {
		path := "dashboards/" + filepath.Base(d.file)
		if included[path] != d.UID {
			t.Errorf("the app includes %s as %q, its uid is %q", path, included[path], d.UID)
		}
		delete(included, path)
	}
	for path := range included {
		t.Errorf("the app includes %s, which is not there", path)
	}
}
