package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/warpwatch/warpwatch/dashboards/rules"
)

// rules checks the rules, those printed for each exporter among them, runs their tests, and checks the configurations that use them.
func (r *run) rules(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "warpwatch-rules")
	if err != nil {
		return err
	}
	return errors.Join(r.rulesIn(ctx, dir), os.RemoveAll(dir))
}

// rulesIn does it with a folder for what is printed.
func (r *run) rulesIn(ctx context.Context, dir string) error {
	promtool := r.builder.Bin("promtool")
	shipped, err := r.files("dashboards/rules/*.rules.yaml")
	if err != nil {
		return err
	}
	tests, err := r.files("dashboards/rules/*.test.yaml")
	if err != nil {
		return err
	}
	printed, err := r.printed(ctx, dir)
	if err != nil {
		return err
	}
	for _, argv := range [][]string{
		append([]string{promtool, "check", "rules", "--lint=all", "--lint-fatal"}, shipped...),
		append([]string{promtool, "check", "rules", "--lint=all", "--lint-fatal"}, printed...),
		append([]string{promtool, "test", "rules"}, tests...),
	} {
		if err := r.tool(ctx, "", nil, argv...); err != nil {
			return err
		}
	}
	return r.configurations(ctx, promtool)
}

// printed are files of what the agent prints for each exporter.
func (r *run) printed(ctx context.Context, dir string) ([]string, error) {
	var names []string
	for _, exporter := range rules.Exporters() {
		cmd := exec.CommandContext(ctx, filepath.Join(r.root, "bin", "warpwatch-agent"), "rules", "--exporter="+exporter)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("print the rules for %s: %w: %s", exporter, err, stderr.Bytes())
		}
		name := filepath.Join(dir, exporter+".yaml")
		if err := os.WriteFile(name, out, 0o600); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// configurations checks those that are shipped. Rules, targets and secrets are where somebody installs them, so they are not looked for.
func (r *run) configurations(ctx context.Context, promtool string) error {
	check := []string{promtool, "check", "config", "--syntax-only"}
	for _, pattern := range []string{"provisioning/prometheus/*.yml", "provisioning/prometheus/discovery/*.yml", "provisioning/samples/*/prometheus.yml"} {
		files, err := r.files(pattern)
		if err != nil {
			return err
		}
		check = append(check, files...)
	}
	return r.tool(ctx, "", []string{"POD_NAME=prometheus-0", "HOSTNAME=prometheus-0", "WARPWATCH_CLUSTER=north"}, check...)
}

// files are those of the checkout that a pattern fits; none is an error.
func (r *run) files(pattern string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(pattern)))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there is no %s", pattern)
	}
	return found, err
}
