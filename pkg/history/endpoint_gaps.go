package history

import (
	"github.com/warpwatch/warpwatch/pkg/query"
)

// gaps reports whether a series lacks points of the range that was asked for, or there is none.
func (a *answer) gaps() bool { return a.incomplete }

// gaps reports whether another replica may know more: a device without points of the range, or a device that this server
// does not know.
func (c collected) gaps() bool { return c.incomplete }

// gaps is always true: a replica that is cut off from a part of the cluster does not know that there is more.
func (i *inventory) gaps() bool { return true }

// lacks reports whether series, or one of them, have fewer points than a range has. A table has none to lack.
func lacks(series []rawSeries, instant bool, w query.Window) bool {
	if len(series) == 0 {
		return true
	}
	if instant {
		return false
	}
	points := pointsOf(w)
	for _, s := range series {
		if len(s.Times) < points {
			return true
		}
	}
	return false
}

func pointsOf(w query.Window) int {
	if w.Step <= 0 {
		return 1
	}
	return int(w.End().Sub(w.Start())/w.Step) + 1
}

// short reports whether a device that one server was asked for has fewer points than the range, all its series together:
// exporters start a new series for each pod.
func (c collected) short(instant bool, w query.Window) bool {
	if len(c.candidates) == 0 {
		return true
	}
	if instant {
		return false
	}
	points := pointsOf(w)
	open := map[deviceKey][]candidate{}
	full := map[deviceKey]bool{}
	for _, one := range c.candidates {
		switch {
		case full[one.key]:
		case len(one.times) >= points:
			full[one.key] = true
			delete(open, one.key)
		default:
			open[one.key] = append(open[one.key], one)
		}
	}
	for _, parts := range open {
		seen := map[int64]bool{}
		for _, part := range parts {
			for _, at := range part.times {
				seen[at] = true
			}
		}
		if len(seen) < points {
			return true
		}
	}
	return false
}

// stranger reports whether another replica of the cluster knew, when it was last asked, a device that this one does not.
func (c collected) stranger(others []roster) bool {
	for _, other := range others {
		for key := range other {
			if c.roster.at(key) == nil {
				return true
			}
		}
	}
	return false
}
