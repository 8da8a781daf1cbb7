package attribute

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"
)

// Names of sources in metrics and notices.
const (
	sourceKubelet   = "kubelet"
	sourceSlurm     = "slurm"
	sourceProcesses = "processes"
)

// source keeps what a scheduler told last, because a kubelet that restarts does not take its pods' GPUs away.
type source[T any] struct {
	name   string
	absent error // the error that says that the scheduler is not on this node
	keep   time.Duration
	m      *metrics
	log    *slog.Logger

	last    T
	at      time.Time       // of last, zero when there is none
	failing bool            // the last try failed
	unknown map[string]bool // what could not be found at the last try
}

// take is what counts now that a try gave value or err, and a notice, "" for none.
func (s *source[T]) take(now time.Time, value T, err error) (T, string) {
	var none T
	switch {
	case err == nil:
		if s.failing {
			s.log.Info("Owners of GPUs are told again", "source", s.name)
		}
		s.last, s.at, s.failing = value, now, false
		s.m.up.WithLabelValues(s.name).Set(1)
		return value, ""
	case errors.Is(err, s.absent):
		s.last, s.at, s.failing = none, time.Time{}, false
		s.m.up.DeleteLabelValues(s.name)
		return none, ""
	}
	if !s.failing {
		s.log.Warn("Owners of GPUs are not told", "source", s.name, "err", err)
	}
	s.failing = true
	s.m.up.WithLabelValues(s.name).Set(0)
	if s.at.IsZero() {
		return none, err.Error()
	}
	if now.Sub(s.at) > s.keep {
		s.last, s.at = none, time.Time{}
		return none, err.Error()
	}
	return s.last, fmt.Sprintf("%v; what it told at %s still counts", err, s.at.UTC().Format(time.TimeOnly))
}

// report counts what could not be found and was not so before, and tells all of it.
func (s *source[T]) report(unknown map[string]bool, notices *notices) {
	const most = 8 // lines of log at once
	fresh := 0
	for _, text := range slices.Sorted(maps.Keys(unknown)) {
		notices.add(text)
		if s.unknown[text] {
			continue
		}
		if fresh++; fresh <= most {
			s.log.Warn("A device that was given away is not known", "source", s.name, "err", text)
		}
	}
	if fresh > most {
		s.log.Warn("More devices that were given away are not known", "source", s.name, "count", fresh-most)
	}
	s.m.unresolved.WithLabelValues(s.name).Add(float64(fresh))
	s.unknown = unknown
}
