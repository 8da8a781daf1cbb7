package query

import "time"

// MaxPoints is the most steps a range query may have; Prometheus refuses more.
const MaxPoints = 11_000

// Defaults of a Window, where the caller has nothing better.
const (
	DefaultScrapeInterval = 15 * time.Second
	DefaultMaxDataPoints  = 1000
)

// WindowOptions is what a panel and the data source's settings say about the range to answer.
type WindowOptions struct {
	From, To       time.Time
	MaxDataPoints  int64         // the panel's width; DefaultMaxDataPoints when not positive
	MinStep        time.Duration // the query's or the panel's, whichever is larger; 0 for none
	ScrapeInterval time.Duration // DefaultScrapeInterval when not positive
}

// Window is a time range and the grid of steps on it that queries are answered on.
type Window struct {
	From, To       time.Time     // as asked for
	Step           time.Duration // whole milliseconds, at least one
	ScrapeInterval time.Duration
}

// NewWindow chooses the step: the range divided by the panel's points and rounded up to a step people use, but never
// finer than the minimum step, the scrape interval, or what servers accept. A range that ends before it starts is taken
// as empty.
func NewWindow(o WindowOptions) Window {
	if o.To.Before(o.From) {
		o.To = o.From
	}
	if o.ScrapeInterval <= 0 {
		o.ScrapeInterval = DefaultScrapeInterval
	}
	if o.MaxDataPoints <= 0 {
		o.MaxDataPoints = DefaultMaxDataPoints
	}
	length := o.To.Sub(o.From)
	step := max(roundUp(length/time.Duration(o.MaxDataPoints)), o.MinStep, o.ScrapeInterval, FinestStep(length))
	return Window{From: o.From, To: o.To, Step: ceil(step, time.Millisecond), ScrapeInterval: o.ScrapeInterval}
}

// FinestStep is the smallest step in whole seconds that servers accept for a range of this length, at least a second.
// It holds for ranges aligned to the step too: aligning never adds a point that the length itself has no room for.
func FinestStep(length time.Duration) time.Duration {
	step := length / MaxPoints
	if step*MaxPoints < length {
		step++
	}
	return max(ceil(step, time.Second), time.Second)
}

// Start is the first point of the grid, at or up to a step before From. The grid is that of Unix time, so that ranges that
// overlap share their points.
func (w Window) Start() time.Time { return floor(w.From, w.Step) }

// End is the last point of the grid, at or up to a step before To.
func (w Window) End() time.Time { return floor(w.To, w.Step) }

// Length is the range asked for.
func (w Window) Length() time.Duration { return w.To.Sub(w.From) }

// RateInterval is the range over which a rate sees at least four scrapes and every step sees new ones.
func (w Window) RateInterval() time.Duration {
	return max(w.Step+w.ScrapeInterval, 4*w.ScrapeInterval)
}

func floor(t time.Time, step time.Duration) time.Time {
	ms, stepMS := t.UnixMilli(), step.Milliseconds()
	if stepMS <= 0 {
		return t
	}
	rest := ms % stepMS
	if rest < 0 {
		rest += stepMS
	}
	return time.UnixMilli(ms - rest).UTC()
}

func ceil(d, unit time.Duration) time.Duration {
	if rest := d % unit; rest > 0 {
		return d + unit - rest
	}
	return d
}

// roundUp is the next step that fits evenly into a minute, an hour or a day.
func roundUp(step time.Duration) time.Duration {
	for _, nice := range [...]time.Duration{
		1 * time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
		50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
		1 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second,
		1 * time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute,
		1 * time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	} {
		if step <= nice {
			return nice
		}
	}
	return ceil(step, 24*time.Hour)
}
