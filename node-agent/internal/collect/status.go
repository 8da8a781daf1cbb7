package collect

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// setSource changes how the source is, and says so in the log.
func (c *Collector) setSource(to snapshot.Condition) {
	if c.condition.State == to.State && c.condition.Reason == to.Reason {
		return
	}
	to.Since = c.condition.Since
	if c.condition.State != to.State {
		to.Since = time.Now()
	}
	c.condition, c.dirty = to, true
	switch {
	case to.State == snapshot.StateOK && to.Reason == "":
		c.o.Logger.Info("Sampling", "from", c.o.Source.Name())
	case to.State == snapshot.StateReleased:
		c.o.Logger.Info("The GPUs were let go", "reason", to.Reason)
	default:
		c.o.Logger.Warn("The source is not as it should be", "from", c.o.Source.Name(), "state", to.State, "reason", to.Reason)
	}
}

// set changes how a board is, says so in the log, and makes events of it.
func (c *Collector) set(e *entry, to snapshot.Condition) {
	away := to.State == snapshot.StateLost || to.State == snapshot.StateHung
	if away && e.fell != "" {
		to.Reason = e.fell + "; " + to.Reason
	}
	if e.condition.State == to.State && e.condition.Reason == to.Reason {
		return
	}
	to.Since = e.condition.Since
	if e.condition.State != to.State {
		to.Since = time.Now()
		c.logState(e, to)
		if e.condition.State == snapshot.StateLost && to.State == snapshot.StateOK {
			e.fell = ""
		}
	}
	e.condition, c.dirty = to, true
	switch {
	case to.State == snapshot.StateOK && e.gone:
		e.back = to.Since
	case away && !e.gone:
		e.gone = true
		c.happened(e, device.EventLost, to.Since, to.Reason)
		fallthrough
	default:
		e.back = time.Time{}
	}
}

// logState says that a board changed. One that comes and goes is quiet until it stays.
func (c *Collector) logState(e *entry, to snapshot.Condition) {
	level := slog.LevelWarn
	switch {
	case e.gone, to.State == snapshot.StateOK && e.condition.State == snapshot.StateStarting:
		level = slog.LevelDebug
	case to.State == snapshot.StateOK, to.State == snapshot.StateReleased:
		level = slog.LevelInfo
	}
	c.o.Logger.Log(context.Background(), level, "GPU changed state", "gpu", e.devices[0].Index, "uuid", e.devices[0].UUID,
		"state", to.State, "reason", to.Reason)
}

// steadyAfter is how long a board must answer again before it counts as returned. One that comes and goes is one event.
const steadyAfter = 5 * time.Second

// steady makes an event of a board that is back for good.
func (c *Collector) steady(e *entry, now time.Time) {
	if e.gone && !e.back.IsZero() && now.Sub(e.back) >= steadyAfter {
		e.gone = false
		c.happened(e, device.EventReturned, e.back, "it answers since "+e.back.UTC().Format(time.TimeOnly))
	}
}

// rebuildStatus makes an immutable copy of how everything is.
func (c *Collector) rebuildStatus() {
	s := &snapshot.Status{Source: c.condition, Versions: c.versions}
	for _, e := range c.entries {
		d := e.devices[0]
		d.Cluster, d.Node, d.Driver = c.node.Cluster, c.node.Name, c.driver
		s.Boards = append(s.Boards, snapshot.Board{
			Device: d, Condition: e.condition, LastXID: e.lastXID, XIDs: slices.Clone(e.xids), Facts: e.facts,
			Events: slices.Clone(e.events),
		})
	}
	c.status, c.dirty = s, false
}

// sourceCondition is how the source is that failed so: it cannot be lost, only its boards can.
func sourceCondition(c snapshot.Condition) snapshot.Condition {
	if !slices.Contains(snapshot.SourceStates(), c.State) {
		c.State = snapshot.StateFailed
	}
	return c
}

// boardCondition is how a board is whose source is in a condition.
func boardCondition(source snapshot.Condition) snapshot.Condition {
	if !slices.Contains(snapshot.BoardStates(), source.State) {
		source.State = snapshot.StateFailed
	}
	return source
}

// conditionOf is how something is that failed with err.
func conditionOf(err error) snapshot.Condition {
	c := snapshot.Condition{State: snapshot.StateFailed, Reason: err.Error()}
	for _, known := range []struct {
		kind  error
		state snapshot.State
	}{
		{device.ErrLost, snapshot.StateLost}, {device.ErrNoAccess, snapshot.StateNoAccess},
		{device.ErrNoPermission, snapshot.StateFailed}, {device.ErrNoDriver, snapshot.StateNoDriver},
		{device.ErrMismatch, snapshot.StateMismatch},
	} {
		if errors.Is(err, known.kind) {
			c.State = known.state
			break
		}
	}
	return c
}
