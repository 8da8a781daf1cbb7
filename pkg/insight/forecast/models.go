package forecast

import (
	"math"

	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Method is how a forecast was made.
type Method string

// The methods.
const (
	None     Method = ""            // nothing could be said
	Last     Method = "last value"  // naive: it stays as it was
	Repeated Method = "last season" // naive: it is as it was a day or a week before
	Level    Method = "level"       // stays around its smoothed level
	Linear   Method = "linear"      // Theil–Sen, with the seasons on top where there are any
	Winters  Method = "seasonal"    // Holt-Winters, additive
)

// model is one way to look ahead.
type model struct {
	method        Method
	daily, weekly int // steps of the seasons that it uses, 0 for none
}

// projection tells what is expected h steps after the end of what it was made from; h is at least 1.
type projection func(h int) float64

// tuned are the parameters of smoothing that a model was found to do best with.
type tuned map[model]smoothing

// needs is how many steps of history a model is any good with.
func (m model) needs() int {
	switch {
	case m.weekly > 0 && m.method != Repeated:
		return m.weekly * 8 / 7
	case m.weekly > 0:
		return m.weekly
	case m.daily > 0 && m.method != Repeated:
		return 2 * m.daily
	case m.daily > 0:
		return m.daily
	default:
		return 4
	}
}

// models are the candidates for a series, the plainest first.
func models(w *work, trend bool) []model {
	daily, weekly := w.period(day), w.period(week)
	all := []model{{method: Last}}
	if daily > 0 {
		all = append(all, model{method: Repeated, daily: daily})
	}
	if weekly > 0 {
		all = append(all, model{method: Repeated, weekly: weekly})
	}
	all = append(all, model{method: Level})
	if trend {
		all = append(all, model{method: Linear})
	}
	if daily > 0 {
		all = append(all, model{method: Winters, daily: daily})
		if trend {
			all = append(all, model{method: Linear, daily: daily})
		}
	}
	if weekly > 0 {
		all = append(all, model{method: Winters, daily: daily, weekly: weekly})
		if trend {
			all = append(all, model{method: Linear, daily: daily, weekly: weekly})
		}
	}
	return all
}

// forecaster makes projections of one series and its beginnings.
type forecaster struct {
	w                 *work
	trend             bool
	dayPhase, wkPhase int
	tuned             tuned
	learnt            map[learnt]*seasons
}

// learnt names the seasons that were found in the first n steps.
type learnt struct{ daily, weekly, n int }

func newForecaster(w *work, trend bool) *forecaster {
	f := &forecaster{w: w, trend: trend, tuned: tuned{}, learnt: make(map[learnt]*seasons)}
	if p := w.period(day); p > 0 {
		f.dayPhase = w.phase(p)
	}
	if p := w.period(week); p > 0 {
		f.wkPhase = w.phase(p)
	}
	return f
}

// project makes a model's projection from the first n steps; nil when they are too few. fitted, when not nil, receives what
// the model says of each of them.
func (f *forecaster) project(m model, n int, fitted []float64) projection {
	y := f.w.y[:n]
	if n < m.needs() {
		return nil
	}
	switch m.method {
	case Last:
		return last(y, fitted)
	case Repeated:
		return repeated(y, max(m.daily, m.weekly), fitted)
	case Linear:
		return linear(y, f.learn(m, y), fitted)
	default:
		p, ok := f.tuned[m]
		if !ok {
			// Once, on all there is: a handful of parameters learns nothing by heart.
			p = tune(f.w.y, f.learn(m, f.w.y), m, f.trend)
			f.tuned[m] = p
		}
		s := f.learn(m, y)
		st, _ := smooth(y, s, p, fitted)
		return func(h int) float64 { return st.ahead(h, p.echo) }
	}
}

func (f *forecaster) learn(m model, y []float64) *seasons {
	if m.daily == 0 && m.weekly == 0 {
		return &seasons{}
	}
	key := learnt{m.daily, m.weekly, len(y)}
	s, ok := f.learnt[key]
	if !ok {
		s = learn(y, m, f.dayPhase, f.wkPhase, f.trend)
		f.learnt[key] = s
	}
	return s
}

// last is the newest value, for ever.
func last(y, fitted []float64) projection {
	now := math.NaN()
	for i, v := range y {
		if fitted != nil {
			fitted[i] = now
		}
		if !math.IsNaN(v) {
			now = v
		}
	}
	if math.IsNaN(now) {
		return nil
	}
	return func(int) float64 { return now }
}

// repeated is the value a period before; where that is missing, the nearest older one of the same place in the period, or
// the newest value.
func repeated(y []float64, period int, fitted []float64) projection {
	newest := last(y, nil)
	if newest == nil {
		return nil
	}
	before := func(i int) float64 {
		for at := i - period; at >= 0; at -= period {
			if at < len(y) && !math.IsNaN(y[at]) {
				return y[at]
			}
		}
		return math.NaN()
	}
	for i := range fitted {
		fitted[i] = before(i)
	}
	n := len(y)
	return func(h int) float64 {
		if v := before(n - 1 + h); !math.IsNaN(v) {
			return v
		}
		return newest(h)
	}
}

// linear is the Theil–Sen line of what is left without the seasons, through the level of the newest quarter: a step of the
// level in the past does not hold it off.
func linear(y []float64, s *seasons, fitted []float64) projection {
	rest := make([]float64, len(y))
	for i, v := range y {
		rest[i] = v - s.at(i)
	}
	perStep, _ := theilSen(rest)
	if math.IsNaN(perStep) {
		return nil
	}
	for i := range rest {
		rest[i] -= perStep * float64(i)
	}
	level := median(insight.Present(nil, rest[len(rest)-max(1, len(rest)/4):]))
	if math.IsNaN(level) {
		level = median(insight.Present(nil, rest))
	}
	for i := range fitted {
		fitted[i] = level + perStep*float64(i) + s.at(i)
	}
	n := len(y)
	return func(h int) float64 {
		at := n - 1 + h
		return level + perStep*float64(at) + s.at(at)
	}
}

// tune is the smoothing that looks one step ahead best.
func tune(y []float64, s *seasons, m model, trend bool) smoothing {
	seasonal, drifts := []float64{0}, []float64{0}
	if m.method == Winters {
		seasonal = []float64{0, 0.05, 0.2}
	}
	if trend {
		drifts = []float64{0, 0.05}
	}
	var best smoothing
	least := math.Inf(1)
	for _, level := range []float64{0.005, 0.03, 0.15, 0.5} {
		for _, drift := range drifts {
			for _, season := range seasonal {
				for _, echo := range []float64{0, 0.5, 0.85} {
					p := smoothing{level: level, trend: drift, season: season, echo: echo}
					// The plainer of two that are as good comes first and stays.
					if _, miss := smooth(y, s, p, nil); miss < least*0.995 {
						best, least = p, miss
					}
				}
			}
		}
	}
	return best
}
