package plugin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const (
	// maxLayouts bounds how many layouts are remembered; each is as large as its fleet.
	maxLayouts = 16
	// layoutEvery is how often a layout takes in new devices at most: each time every viewer asks for the table again.
	layoutEvery = 10 * time.Second
	// layoutAge is how long devices that are gone keep their places.
	layoutAge = time.Hour
)

// layout says which cell of a matrix is whose. It is never written to after it was made.
type layout struct {
	devices []gpu.Device // sorted, each once
	at      map[board]int
	hash    string
}

// newLayout is that of devices, in the order of answers.
func newLayout(devices []gpu.Device) *layout {
	slices.SortFunc(devices, func(a, b gpu.Device) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node), cmp.Compare(a.Index, b.Index), a.Compare(b.Identity))
	})
	l := &layout{at: make(map[board]int, len(devices))}
	hash := sha256.New()
	for _, d := range devices {
		key := boardOf(d)
		if _, known := l.at[key]; known {
			continue
		}
		l.at[key] = len(l.devices)
		l.devices = append(l.devices, d)
		for _, text := range []string{key.cluster, key.uuid, key.instance, key.node} {
			hash.Write([]byte(text))
			hash.Write([]byte(groupSeparator))
		}
	}
	l.hash = hex.EncodeToString(hash.Sum(nil)[:8])
	return l
}

// layouts remember how the tables of matrices were laid out, so that a stream sends cells in the same order, and a
// refresh keeps it. It is only a memory: where nothing is found the devices there are make the layout, which is the same
// wherever they are the same. The zero value is empty.
type layouts struct {
	mu   sync.Mutex
	kept map[string]*keptLayout
}

type keptLayout struct {
	layout     *layout
	made, used time.Time
}

// get is the layout of a channel, nil where there is none.
func (l *layouts) get(path string, now time.Time) *layout {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.kept[path]
	if !ok {
		return nil
	}
	k.used = now
	return k.layout
}

// join is the layout that a table of devices has: the one that is known while it has places for all, or else a new one of
// the devices, and for a while of those before, which a running stream then takes over.
func (l *layouts) join(path string, devices []gpu.Device, now time.Time) *layout {
	l.mu.Lock()
	k, ok := l.kept[path]
	l.mu.Unlock()
	if ok && now.Sub(k.made) < layoutAge {
		missing := slices.ContainsFunc(devices, func(d gpu.Device) bool {
			_, has := k.layout.at[boardOf(d)]
			return !has
		})
		if !missing {
			return k.layout
		}
		devices = slices.Concat(k.layout.devices, devices)
	}
	made := newLayout(devices)
	l.put(path, made, now)
	return made
}

// put replaces the layout of a channel. Of too many the one that was not used for longest goes.
func (l *layouts) put(path string, made *layout, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		l.kept = map[string]*keptLayout{}
	}
	if _, ok := l.kept[path]; !ok && len(l.kept) >= maxLayouts {
		oldest := ""
		for other, k := range l.kept {
			if oldest == "" || k.used.Before(l.kept[oldest].used) {
				oldest = other
			}
		}
		delete(l.kept, oldest)
	}
	l.kept[path] = &keptLayout{layout: made, made: now, used: now}
}
