package export

import (
	"errors"
	"fmt"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// Options of an Exporter.
type Options struct {
	Store     *snapshot.Store
	Node      snapshot.Node
	Identity  Identity
	Catalog   *catalog.Catalog
	Settings  Settings
	Owners    *snapshot.Latest[snapshot.OwnerList]   // nil when nobody finds out
	Processes *snapshot.Latest[snapshot.ProcessList] // nil when nobody lists them
}

// Identity is how the agent can be reached, for whoever reads its metrics.
type Identity struct {
	Address string // host:port of the stream, "" when it is the scraped address
	Scheme  string // "http" or "https"
}

// Settings are what may change while the agent runs.
type Settings struct {
	// Window is over how much of the past gauges are folded; 0 leaves the windows out. It should be no shorter than the
	// scrape interval, and no longer than the store's ring.
	Window time.Duration
	// Windowed are the groups whose gauges are folded.
	Windowed device.Groups
	// Timestamps writes the time of the sample after each reading.
	Timestamps bool
	// MaxProcesses is how many processes of a device have series; 0 leaves them all out.
	MaxProcesses int
}

const (
	// DefaultWindow is what suits the usual scrape intervals of 10 to 30 seconds.
	DefaultWindow = 30 * time.Second
	maxWindow     = 10 * time.Minute
)

// Check says what is wrong with the settings.
func (s Settings) Check() error {
	switch {
	case s.Window < 0 || s.Window > maxWindow:
		return fmt.Errorf("the window of %s must be 0s to %s", s.Window, maxWindow)
	case s.MaxProcesses < 0:
		return fmt.Errorf("the limit of %d processes must be 0 or more", s.MaxProcesses)
	}
	return nil
}

// FastGroups are the groups that are read most often when nothing else is configured.
func FastGroups() device.Groups {
	var fast device.Groups
	for g := range device.NumGroups {
		if g.Class() == device.Fast {
			fast |= device.GroupsOf(g)
		}
	}
	return fast
}

// New prepares an exporter.
func New(o Options) (*Exporter, error) {
	xids, ok := o.Catalog.Metric("gpu_xid_errors_total")
	if !ok {
		return nil, errors.New("gpu_xid_errors_total is not in the catalogue")
	}
	if err := o.Settings.Check(); err != nil {
		return nil, err
	}
	e := &Exporter{o: o, xids: xids}
	e.Set(o.Settings)
	return e, nil
}

// Set changes the settings, which were checked.
func (e *Exporter) Set(s Settings) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.settings
	e.settings, e.shown, e.layout = s, shown{}, nil
	if s.Window != old.Window || s.Windowed != old.Windowed {
		if e.window != nil {
			e.window.Close()
		}
		e.window = nil
		if s.Window > 0 && s.Windowed != 0 {
			e.window = snapshot.NewWindow(e.o.Store, s.Windowed, s.Window)
		}
	}
	e.head = e.appendAgent(nil)
}
