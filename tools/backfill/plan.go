package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Plan is what to write, and where.
type Plan struct {
	DataDir string `json:"dataDir"` // Prometheus' --storage.tsdb.path

	History    duration `json:"history"`    // how far back an empty database is filled
	Step       duration `json:"step"`       // between samples, but for
	Recent     duration `json:"recent"`     // this last stretch, whose samples are
	RecentStep duration `json:"recentStep"` // this far apart

	Agents      []Agent      `json:"agents"`
	Expositions []Exposition `json:"expositions"`
}

// Agent is a scraped agent. Its past comes from a command that writes delimited wire.Messages.
type Agent struct {
	Target  map[string]string `json:"target"`  // labels that scraping adds: job, instance
	Address string            `json:"address"` // as the agent advertises it; may be empty
	Scheme  string            `json:"scheme"`
	Command []string          `json:"command"` // --from, --to and --step are added
}

// Exposition is a scraped exporter whose answer is always the same file.
type Exposition struct {
	Target map[string]string `json:"target"`
	File   string            `json:"file"`
}

type duration time.Duration

// UnmarshalJSON reads "5m".
func (d *duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(s)
	*d = duration(parsed)
	return err
}

func (d duration) ms() int64 { return time.Duration(d).Milliseconds() }

func readPlan(path string) (Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	defer f.Close()
	decoder := json.NewDecoder(f)
	decoder.DisallowUnknownFields()
	var p Plan
	if err := decoder.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("read plan %s: %w", path, err)
	}
	if err := p.validate(); err != nil {
		return Plan{}, fmt.Errorf("read plan %s: %w", path, err)
	}
	return p, nil
}

func (p Plan) validate() error {
	switch {
	case p.DataDir == "":
		return errors.New("dataDir is empty")
	case p.Step <= 0 || p.RecentStep <= 0:
		return errors.New("step and recentStep must be longer than 0s")
	case p.History < p.Recent || p.Recent < 0:
		return errors.New("recent must lie between 0s and history")
	}
	for _, a := range p.Agents {
		if len(a.Command) == 0 {
			return fmt.Errorf("agent %s has no command", a.Target["instance"])
		}
	}
	return nil
}
