package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// awaitScrapes returns when every Prometheus has scraped each of its targets, and says which it could not scrape.
func (s *Stack) awaitScrapes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range s.topology.all() {
		group.Go(func() error {
			for {
				err := s.scraped(ctx, c)
				if err == nil {
					return nil
				}
				select {
				case <-ctx.Done():
					return fmt.Errorf("Prometheus of %s: %w", c.Name, err)
				case <-time.After(500 * time.Millisecond):
				}
			}
		})
	}
	return group.Wait()
}

// scraped is nil when every target of a cluster is up.
func (s *Stack) scraped(ctx context.Context, c Cluster) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url(c.PrometheusPort)+"/api/v1/targets?state=active", nil)
	if err != nil {
		return err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Data struct {
			ActiveTargets []struct {
				Labels    map[string]string `json:"labels"`
				Health    string            `json:"health"`
				LastError string            `json:"lastError"`
			} `json:"activeTargets"`
		} `json:"data"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("read targets: %w", err)
	}
	var bad []error
	for _, t := range answer.Data.ActiveTargets {
		if t.Health != "up" {
			bad = append(bad, fmt.Errorf("target %s is %s: %s", t.Labels["instance"], t.Health, t.LastError))
		}
	}
	if want := len(c.Nodes) + len(c.Exporters); len(answer.Data.ActiveTargets) < want {
		bad = append(bad, fmt.Errorf("%d of %d targets are known", len(answer.Data.ActiveTargets), want))
	}
	return errors.Join(bad...)
}
