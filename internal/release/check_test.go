package release

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// good are the files of a plugin that nothing is wrong with, by name below its folder.
func good() map[string]string {
	plugin := func(kind, id, more string) string {
		return `{"type": "` + kind + `", "id": "` + id + `", "info": {"version": "1.2.3", "updated": "2026-01-02",
			"logos": {"small": "img/logo.svg", "large": "img/logo.svg"}}, "dependencies": {"grafanaDependency": ">=12.3.0"}` + more + `}`
	}
	files := map[string]string{
		"README.md": "read", "CHANGELOG.md": "# Changelog\n\n## 1.2.3\n", "LICENSE": "licence", noticesFile: "notices",
		manifestFile: "00:pkg/main.go\n", "img/logo.svg": "<svg/>", "datasource/img/logo.svg": "<svg/>", "panel/img/logo.svg": "<svg/>",
		"dashboards/a.json": `{"uid": "a", "revision": 1}`,
		"plugin.json": plugin("app", appID, `, "buildMode": "production", "includes": [
			{"type": "dashboard", "path": "dashboards/a.json"}, {"type": "page", "path": "/a/b"},
			{"type": "datasource", "path": "datasource/plugin.json"}, {"type": "panel", "path": "panel/plugin.json"}]`),
		"datasource/plugin.json": plugin("datasource", "warpwatch-gpu-datasource", `, "backend": true, "executable": "gpx_warpwatch"`),
		"panel/plugin.json":      plugin("panel", "warpwatch-fleet-panel", ""),
	}
	for _, module := range []string{"module.js", "datasource/module.js", "panel/module.js"} {
		files[module], files[module+".map"] = "define()", `{"sources": ["webpack://x/./module.ts"]}`
	}
	for _, target := range pluginPlatforms() {
		files[backendName(target)] = header(target.String())
	}
	return files
}

// header is the least that says what an executable is for.
func header(platform string) string {
	le := binary.LittleEndian
	switch platform {
	case "linux_amd64", "linux_arm64":
		h := make([]byte, 64)
		copy(h, "\x7fELF\x02\x01\x01")
		machine := uint16(62)
		if platform == "linux_arm64" {
			machine = 183
		}
		le.PutUint16(h[16:], 2)
		le.PutUint16(h[18:], machine)
		le.PutUint32(h[20:], 1)
		le.PutUint16(h[52:], 64)
		return string(h)
	case "darwin_amd64", "darwin_arm64":
		h := make([]byte, 32)
		le.PutUint32(h, 0xfeedfacf)
		le.PutUint32(h[4:], map[string]uint32{"darwin_amd64": 0x01000007, "darwin_arm64": 0x0100000c}[platform])
		return string(h)
	default:
		h := make([]byte, 256)
		copy(h, "MZ")
		le.PutUint32(h[0x3c:], 128)
		copy(h[128:], "PE\x00\x00")
		le.PutUint16(h[132:], 0x8664)
		return string(h)
	}
}

func checkFiles(t *testing.T, files map[string]string, mode func(string) os.FileMode) error {
	t.Helper()
	var all []file
	for name, text := range files {
		all = append(all, file{name: appID + "/" + name, mode: mode(name), text: []byte(text)})
	}
	path := filepath.Join(t.TempDir(), "plugin.zip")
	if err := pack(path, all, time.Unix(1_700_000_000, 0), writeZip); err != nil {
		t.Fatal(err)
	}
	return CheckPlugin(path, "1.2.3")
}

func usual(name string) os.FileMode {
	if strings.Contains(name, "gpx_") {
		return 0o755
	}
	return 0o644
}

func TestAGoodPlugin(t *testing.T) {
	if err := checkFiles(t, good(), usual); err != nil {
		t.Error(err)
	}
}

func TestWhatIsWrongWithAPlugin(t *testing.T) {
	replace := func(name, old, replacement string) func(map[string]string) {
		return func(files map[string]string) { files[name] = strings.Replace(files[name], old, replacement, 1) }
	}
	for want, spoil := range map[string]func(map[string]string){
		"module.js.map is missing or empty":                        func(f map[string]string) { delete(f, "module.js.map") },
		"CHANGELOG.md says nothing about 1.2.3":                    replace("CHANGELOG.md", "1.2.3", "1.2.2"),
		"datasource/gpx_warpwatch_darwin_arm64 is missing":         func(f map[string]string) { delete(f, "datasource/gpx_warpwatch_darwin_arm64") },
		"datasource/gpx_warpwatch_linux_arm64 is for linux_amd64":  func(f map[string]string) { f["datasource/gpx_warpwatch_linux_arm64"] = header("linux_amd64") },
		"datasource/gpx_warpwatch_linux_amd64 is no executable":    func(f map[string]string) { f["datasource/gpx_warpwatch_linux_amd64"] = "#!/bin/sh" },
		"gpx_warpwatch_linux_riscv64 is for no platform":           func(f map[string]string) { f["gpx_warpwatch_linux_riscv64"] = header("linux_amd64") },
		`panel/plugin.json has version "1.2.2"`:                    replace("panel/plugin.json", "1.2.3", "1.2.2"),
		`plugin.json has version "%VERSION%"`:                      replace("plugin.json", "1.2.3", "%VERSION%"),
		`datasource/plugin.json has no day of its update`:          replace("datasource/plugin.json", "2026-01-02", "%TODAY%"),
		"panel/plugin.json is of the panel other-panel":            replace("panel/plugin.json", "warpwatch-fleet-panel", "other-panel"),
		"plugin.json does not include panel/plugin.json":           replace("plugin.json", `"panel/plugin.json"`, `"panel/other.json"`),
		`the front end was built for "development"`:                replace("plugin.json", "production", "development"),
		"dashboards/a.json has no uid or no revision":              replace("dashboards/a.json", "1", "0"),
		"plugin.json includes dashboards/a.json, which is missing": func(f map[string]string) { delete(f, "dashboards/a.json") },
		`panel/plugin.json names the image "img/logo.svg"`:         func(f map[string]string) { delete(f, "panel/img/logo.svg") },
		"a/b/plugin.json would be taken for a plugin":              func(f map[string]string) { f["a/b/plugin.json"] = "{}" },
		"module.js.map tells paths of the machine":                 replace("module.js.map", "webpack://x/.", "file:///x"),
		"module.js.map holds a private key":                        replace("module.js.map", "webpack:", `-----BEGIN `+`PRIVATE KEY-----\nMII`),
		"go_plugin_build_manifest does not list pkg/main.go":       replace(manifestFile, "pkg/main.go", "pkg/other.go"),
		"datasource/plugin.json does not name the executable":      replace("datasource/plugin.json", "gpx_warpwatch", "gpx_other"),
		"module.js is of a build for development":                  func(f map[string]string) { f["module.js"] = `eval("code")` },
	} {
		files := good()
		spoil(files)
		if err := checkFiles(t, files, usual); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestExecutableBits(t *testing.T) {
	err := checkFiles(t, good(), func(string) os.FileMode { return 0o644 })
	if err == nil || strings.Count(err.Error(), "has mode -rw-r--r--, not -rwxr-xr-x") != len(pluginPlatforms()) {
		t.Errorf("got %v", err)
	}
}

func TestOneFolderAtTheTop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plugin.zip")
	if err := pack(path, []file{{name: "other/README.md", mode: 0o644, text: []byte("x")}}, time.Unix(0, 0), writeZip); err != nil {
		t.Fatal(err)
	}
	if err := CheckPlugin(path, "1.2.3"); err == nil || !strings.Contains(err.Error(), "other/README.md is not below warpwatch-gpu-app/") {
		t.Errorf("got %v", err)
	}
}
