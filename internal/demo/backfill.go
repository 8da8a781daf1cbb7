package demo

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/warpwatch/warpwatch/internal/build"
	"github.com/warpwatch/warpwatch/internal/console"
)

// plan mirrors the file that tools/backfill reads.
type plan struct {
	DataDir     string           `json:"dataDir"`
	History     string           `json:"history"`
	Step        string           `json:"step"`
	Recent      string           `json:"recent"`
	RecentStep  string           `json:"recentStep"`
	Agents      []planAgent      `json:"agents"`
	Expositions []planExposition `json:"expositions"`
}

type planAgent struct {
	Target  map[string]string `json:"target"`
	Address string            `json:"address"`
	Scheme  string            `json:"scheme"`
	Command []string          `json:"command"`
}

type planExposition struct {
	Target map[string]string `json:"target"`
	File   string            `json:"file"`
}

func (s *Stack) plan(c Cluster) plan {
	p := plan{
		DataDir: s.folder.data(c.Name), History: s.options.History.String(), Step: "5m", Recent: min(3*time.Hour, s.options.History).String(), RecentStep: "15s",
	}
	for _, n := range c.Nodes {
		p.Agents = append(p.Agents, planAgent{
			Target:  map[string]string{"job": agentJob, "instance": n.instance()},
			Address: address(n.Port), Scheme: "http", Command: append([]string{s.agentPath(), "simulate-history"}, n.simulation()...),
		})
	}
	for _, e := range c.Exporters {
		p.Expositions = append(p.Expositions, planExposition{
			Target: map[string]string{"job": e.Job, "instance": e.Instance}, File: s.replayFile(e),
		})
	}
	return p
}

// backfill gives every cluster the past that it lacks.
func (s *Stack) backfill(ctx context.Context, b build.Builder) error {
	return s.console.Step("history", func(p *console.Progress) error {
		group, ctx := errgroup.WithContext(ctx)
		clusters := s.topology.all()
		said := make([]string, len(clusters))
		for i, c := range clusters {
			group.Go(func() error {
				var err error
				said[i], err = s.backfillCluster(ctx, b.Bin("backfill"), c, p)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		p.Note("%s", strings.Join(said, "; "))
		return nil
	})
}

func (s *Stack) backfillCluster(ctx context.Context, program string, c Cluster, p *console.Progress) (said string, err error) {
	planFile := filepath.Join(s.folder.prometheus(c.Name), "backfill.json")
	if err := writeJSON(planFile, s.plan(c)); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, planFile)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 3 * time.Second
	cmd.Env = append(os.Environ(), s.folder.mark())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("backfill %s: %w", c.Name, err)
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("backfill %s: %w", c.Name, err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = c.Name + " " + lines.Text()
		p.Update("%s", said)
	}
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("backfill %s: %w: %s", c.Name, err, strings.TrimSpace(stderr.String()))
	}
	return said, nil
}
