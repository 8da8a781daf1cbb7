package release

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/build/utils"

	"github.com/warpwatch/warpwatch/internal/build"
)

// appID is the plugin's id, and the folder at the top of its archive.
const appID = "warpwatch-gpu-app"

// noticesFile is where the licences of others are, in every archive and package.
const noticesFile = "THIRD_PARTY_NOTICES.txt"

// pluginPlatforms are those that Grafana runs on.
func pluginPlatforms() []build.Platform {
	return []build.Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}, {OS: "darwin", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "windows", Arch: "amd64"}}
}

// backendName is the plugin's executable for a platform, below the plugin's folder.
func backendName(p build.Platform) string {
	name := "datasource/gpx_warpwatch_" + p.String()
	if p.OS == "windows" {
		name += ".exe"
	}
	return name
}

// plugin makes the plugin's archive, with all platforms in one, and looks at it as a stranger would.
func (r *release) plugin(ctx context.Context) error {
	bundles := filepath.Join(r.builder.Root, "dist")
	files, err := r.frontend(bundles)
	if err != nil {
		return fmt.Errorf("gather the front end: %w", err)
	}
	var programs []string
	for _, target := range pluginPlatforms() {
		program := filepath.Join(r.work, "plugin", filepath.FromSlash(backendName(target)))
		if err := r.builder.ReleasePlugin(ctx, target, program, r.at); err != nil {
			return err
		}
		programs = append(programs, program)
		files = append(files, file{name: backendName(target), mode: 0o755, from: program})
	}
	notices := filepath.Join(r.work, "plugin", noticesFile)
	if err := r.bill(ctx, appID, programs, bundles, notices); err != nil {
		return err
	}
	files = append(files, file{name: noticesFile, mode: 0o644, from: notices})
	manifest, err := sourceManifest()
	if err != nil {
		return fmt.Errorf("list the Go sources: %w", err)
	}
	files = append(files, file{name: manifestFile, mode: 0o644, text: []byte(manifest)})
	for i := range files {
		files[i].name = path.Join(appID, files[i].name)
	}
	archive := filepath.Join(r.out, appID+"-"+r.version+".zip")
	if err := pack(archive, files, r.at, writeZip); err != nil {
		return err
	}
	if err := CheckPlugin(archive, r.version); err != nil {
		return fmt.Errorf("%s is not what Grafana expects:\n%w", filepath.Base(archive), err)
	}
	return nil
}

// manifestFile lists the sums of the Go sources. Grafana's review compares them with the repository.
const manifestFile = "go_plugin_build_manifest"

// sourceManifest is the SDK's list of Go sources, of the current folder, without those that were put there by a build.
func sourceManifest() (string, error) {
	all, err := utils.GenerateManifest()
	if err != nil {
		return "", err
	}
	lines := slices.DeleteFunc(strings.SplitAfter(all, "\n"), func(line string) bool {
		_, name, _ := strings.Cut(line, ":")
		return strings.HasPrefix(name, ".cache/") || strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "dist/")
	})
	return strings.Join(lines, ""), nil
}

// updated is the day of the build in plugin.json, as the bundler writes it.
var updated = regexp.MustCompile(`"updated": "\d{4}-\d{2}-\d{2}"`)

// frontend are the bundler's files, dated by the release and not by today. What the bundler copies for being JSON in the
// sources, but which only tests read, stays behind, and so do executables of other builds.
func (r *release) frontend(dir string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "testdata" {
			return fs.SkipDir
		}
		if entry.IsDir() || strings.HasPrefix(entry.Name(), "gpx_") || entry.Name() == manifestFile {
			return nil
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		f := file{name: filepath.ToSlash(relative), mode: 0o644, from: name}
		if entry.Name() == "plugin.json" {
			if f, err = r.dated(f); err != nil {
				return err
			}
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// dated is a plugin.json with the release's day in it.
func (r *release) dated(f file) (file, error) {
	text, err := os.ReadFile(f.from)
	if err != nil {
		return file{}, err
	}
	if !updated.Match(text) {
		return file{}, fmt.Errorf("%s has no day of its build", f.name)
	}
	f.from, f.text = "", updated.ReplaceAll(text, []byte(`"updated": "`+r.at.Format("2006-01-02")+`"`))
	return f, nil
}
