package attribute

import (
	"errors"
	"fmt"
	"log/slog"
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

// report counts what could not be found and was not so before.
func (s *source[T]) report(unknown map[string]bool) {
	for text := range unknown {
		if !s.unknown[text] {
			s.m.unresolved.WithLabelValues(s.name).Inc()
			s.log.Warn("A device that was given away is not known", "source", s.name, "err", text)
		}
	}
	s.unknown = unknown
}
