package nvml

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// library is NVML with what is known about it. It is safe for concurrent use, but for forget.
type library struct {
	api       nvml.Interface
	versioned versioned // nil when the library is not the real one
	proc      string
	now       func() time.Time
	log       *slog.Logger
	gpm       gate
	// gpmRequest is large, and used by who has passed the gate.
	gpmRequest *nvml.GpmMetricsGetType
	metrics    [device.NumGroups][]device.Metric
	spans      [device.NumMetrics]span

	mu      sync.Mutex
	present map[call]bool
}

func newLibrary(api nvml.Interface, o Options) *library {
	l := &library{
		api: api, versioned: versionedOf(api), proc: o.Proc, now: o.Now, log: o.Logger, gpm: newGate(),
		gpmRequest: &nvml.GpmMetricsGetType{}, present: map[call]bool{},
	}
	for m := range device.NumMetrics {
		l.metrics[m.Group()] = append(l.metrics[m.Group()], m)
		l.spans[m] = spanOf(m)
	}
	return l
}

// has reports whether the library offers a call. Only then may it be made.
func (l *library) has(c call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.present[c]
	if ok {
		return known
	}
	known = true
	for _, name := range symbols[c] {
		if !l.offers(name) {
			known = false
			l.log.Info("The installed driver lacks a function; readings that need it are shown as not supported",
				"function", name)
		}
	}
	l.present[c] = known
	return known
}

// hasAll reports whether the library offers several calls.
func (l *library) hasAll(calls ...call) bool {
	for _, c := range calls {
		if !l.has(c) {
			return false
		}
	}
	return true
}

// offers reports whether the library has one of the symbols a|b|c.
func (l *library) offers(names string) bool {
	for name := range strings.SplitSeq(names, "|") {
		if l.api.Extensions().LookupSymbol(name) == nil {
			return true
		}
	}
	return false
}

// absent sets the readings of groups to "not supported", for the rest of a sample to fill in.
func (l *library) absent(v *device.Values, groups device.Groups) {
	for g, metrics := range l.metrics {
		if !groups.Has(device.Group(g)) {
			continue
		}
		for _, m := range metrics {
			v[m] = gpu.Absent(gpu.NotSupported)
		}
	}
}

// forget drops what was found out about the library, which may be another one when it is opened again.
func (l *library) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.present = map[call]bool{}
}
