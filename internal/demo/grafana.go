package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/internal/stamp"
)

// The oldest Grafana that loads the plugin.
const (
	grafanaMajor = 12
	grafanaMinor = 3
)

// grafana is an installed Grafana.
type grafana struct {
	home    string
	program string
	version string
}

// findGrafana looks in GRAFANA_HOME, then for `grafana` on PATH. It returns nil where there is none that can be used,
// and why.
func findGrafana(ctx context.Context, getenv func(string) string) (found *grafana, why string) {
	g := grafana{home: getenv("GRAFANA_HOME")}
	if g.home != "" {
		g.program = filepath.Join(g.home, "bin", "grafana")
	} else {
		path, err := exec.LookPath("grafana")
		if err != nil {
			return nil, "no Grafana was found (GRAFANA_HOME is not set and there is no grafana on PATH)"
		}
		g.program = path
		if g.home, err = homeOf(path); err != nil {
			return nil, fmt.Sprintf("the Grafana at %s cannot be used: %v", path, err)
		}
	}
	out, err := exec.CommandContext(ctx, g.program, "server", "-v").CombinedOutput()
	if err != nil {
		return nil, fmt.Sprintf("the Grafana at %s does not say its version: %v", g.program, err)
	}
	if g.version, err = checkVersion(string(out)); err != nil {
		return nil, fmt.Sprintf("the Grafana at %s cannot be used: %v", g.program, err)
	}
	return &g, ""
}

// homeOf is the folder with Grafana's public/ and conf/, from where an archive or a Linux package puts the program.
func homeOf(program string) (string, error) {
	resolved, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", err
	}
	for _, home := range []string{filepath.Dir(filepath.Dir(resolved)), "/usr/share/grafana"} {
		if _, err := os.Stat(filepath.Join(home, "conf", "defaults.ini")); err == nil {
			return home, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", errors.New("its conf/defaults.ini was not found, set GRAFANA_HOME to the folder that holds conf and public")
}

// checkVersion reads "Version 12.3.0 (commit: …)".
func checkVersion(text string) (string, error) {
	found := regexp.MustCompile(`(\d+)\.(\d+)\.\d+\S*`).FindStringSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("its version is not in %q", strings.TrimSpace(text))
	}
	major, err := strconv.Atoi(found[1])
	if err != nil {
		return "", err
	}
	minor, err := strconv.Atoi(found[2])
	if err != nil {
		return "", err
	}
	if major < grafanaMajor || major == grafanaMajor && minor < grafanaMinor {
		return "", fmt.Errorf("it is %s, the plugin needs %d.%d or newer", found[0], grafanaMajor, grafanaMinor)
	}
	return found[0], nil
}

// grafanaEnv configures a Grafana of the demo's own: nothing is shared with one that is installed besides the program.
func (s *Stack) grafanaEnv() ([]string, error) {
	dir := s.folder.grafana()
	plugins, provisioning := filepath.Join(dir, "plugins"), filepath.Join(dir, "provisioning")
	// Grafana calls it an error when one of its provisioning folders is missing.
	for _, folder := range []string{plugins, filepath.Join(provisioning, "dashboards"), filepath.Join(provisioning, "alerting")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, fmt.Errorf("make folder for Grafana: %w", err)
		}
	}
	for link, to := range map[string]string{
		filepath.Join(plugins, "warpwatch-gpu-app"): filepath.Join(s.options.Root, "dist"),
		filepath.Join(provisioning, "datasources"):  filepath.Join(s.options.Root, "provisioning", "datasources"),
		filepath.Join(provisioning, "plugins"):      filepath.Join(s.options.Root, "provisioning", "plugins"),
	} {
		if err := relink(link, to); err != nil {
			return nil, err
		}
	}
	if err := s.forgetOldDashboards(filepath.Join(dir, "data")); err != nil {
		return nil, err
	}
	return []string{
		"GF_SERVER_HTTP_ADDR=127.0.0.1",
		"GF_SERVER_HTTP_PORT=" + strconv.Itoa(s.topology.UIPort),
		"GF_PATHS_DATA=" + filepath.Join(dir, "data"),
		"GF_PATHS_LOGS=" + filepath.Join(dir, "logs"),
		"GF_PATHS_PLUGINS=" + plugins,
		"GF_PATHS_PROVISIONING=" + provisioning,
		"GF_PLUGINS_ALLOW_LOADING_UNSIGNED_PLUGINS=warpwatch-gpu-app,warpwatch-gpu-datasource,warpwatch-fleet-panel",
		"GF_PLUGINS_PREINSTALL_DISABLED=true",
		"GF_AUTH_ANONYMOUS_ENABLED=true",
		"GF_AUTH_ANONYMOUS_ORG_ROLE=Admin",
		"GF_AUTH_DISABLE_LOGIN_FORM=true",
		"GF_ANALYTICS_REPORTING_ENABLED=false",
		"GF_ANALYTICS_CHECK_FOR_UPDATES=false",
		"GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES=false",
		"GF_NEWS_NEWS_FEED_ENABLED=false",
		"GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH=" + filepath.Join(s.options.Root, "dist", "dashboards", "gpu-node-live.json"),
	}, nil
}

func relink(link, to string) error {
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("link for Grafana: %w", err)
	}
	if err := os.Symlink(to, link); err != nil {
		return fmt.Errorf("link for Grafana: %w", err)
	}
	return nil
}

// forgetOldDashboards empties the data folder when the app's dashboards changed: Grafana imports them again only when the
// app's version has changed, too.
func (s *Stack) forgetOldDashboards(data string) error {
	imported := stamp.Stamp{File: data + ".stamp", Inputs: []string{filepath.Join(s.options.Root, "dist", "dashboards")}}
	due, hash, err := imported.Due()
	if err != nil || !due {
		return err
	}
	if err := os.RemoveAll(data); err != nil {
		return fmt.Errorf("empty Grafana's data folder: %w", err)
	}
	return imported.Done(hash)
}
