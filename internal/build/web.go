package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/stamp"
)

// Packages installs the front end's packages as the lock file pins them.
func (b Builder) Packages(ctx context.Context) error {
	s := stamp.Stamp{
		Inputs: []string{"package.json", "package-lock.json"}, Outputs: []string{filepath.Join(b.Root, "node_modules", ".package-lock.json")},
	}
	return b.step("npm packages", s, func(p *console.Progress) error {
		if _, err := exec.LookPath("npm"); err != nil {
			return fmt.Errorf("%w: install Node.js 20 or newer, which brings it", err)
		}
		p.Note("installed")
		return b.run(ctx, "npm packages", p, command{argv: []string{"npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"}})
	})
}

// Frontend bundles the app, the data source and the panel into dist/.
func (b Builder) Frontend(ctx context.Context) error {
	s := stamp.Stamp{
		Inputs: []string{
			"src", "dashboards", ".config", "webpack.config.ts", "package.json", "package-lock.json", "tsconfig.json",
			"README.md", "CHANGELOG.md", "LICENSE",
		},
		Outputs: []string{
			filepath.Join(b.Root, "dist", "module.js"),
			filepath.Join(b.Root, "dist", "datasource", "module.js"),
			filepath.Join(b.Root, "dist", "panel", "module.js"),
		},
	}
	return b.step("front end", s, func(p *console.Progress) error {
		return b.run(ctx, "front end", p, command{argv: []string{"npm", "run", "--silent", "build"}})
	})
}

// PreviewPage bundles the page that renders dashboards without Grafana.
func (b Builder) PreviewPage(ctx context.Context) error {
	s := stamp.Stamp{
		Inputs: []string{"preview/page", "package-lock.json", "tsconfig.json"}, Outputs: []string{filepath.Join(b.PageDir(), "index.html")},
	}
	return b.step("preview page", s, func(p *console.Progress) error {
		return b.run(ctx, "preview page", p, command{argv: []string{"npm", "run", "--silent", "build:preview"}})
	})
}

// PageDir is where PreviewPage puts the page.
func (b Builder) PageDir() string { return filepath.Join(b.Cache(), "preview") }

// Version is the product's, from package.json, as the plugin's build takes it.
func (b Builder) Version() (string, error) {
	text, err := os.ReadFile(filepath.Join(b.Root, "package.json"))
	if err != nil {
		return "", fmt.Errorf("read version: %w", err)
	}
	var p struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return "", fmt.Errorf("read version from package.json: %w", err)
	}
	if p.Version == "" {
		return "", errors.New("package.json has no version")
	}
	return p.Version, nil
}

// output is what a tool prints.
func (b Builder) output(ctx context.Context, c command) (string, error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = filepath.Join(b.Root, c.dir)
	cmd.Env = append(os.Environ(), c.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(c.argv, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
