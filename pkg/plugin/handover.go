package plugin

import (
	"sync"
	"time"
)

// How long and how many handovers are remembered.
const (
	handoverAge  = 2 * time.Minute
	maxHandovers = 4096
)

// handovers remember up to where answers have shown a channel's complete rows, so that the stream goes on from there
// without a hole. It is only a memory: a stream that finds nothing here, after a restart or on another replica,
// begins with the rows of the last half minute.
type handovers struct {
	mu sync.Mutex
	at map[string]handover
}

type handover struct {
	row   int64 // time of the last complete row shown, Unix milliseconds
	given time.Time
}

func newHandovers() *handovers { return &handovers{at: make(map[string]handover)} }

func (h *handovers) put(path string, row int64, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.at) >= maxHandovers {
		h.forget(now)
	}
	if len(h.at) < maxHandovers {
		h.at[path] = handover{row: row, given: now}
	}
}

// forget drops what is too old to be of use. The caller holds mu.
func (h *handovers) forget(now time.Time) {
	for path, given := range h.at {
		if now.Sub(given.given) > handoverAge {
			delete(h.at, path)
		}
	}
}

// get is the time of the last complete row that was shown, false when that is not known or long ago.
func (h *handovers) get(path string, now time.Time) (int64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	given, ok := h.at[path]
	if !ok || now.Sub(given.given) > handoverAge {
		return 0, false
	}
	return given.row, true
}
