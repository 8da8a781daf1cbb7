package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/internal/check"
)

// settleTime is how long a stack is given to have scraped every target once before it is judged.
const settleTime = 45 * time.Second

// askTime is how long the answers of one panel may take.
const askTime = 2 * time.Minute

// panelsFile is where the table of every panel in every fleet is, below the root.
const panelsFile = ".cache/panels.md"

// Check asks everything that the bundled dashboards ask, of every fleet there is, and writes the table of what they show. The
// fleets of one kind are ended when they were asked.
func (s *Stack) Check(ctx context.Context) error {
	dashboards, err := check.ReadDashboards(filepath.Join(s.options.Root, "dashboards"))
	if err != nil {
		return err
	}
	if err := s.awaitScrapes(ctx); err != nil {
		return err
	}
	start := time.Now()
	report, err := check.Run(ctx, s.fleets(), dashboards, os.Stdout)
	s.stopLone()
	if len(report.Rows) > 0 {
		err = errors.Join(err, os.WriteFile(filepath.Join(s.options.Root, panelsFile), []byte(report.Markdown()), 0o644))
	}
	if err != nil {
		return fmt.Errorf("check dashboards: %w", err)
	}
	s.console.Print("  every panel was asked in %s; what each shows is in %s", time.Since(start).Round(time.Second), panelsFile)
	return nil
}

// fleets are those that the stack runs.
func (s *Stack) fleets() []check.Fleet {
	client := func(root, uid string) check.Client {
		return check.Client{URL: root, Datasource: uid, HTTP: &http.Client{Timeout: askTime}}
	}
	// One range is mostly live, the scrape interval covers one, and one only the past.
	all := []check.Fleet{{
		Name: "mixed, with MIG", Client: client(s.URL(), datasourceUID), Ranges: []time.Duration{15 * time.Minute, time.Hour, 24 * time.Hour},
		Variables: []string{"cluster", "node", "gpu", "mig"}, Agents: true,
	}}
	if s.lone == nil {
		return all
	}
	for _, c := range s.topology.Lone {
		f := check.Fleet{
			Name: c.Kind, Client: client(url(s.topology.LonePort), loneDatasource(c.Name)), Ranges: []time.Duration{time.Hour},
			Variables: []string{"cluster", "node", "gpu"}, Agents: len(c.Nodes) > 0,
		}
		if slices.ContainsFunc(c.Nodes, func(n Node) bool { return len(n.MIG) > 0 }) {
			f.Variables = append(f.Variables, "mig")
		}
		all = append(all, f)
	}
	return all
}

// PrintPanels prints the table that the last check wrote.
func PrintPanels(root string, out io.Writer) error {
	text, err := os.ReadFile(filepath.Join(root, panelsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there: run `go tool mage demo:check` first", panelsFile)
	}
	if err != nil {
		return fmt.Errorf("read table of panels: %w", err)
	}
	_, err = out.Write(text)
	return err
}
