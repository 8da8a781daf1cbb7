package forecast

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Outlook says whether a limit will be reached.
type Outlook string

// The outlooks.
const (
	NoLimit  Outlook = ""         // none was asked for, or nothing can be said
	Never    Outlook = "no"       // not even the unfavourable end of the interval reaches it within the horizon
	Possible Outlook = "possible" // only the unfavourable end does
	Likely   Outlook = "likely"   // the expected value does
	Reached  Outlook = "reached"  // it is there now
)

// Crossing is when a limit is reached. Times are Unix milliseconds, 0 when not within the horizon.
type Crossing struct {
	Outlook                  Outlook
	Limit                    float64 // 0 when there is none
	Below                    bool
	Earliest, Likely, Latest int64 // by the unfavourable end of the interval, the expected value, and the favourable end
}

// crossing looks where a forecast's points first reach the limit.
func crossing(r *Result, w *work, t Target) Crossing {
	if !isFinite(t.Limit) {
		return Crossing{}
	}
	c := Crossing{Outlook: Never, Limit: t.Limit, Below: t.Below}
	over := func(v float64) bool {
		if t.Below {
			return v <= t.Limit
		}
		return v >= t.Limit
	}
	recent := insight.Present(nil, w.y[max(0, len(w.y)-3):])
	if len(recent) > 0 && over(w.value(median(recent))) {
		c.Outlook = Reached
		c.Earliest, c.Likely, c.Latest = r.end(), r.end(), r.end()
		return c
	}
	for _, p := range r.Points {
		if !p.Future {
			continue
		}
		first, last := p.Upper, p.Lower
		if t.Below {
			first, last = last, first
		}
		note(&c.Earliest, p.Time, over(first))
		note(&c.Likely, p.Time, over(p.Value))
		note(&c.Latest, p.Time, over(last))
	}
	switch {
	case c.Likely != 0:
		c.Outlook = Likely
	case c.Earliest != 0:
		c.Outlook = Possible
	}
	return c
}

func note(at *int64, t int64, over bool) {
	if over && *at == 0 {
		*at = t
	}
}

// end is when the past ends: the first step of the future, or the last of the past.
func (r *Result) end() int64 {
	for _, p := range r.Points {
		if p.Future {
			return p.Time
		}
	}
	return 0
}

// In is how long after the end of the past a time of the crossing is; false when it is not within the horizon.
func (r *Result) In(at int64) (time.Duration, bool) {
	if at == 0 {
		return 0, false
	}
	return time.Duration(at-r.end()) * time.Millisecond, true
}

// say is the answer in words. A trend that is none is said to be none.
func (r *Result) say(t Target) string {
	var out strings.Builder
	switch {
	case r.Method == Linear:
		fmt.Fprintf(&out, "%s by %s a day", direction(r.Trend.PerDay), amount(math.Abs(r.Trend.PerDay), t.Unit))
		if r.Season > 0 {
			fmt.Fprintf(&out, ", around a pattern of %s", season(r.Season))
		}
	case r.Trend.Significant:
		fmt.Fprintf(&out, "%s by %s a day so far, but a line would have predicted worse than its %s", direction(r.Trend.PerDay), amount(math.Abs(r.Trend.PerDay), t.Unit), r.Method)
	case r.Season > 0:
		fmt.Fprintf(&out, "No trend; it repeats a pattern of %s", season(r.Season))
	default:
		out.WriteString("No trend; the best guess is that it stays as it is")
	}
	out.WriteString(".")
	c := r.Crossing
	limit := amount(c.Limit, t.Unit)
	switch c.Outlook {
	case Reached:
		fmt.Fprintf(&out, " The limit of %s is reached now.", limit)
	case Likely:
		in, _ := r.In(c.Likely)
		early, _ := r.In(c.Earliest)
		fmt.Fprintf(&out, " It is expected to reach %s in %s, at the earliest in %s", limit, insight.Span(in), insight.Span(early))
		if late, ok := r.In(c.Latest); ok {
			fmt.Fprintf(&out, ", at the latest in %s.", insight.Span(late))
		} else {
			fmt.Fprintf(&out, ", and it may not within %s.", insight.Span(r.horizon()))
		}
	case Possible:
		early, _ := r.In(c.Earliest)
		fmt.Fprintf(&out, " It is not expected to reach %s within %s, but might in %s.", limit, insight.Span(r.horizon()), insight.Span(early))
	case Never:
		fmt.Fprintf(&out, " It does not reach %s within %s.", limit, insight.Span(r.horizon()))
	case NoLimit:
	}
	if skill := r.Backtest.Skill(); r.Method != Last && skill > 0.005 {
		fmt.Fprintf(&out, " Tried on the past, it was %.0f %% closer than repeating what was.", skill*100)
	}
	return out.String()
}

func (r *Result) horizon() time.Duration {
	n := 0
	for _, p := range r.Points {
		if p.Future {
			n++
		}
	}
	return time.Duration(n) * r.Step
}

func direction(perDay float64) string {
	if perDay < 0 {
		return "Falls"
	}
	return "Rises"
}

func season(d time.Duration) string {
	if d >= week {
		return "days and weeks"
	}
	return "days"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// amount is a value with its unit, in three digits.
func amount(v float64, unit gpu.Unit) string {
	switch unit {
	case gpu.Ratio:
		return fmt.Sprintf("%.3g %%", v*100)
	case gpu.Celsius:
		return fmt.Sprintf("%.3g °C", v)
	case gpu.Watts:
		return fmt.Sprintf("%.3g W", v)
	case gpu.Bytes:
		return fmt.Sprintf("%.3g GiB", v/(1<<30))
	case gpu.Count, gpu.Code, "":
		return fmt.Sprintf("%.4g", v)
	default:
		return fmt.Sprintf("%.3g %s", v, strings.ReplaceAll(string(unit), "_", " "))
	}
}

func sortedKeys(m map[int]float64) []int { return slices.Sorted(maps.Keys(m)) }
