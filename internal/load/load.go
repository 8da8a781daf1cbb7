// Package load lets many viewers look at the demo at once, as browsers do: each has a dashboard's panels open, asks for them again
// and again, and listens to what goes on in them. It says how long answers took, what failed, and what memory the plugin held.
package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/internal/check"
	"github.com/warpwatch/warpwatch/internal/console"
	"github.com/warpwatch/warpwatch/internal/demo"
)

// Options say how much is asked.
type Options struct {
	Viewers int
	Panels  int           // that each has open
	Refresh time.Duration // from one asking of a panel to the next
	Length  time.Duration // of the whole
	MostMiB int           // of memory that the plugin may hold at any time
	// Faults is whether agents are paused meanwhile, one after the other, each until its node is missed. Answers must not fail.
	Faults bool
}

// Defaults are 200 viewers of 20 panels for five minutes.
func Defaults() Options {
	return Options{Viewers: 200, Panels: 20, Refresh: 30 * time.Second, Length: 5 * time.Minute, MostMiB: 2048}
}

// FromEnv changes options by LOAD_VIEWERS, LOAD_PANELS, LOAD_REFRESH, LOAD_TIME and LOAD_MOST_MIB.
func (o Options) FromEnv(getenv func(string) string) (Options, error) {
	for name, into := range map[string]*int{"LOAD_VIEWERS": &o.Viewers, "LOAD_PANELS": &o.Panels, "LOAD_MOST_MIB": &o.MostMiB} {
		if text := getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return o, fmt.Errorf("%s=%q must be a number from 1 on", name, text)
			}
			*into = n
		}
	}
	for name, into := range map[string]*time.Duration{"LOAD_REFRESH": &o.Refresh, "LOAD_TIME": &o.Length} {
		if text := getenv(name); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil || d < time.Second {
				return o, fmt.Errorf("%s=%q must be a length of time from 1s on, such as 5m", name, text)
			}
			*into = d
		}
	}
	return o, nil
}

// datasourceUID is the demo's.
const datasourceUID = "warpwatch"

// Run looks at a stack that is running, and prints what came of it. The error says what did not hold: an answer failed, or
// memory was not bounded.
func Run(ctx context.Context, root string, s *demo.Stack, o Options, c *console.Console) error {
	panels, err := panels(filepath.Join(root, "dashboards"))
	if err != nil {
		return err
	}
	state, err := readState(s.StateFile())
	if err != nil {
		return err
	}
	plugin, err := pluginOf(state)
	if err != nil {
		return err
	}
	c.Print("  %d viewers of %d panels each, every %s, for %s", o.Viewers, o.Panels, o.Refresh, o.Length)
	tally := &tally{}
	ctx, cancel := context.WithTimeout(ctx, o.Length)
	defer cancel()
	memory := watch(ctx, plugin)
	transport := &http.Transport{MaxIdleConnsPerHost: o.Viewers * atOnce}
	defer transport.CloseIdleConnections()
	var all sync.WaitGroup
	for i := range o.Viewers {
		v := viewer{
			url: s.URL(), http: &http.Client{Transport: transport, Timeout: time.Minute}, tally: tally, panels: pick(panels, i*o.Panels, o.Panels),
			last: []time.Duration{15 * time.Minute, time.Hour, 6 * time.Hour}[i%3], refresh: o.Refresh, first: o.Refresh * time.Duration(i) / time.Duration(o.Viewers),
		}
		all.Go(func() { v.look(ctx) })
	}
	if o.Faults {
		all.Go(func() { pauseAgents(ctx, state, tally) })
	}
	all.Wait()
	held := memory()
	tally.print(c, held)
	return errors.Join(tally.failed(), held.bounded(o.MostMiB))
}

// panel is the queries of one.
type panel struct {
	name    string
	queries []map[string]any
}

func panels(dir string) ([]panel, error) {
	dashboards, err := check.ReadDashboards(dir)
	if err != nil {
		return nil, err
	}
	var all []panel
	for _, d := range dashboards {
		for _, p := range d.Panels {
			all = append(all, panel{name: d.Title + ": " + p.Title, queries: p.Targets})
		}
	}
	return all, nil
}

// pick takes n from one on, and goes on at the beginning after the last.
func pick(all []panel, from, n int) []panel {
	picked := make([]panel, n)
	for i := range picked {
		picked[i] = all[(from+i)%len(all)]
	}
	return picked
}

func readState(file string) (demo.State, error) {
	var state demo.State
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return state, fmt.Errorf("read the state of the stack: %w", err)
	}
	return state, nil
}

// pluginOf is the process of the plugin: the child of the one that shows it.
func pluginOf(state demo.State) (pid int, err error) {
	for _, p := range state.Processes {
		if p.Name == "preview" || p.Name == "grafana" {
			return childNamed(p.PID, "gpx_warpwatch")
		}
	}
	return 0, errors.New("the stack shows no plugin")
}
