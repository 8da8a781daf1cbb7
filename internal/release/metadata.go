package release

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// metadata is what is looked at in a plugin.json.
type metadata struct {
	ID         string
	Type       string
	Backend    bool
	Executable string
	BuildMode  string
	Info       struct {
		Version     string
		Updated     string
		Logos       struct{ Small, Large string }
		Screenshots []struct{ Path string }
	}
	Includes     []struct{ Type, Path string }
	Dependencies struct{ GrafanaDependency string }
}

// day is how plugin.json writes when a plugin was updated.
var day = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// plugins looks at the three plugin.json, and at the files they name.
func (c *checker) plugins() {
	app := c.plugin("plugin.json", "app", appID)
	nested := map[string]string{"datasource/plugin.json": "datasource", "panel/plugin.json": "panel"}
	if c.plugin("datasource/plugin.json", "datasource", "warpwatch-gpu-datasource").Executable != "gpx_warpwatch" {
		c.errorf("datasource/plugin.json does not name the executable")
	}
	c.plugin("panel/plugin.json", "panel", "warpwatch-fleet-panel")
	if app.BuildMode != "production" {
		c.errorf("the front end was built for %q, not for production", app.BuildMode)
	}
	for _, include := range app.Includes {
		switch kind, known := nested[include.Path]; {
		case known && kind == include.Type:
			delete(nested, include.Path)
		case include.Type == "dashboard":
			c.dashboard(include.Path)
		}
	}
	for name := range nested {
		c.errorf("plugin.json does not include %s", name)
	}
	for name := range c.files {
		if path.Base(name) == "plugin.json" && strings.Count(name, "/") > 1 {
			c.errorf("%s would be taken for a plugin", name)
		}
	}
}

// plugin looks at one plugin.json.
func (c *checker) plugin(name, kind, id string) metadata {
	var m metadata
	content := c.files[name]
	if err := json.Unmarshal(content, &m); err != nil {
		c.errorf("%s: %w", name, err)
		return m
	}
	if m.Type != kind || m.ID != id {
		c.errorf("%s is of the %s %s, not of the %s %s", name, m.Type, m.ID, kind, id)
	}
	if m.Info.Version != c.version {
		c.errorf("%s has version %q, not %s", name, m.Info.Version, c.version)
	}
	if !day.MatchString(m.Info.Updated) {
		c.errorf("%s has no day of its update but %q", name, m.Info.Updated)
	}
	if m.Dependencies.GrafanaDependency == "" {
		c.errorf("%s does not say which Grafana it needs", name)
	}
	images := []string{m.Info.Logos.Small, m.Info.Logos.Large}
	for _, shot := range m.Info.Screenshots {
		images = append(images, shot.Path)
	}
	for _, image := range images {
		if _, found := c.files[path.Join(path.Dir(name), image)]; !found {
			c.errorf("%s names the image %q, which is missing", name, image)
		}
	}
	return m
}

// dashboard looks whether Grafana could import a dashboard without asking anybody.
func (c *checker) dashboard(name string) {
	var d struct {
		UID      string
		Revision int
		Inputs   []any `json:"__inputs"`
	}
	content, found := c.files[name]
	switch err := json.Unmarshal(content, &d); {
	case !found:
		c.errorf("plugin.json includes %s, which is missing", name)
	case err != nil:
		c.errorf("%s: %w", name, err)
	case d.UID == "" || d.Revision == 0 || d.Inputs != nil:
		c.errorf("%s has no uid or no revision, or asks for inputs", name)
	}
}
