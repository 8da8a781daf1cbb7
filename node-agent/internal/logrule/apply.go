package logrule

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/time/rate"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// Why a line or a match was not used.
const (
	refusedLine   = "line"   // the line is longer than the rule takes
	refusedValue  = "value"  // it is no number, or nothing that a counter can grow by
	refusedSeries = "series" // the rule has as many as it may
	refusedRate   = "rate"   // more events than a minute may have
)

// active is a rule at work. It is safe for concurrent use.
type active struct {
	*compiled
	series  *series       // of a counter or gauge
	limiter *rate.Limiter // of events
	emit    func(device.Event)
	own     *selfMetrics
}

func newActive(c *compiled, emit func(device.Event), own *selfMetrics) *active {
	a := &active{compiled: c, emit: emit, own: own}
	if c.Type == Event {
		a.limiter = rate.NewLimiter(rate.Limit(c.MaxEventsPerMinute)/60, c.MaxEventsPerMinute)
	} else {
		a.series = newSeries(c)
	}
	return a
}

// apply looks at one line, without its end.
func (a *active) apply(line []byte, now time.Time) {
	if len(line) > a.MaxLine {
		a.own.refused.WithLabelValues(a.Name, refusedLine).Inc()
		return
	}
	at := a.match.FindSubmatchIndex(line)
	if at == nil {
		return
	}
	a.own.matches.WithLabelValues(a.Name).Inc()
	if why := a.use(line, at, now); why != "" {
		a.own.refused.WithLabelValues(a.Name, why).Inc()
	}
}

// use makes something of a match. It returns why not, "" when it did.
func (a *active) use(line []byte, at []int, now time.Time) string {
	if a.Type == Event {
		if !a.limiter.AllowN(now, 1) {
			return refusedRate
		}
		a.emit(a.event(line, at, now))
		return ""
	}
	value := a.number
	if a.value > 0 {
		var err error
		if value, err = strconv.ParseFloat(strings.TrimSpace(group(line, at, a.value)), 64); err != nil {
			return refusedValue
		}
	}
	if a.Type == Counter && !countable(value) {
		return refusedValue
	}
	values := make([]string, len(a.labels))
	for i, l := range a.labels {
		values[i] = l.text
		if l.group > 0 {
			values[i] = clean(group(line, at, l.group), maxLabelText)
		}
	}
	if !a.series.set(values, value, now) {
		return refusedSeries
	}
	return ""
}

// maxDetail bounds the text of an event.
const maxDetail = 256

func (a *active) event(line []byte, at []int, now time.Time) device.Event {
	e := device.Event{
		Kind: device.EventLogMatched, Time: now, Origin: device.FromLog, Detail: clean(a.Name+": "+string(line), maxDetail),
	}
	if uuid := group(line, at, a.uuid); a.uuid > 0 && isGPU(uuid) {
		e.UUID = uuid
	}
	if a.xid > 0 {
		if code, err := strconv.ParseUint(group(line, at, a.xid), 10, 32); err == nil {
			e.XID = code
		}
	}
	return e
}

// group is the text of a group, "" when it took no part in the match.
func group(line []byte, at []int, i int) string {
	if at[2*i] < 0 {
		return ""
	}
	return string(line[at[2*i]:at[2*i+1]])
}

// countable reports whether a counter can grow by v.
func countable(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// isGPU reports whether a text is the UUID of a physical GPU.
func isGPU(text string) bool {
	return regexp.MustCompile(`^GPU-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`).MatchString(text)
}

// clean makes a text of a log fit to be shown: valid UTF-8, no control characters, no more than limit bytes.
func clean(text string, limit int) string {
	text = text[:min(len(text), 4*limit)]
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != ' ' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.TrimSpace(text)
	if len(text) <= limit {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}
