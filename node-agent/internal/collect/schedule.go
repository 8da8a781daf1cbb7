package collect

import (
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// Schedule says what is measured, and how often.
type Schedule struct {
	// Tick is how often a frame is published: the interval of the most frequent groups.
	Tick   time.Duration
	Groups device.Groups
	// Every is the interval of each group, by group; 0 and less than Tick mean Tick.
	Every [device.NumGroups]time.Duration
	// MinTick is how short readers' wishes may make Tick; 0 leaves them unheard. What is due on every tick then comes as
	// often, the rest as before.
	MinTick time.Duration
	// ForgetAfter is after how long a lost GPU that the driver does not list is no longer shown. 0 is never.
	ForgetAfter time.Duration
	// List publishes the processes themselves, at the interval of their group.
	List bool
	// Names asks the Describer about them.
	Names bool
}

// ClassIntervals are how often the groups of a class are measured when nothing else is configured.
func ClassIntervals(fast time.Duration) map[device.Class]time.Duration {
	return map[device.Class]time.Duration{
		device.Fast: fast, device.Normal: max(fast, 5*time.Second), device.Slow: max(fast, 30*time.Second),
		device.Static: max(fast, time.Hour),
	}
}

// NewSchedule measures the groups of a profile at the intervals of their classes.
func NewSchedule(profile device.Profile, classes map[device.Class]time.Duration) Schedule {
	s := Schedule{Tick: classes[device.Fast], Groups: device.ProfileGroups(profile), List: true, Names: true}
	for g := range device.NumGroups {
		s.Every[g] = classes[g.Class()]
	}
	return s
}

// complete fills in what is not set.
func (s Schedule) complete() Schedule {
	for g := range s.Every {
		s.Every[g] = max(s.Every[g], s.Tick)
	}
	return s
}

// raised is the schedule for readers who wish for a period; 0 is no wish. The ticks that there would be without are among
// its own.
func (s Schedule) raised(wished time.Duration) Schedule {
	tick := s.tickFor(wished)
	each := s.each()
	for g := range s.Every {
		if s.Every[g] == s.Tick && each.Has(device.Group(g)) {
			s.Every[g] = tick
		}
	}
	s.Tick = tick
	return s
}

// tickFor is the longest part of Tick, in whole milliseconds, that is no longer than a wish and not shorter than MinTick.
func (s Schedule) tickFor(wished time.Duration) time.Duration {
	if s.MinTick <= 0 || wished <= 0 || wished >= s.Tick {
		return s.Tick
	}
	whole := int64(s.Tick / time.Millisecond)
	least := max(int64((s.MinTick+time.Millisecond-1)/time.Millisecond), 1)
	best := whole
	for parts := int64(1); parts <= whole/least; parts++ {
		if whole%parts != 0 {
			continue
		}
		best = whole / parts
		if time.Duration(best)*time.Millisecond <= wished {
			break
		}
	}
	return time.Duration(best) * time.Millisecond
}

// spreadOver bounds by how much the groups of one board are put off against those of another.
const spreadOver = time.Second

// after is the first time after at when a group of the board at a position is due. Groups are due at multiples of their
// interval since the Unix epoch, so that nodes agree. Those that are not due on every tick come a tick later for each next
// board, within a second: boards that answer slowly are then not all asked in one tick, and none is put off when a tick is
// a second or more.
func (s *Schedule) after(at time.Time, g device.Group, position int) int64 {
	every := int64(s.Every[g])
	phase := int64(position) * int64(s.Tick) % min(every, int64(spreadOver))
	if s.Tick >= spreadOver {
		phase = 0
	}
	n := at.UnixNano() - phase
	return n - n%every + every + phase
}

// each is the set of groups that are due on every tick.
func (s *Schedule) each() device.Groups {
	var each device.Groups
	for g := range device.NumGroups {
		if s.Groups.Has(g) && s.Every[g] <= s.Tick {
			each |= device.GroupsOf(g)
		}
	}
	return each
}

// span is a run of metrics that stand together.
type span struct{ from, to device.Metric }

// layoutOfGroups tells which metrics belong to a group.
func layoutOfGroups() [device.NumGroups][]span {
	var spans [device.NumGroups][]span
	for m := range device.NumMetrics {
		of := &spans[m.Group()]
		if n := len(*of); n > 0 && (*of)[n-1].to == m {
			(*of)[n-1].to++
			continue
		}
		*of = append(*of, span{m, m + 1})
	}
	return spans
}
