package forecast

import (
	"fmt"
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Target is what a forecast of one series is held against.
type Target struct {
	Horizon  time.Duration
	Coverage float64  // of the interval; 0 is 0.9
	Limit    float64  // NaN for none
	Below    bool     // values fall to the limit
	Lowest   float64  // what the values cannot be below
	Highest  float64  // and above; what is outside was no measurement
	Unit     gpu.Unit // for words
}

// Anything is a target without limit and bounds.
func Anything(horizon time.Duration) Target {
	return Target{Horizon: horizon, Limit: math.NaN(), Lowest: math.Inf(-1), Highest: math.Inf(1)}
}

// Point is a step of an answer. In the past Value is what the method says of it; in the future, what it expects.
type Point struct {
	Time                int64 // start of the step, Unix milliseconds
	Value, Lower, Upper float64
	Future              bool
}

// Trend is the slope of a series, whether or not the forecast follows it.
type Trend struct {
	Significant  bool
	PerDay       float64 // in the metric's unit
	Lower, Upper float64 // interval of PerDay
	PValue       float64 // probability that a series without trend shows as much
}

// Result is the forecast of one series. None of its numbers is NaN or infinite but for errors that are not known.
type Result struct {
	Method     Method
	Season     time.Duration // the longest that the method uses; 0 without
	Step       time.Duration
	Points     []Point // past, then future; empty when nothing can be said
	Trend      Trend
	Backtest   Backtest
	Crossing   Crossing
	Confidence insight.Confidence
	// Wanting says what there is too little of, "" when there is enough.
	Wanting string
	// Notes are what is worth knowing of the answer: values that were dropped, a horizon that was cut.
	Notes []string
	Text  string // the answer in one or two sentences
}

const (
	fewest  = 12 // values that anything is said from
	reachOf = 4  // times the history: nobody knows more than that
)

// Project looks ahead. It never fails: of what is too short or too broken it says what is missing.
func Project(s Series, t Target) Result {
	horizon := min(max(t.Horizon, s.Step, 0), maxHorizon)
	lowest, highest := t.Lowest, t.Highest
	if math.IsNaN(lowest) {
		lowest = math.Inf(-1)
	}
	if math.IsNaN(highest) {
		highest = math.Inf(1)
	}
	w := prepare(s, horizon, lowest, highest)
	r := Result{Step: w.step, Backtest: unknownBacktest()}
	if w.dropped > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s left out that cannot be measurements.", count(w.dropped, "value was", "values were")))
	}
	if w.present < fewest {
		r.tooShort(&w, s.Step)
		return r
	}
	if known := time.Duration(len(w.y)) * w.step; horizon > reachOf*known {
		horizon = reachOf * known
		r.Notes = append(r.Notes, fmt.Sprintf("Looked only %s ahead: %s of history say nothing of later.", insight.Span(horizon), insight.Span(known)))
	}
	ahead := max(1, int((horizon+w.step-1)/w.step))
	sl := overall(&w, &r.Trend)
	f := newForecaster(&w, r.Trend.Significant)
	trials, folds, tested, c := f.backtest(models(&w, r.Trend.Significant), ahead)
	won := choose(trials, c)
	r.fill(f, won, ahead, sl, c.apart, t.Coverage)
	r.score(trials, won, folds, tested, w.scale)
	r.Crossing = crossing(&r, &w, t)
	r.bound(lowest, highest)
	r.judge(won, folds)
	r.Text = r.say(t)
	return r
}

func unknownBacktest() Backtest {
	return Backtest{Error: math.NaN(), LastValue: math.NaN(), SeasonalNaive: math.NaN()}
}

// overall finds the trend of a series without its seasons.
func overall(w *work, trend *Trend) slope {
	y := w.y
	daily, weekly := w.period(day), w.period(week)
	if daily > 0 && len(y) >= 2*daily {
		if len(y) < 3*weekly {
			weekly = 0 // it would take a part of the trend for itself
		}
		f := newForecaster(w, false)
		s := learn(y, model{daily: daily, weekly: weekly}, f.dayPhase, f.wkPhase, true)
		y = make([]float64, len(w.y))
		for i, v := range w.y {
			y[i] = v - s.at(i)
		}
	}
	sl := trendOf(y)
	perDay := w.scale * float64(day) / float64(w.step)
	trend.Significant, trend.PValue = sl.significant, sl.p
	trend.PerDay, trend.Lower, trend.Upper = finite(sl.perStep*perDay), finite(sl.lower*perDay), finite(sl.upper*perDay)
	return sl
}

// fill makes the points with the model that won.
func (r *Result) fill(f *forecaster, won *trial, ahead int, sl slope, apart, coverage float64) {
	w := f.w
	n := len(w.y)
	fitted := make([]float64, n)
	p := f.project(won.model, n, fitted)
	if p == nil {
		won.model = model{method: Last}
		p = f.project(won.model, n, fitted)
	}
	r.Method = won.model.method
	r.Season = time.Duration(max(won.model.daily, won.model.weekly)) * w.step
	b := bandOf(won.residuals, won.folds, (Options{Coverage: coverage}).coverage())
	if len(b.ends) == 0 || won.folds == 0 {
		b = bandOf(steps1(w.y, fitted), 1, 0.9)
	}
	if won.model.method == Last && apart < 8 {
		b.walk()
	}
	r.Points = make([]Point, 0, n+ahead)
	width := w.step.Milliseconds()
	for i, v := range fitted {
		if math.IsNaN(v) {
			continue
		}
		low, high := b.at(1)
		r.add(w, Point{Time: w.start + int64(i)*width}, v, v+low, v+high)
	}
	tested := 0
	if len(b.ends) > 0 {
		tested = b.ends[len(b.ends)-1]
	}
	for h := 1; h <= ahead; h++ {
		v := p(h)
		low, high := b.at(h)
		if r.Method == Linear && h > tested {
			// Beyond what was tried, the line may also be steeper or flatter.
			low += float64(h-tested) * (sl.lower - sl.perStep)
			high += float64(h-tested) * (sl.upper - sl.perStep)
		}
		r.add(w, Point{Time: w.start + int64(n-1+h)*width, Future: true}, v, v+low, v+high)
	}
}

// steps1 are the residuals of looking one step ahead.
func steps1(y, fitted []float64) [][]float64 {
	var out []float64
	for i, v := range y {
		if r := v - fitted[i]; !math.IsNaN(r) {
			out = append(out, r)
		}
	}
	return [][]float64{out}
}

// add puts a point into the metric's unit. One that is no number is left out.
func (r *Result) add(w *work, p Point, value, lower, upper float64) {
	p.Value, p.Lower, p.Upper = w.value(value), w.value(lower), w.value(upper)
	if isFinite(p.Value) && isFinite(p.Lower) && isFinite(p.Upper) {
		r.Points = append(r.Points, p)
	}
}

// score puts the errors of the winner and of the naive methods beside each other, of the folds that the winner took part in.
func (r *Result) score(trials []*trial, won *trial, folds, tested int, scale float64) {
	if won.folds == 0 {
		return
	}
	r.Backtest = Backtest{Folds: min(folds, won.folds), Steps: tested, Error: won.error * scale, LastValue: won.last * scale, SeasonalNaive: math.NaN()}
	for _, t := range trials {
		if t.model.method != Repeated {
			continue
		}
		sum, both := 0.0, 0
		for _, origin := range sortedKeys(won.perFold) {
			if e, ok := t.perFold[origin]; ok {
				sum += e
				both++
			}
		}
		if both == won.folds {
			e := sum / float64(both) * scale
			if math.IsNaN(r.Backtest.SeasonalNaive) || e < r.Backtest.SeasonalNaive {
				r.Backtest.SeasonalNaive = e
			}
		}
	}
}

// bound keeps an answer within what the values can be.
func (r *Result) bound(lowest, highest float64) {
	if lowest > highest {
		return
	}
	for i := range r.Points {
		p := &r.Points[i]
		p.Value, p.Lower, p.Upper = clamp(p.Value, lowest, highest), clamp(p.Lower, lowest, highest), clamp(p.Upper, lowest, highest)
	}
}

// judge says how far to rely on it: by how often it was tried, and how much better than nothing it was.
func (r *Result) judge(won *trial, folds int) {
	skill := r.Backtest.Skill()
	switch {
	case folds >= 8 && skill >= 0.2:
		r.Confidence = insight.High
	case folds >= 6 && won.model.method != Last:
		r.Confidence = insight.Medium
	default:
		r.Confidence = insight.Low
	}
}

func (r *Result) tooShort(w *work, step time.Duration) {
	r.Step = max(step, 0)
	need := fewest - w.present
	r.Wanting = fmt.Sprintf("%s, %d are needed", count(w.present, "value", "values"), fewest)
	if step > 0 && step < day {
		r.Wanting += fmt.Sprintf(": %s more at one each %s", insight.Span(time.Duration(need)*step), insight.Span(step))
	}
	r.Text = "Too little history for a forecast: " + r.Wanting + "."
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func finite(v float64) float64 {
	if isFinite(v) {
		return v
	}
	return 0
}

func clamp(v, low, high float64) float64 { return max(low, min(high, v)) }
