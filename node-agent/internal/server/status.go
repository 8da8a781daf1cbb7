package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// stuckAfter is how old the newest frame may be before the agent counts as stuck: far more than any period.
func stuckAfter(f *snapshot.Frame) time.Duration { return max(time.Minute, 10*f.Schema.Node.Period) }

// healthy says whether the process should go on living. A node without a driver, or with a sick GPU, is not its fault.
func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) {
	f := s.o.Store.Newest()
	switch {
	case f == nil:
		text(w, http.StatusOK, "starting")
	case !f.Status.Alive():
		text(w, http.StatusServiceUnavailable, "the agent lost access to the GPUs and has to be started again")
	case time.Since(f.Time) > stuckAfter(f):
		text(w, http.StatusServiceUnavailable, fmt.Sprintf("no sample for %s", time.Since(f.Time).Round(time.Second)))
	default:
		text(w, http.StatusOK, "ok")
	}
}

// ready says whether the agent knows what this node has.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	f := s.o.Store.Newest()
	if f == nil {
		text(w, http.StatusServiceUnavailable, "the source was not opened yet")
		return
	}
	if c := f.Status.Source; c.State != snapshot.StateOK {
		text(w, http.StatusOK, string(c.State)+": "+c.Reason)
		return
	}
	text(w, http.StatusOK, "ok")
}

func text(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, message) // whoever asked and went away needs no answer
}
