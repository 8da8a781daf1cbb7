package servers

import (
	"context"
	"log/slog"
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// Times are seconds since 1970; t0 is the start of a block of two hours.
const (
	t0     int64 = 1793397600
	minute int64 = 60
	hour   int64 = 3600
)

// line is a series to store, and its value at a time; NaN for none. Where a value is followed by none the series is ended as a
// scrape does that no longer finds it, unless it is abrupt.
type line struct {
	labels labels.Labels
	at     func(t int64) float64
	abrupt bool
}

func ended() float64 { return math.Float64frombits(value.StaleNaN) }

// store writes the samples of [from, to) as blocks of a day at most.
func store(t testing.TB, dir string, from, to, step int64, lines []line) {
	t.Helper()
	const day = 24 * hour
	present := make([]bool, len(lines))
	for start := from; start < to; {
		end := min((start/day+1)*day, to)
		storeBlock(t, dir, start, end, step, lines, present)
		start = end
	}
}

func storeBlock(t testing.TB, dir string, from, to, step int64, lines []line, present []bool) {
	t.Helper()
	w, err := tsdb.NewBlockWriter(slog.New(slog.DiscardHandler), dir, 2*1000*(to-from)+1)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	stored := 0
	for i, l := range lines {
		app := w.Appender(context.Background())
		var ref storage.SeriesRef
		for at := from; at < to; at += step {
			v := l.at(at)
			if math.IsNaN(v) {
				if !present[i] || l.abrupt {
					continue
				}
				v = ended()
			}
			present[i] = !math.IsNaN(v)
			if ref, err = app.Append(ref, l.labels, at*1000, v); err != nil {
				t.Fatal(err)
			}
			stored++
		}
		if err := app.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if stored == 0 {
		return
	}
	if _, err := w.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// during is a line's value but for a time.
func during(from, to int64, at func(int64) float64) func(int64) float64 {
	return func(t int64) float64 {
		if t >= from && t < to {
			return at(t)
		}
		return math.NaN()
	}
}

// without is the line with a gap, as a server leaves that was down: it has no time to end its series.
func (l line) without(from, to int64) line {
	at := l.at
	l.abrupt = true
	l.at = func(t int64) float64 {
		if t >= from && t < to {
			return math.NaN()
		}
		return at(t)
	}
	return l
}
