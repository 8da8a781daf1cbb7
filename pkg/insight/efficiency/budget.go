package efficiency

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
)

// Spending is what one day cost.
type Spending struct {
	Day    time.Time // any time of the day, in the zone that days are counted in
	Amount float64   // NaN when not known
	// Known is the share of the day that the amount is of, 0 to 1. The rest is taken to be alike.
	Known float64
}

// Outlook is how a month's spending compares with a budget.
type Outlook struct {
	MonthToDate float64 // what is known to have been spent
	// Known is the share of the month up to now that MonthToDate is of.
	Known float64
	// Forecast is what the whole month will cost, Low and High the bounds that four of five months stay within, NaN when
	// fewer than three days are known.
	Forecast, Low, High float64
	Budget              float64
	// Crossing is the day on which the budget is or was used up; zero when it is not in this month.
	Crossing time.Time
	Crossed  bool // it already is
	// Weekly says that the forecast knows the days of the week apart.
	Weekly bool
}

const (
	leastDays   = 3
	mostDays    = 400
	recentDays  = 28
	weeksNeeded = 2
	fourOfFive  = 1.2816 // standard deviations that four of five values of a normal distribution are within
)

// Budget looks ahead to the end of the month of now. Days may come in any order, the newest of now's month and of those
// before it; days that are there twice are added up. A budget that is not above 0 is none.
func Budget(days []Spending, budget float64, now time.Time) Outlook {
	o := Outlook{Budget: budget, Forecast: math.NaN(), Low: math.NaN(), High: math.NaN()}
	today := dayOf(now)
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, now.Location())
	next := month.AddDate(0, 1, 0)
	spent := make(map[time.Time]Spending)
	for _, d := range days {
		day := dayOf(d.Day.In(now.Location()))
		known := plausible(d.Known, 1)
		if plausible(d.Amount, math.MaxFloat32) != d.Amount || !(known > 0) || day.After(today) || day.Before(today.AddDate(0, 0, -mostDays)) {
			continue
		}
		s := spent[day]
		spent[day] = Spending{day, s.Amount + d.Amount, min(1, max(s.Known, known))}
	}
	elapsed := now.Sub(today).Hours() / lengthOf(today)
	var have, could float64
	for day := month; !day.After(today); day = day.AddDate(0, 0, 1) {
		part := 1.0
		if day.Equal(today) {
			part = elapsed
		}
		could += part
		if s, ok := spent[day]; ok {
			o.MonthToDate += s.Amount
			have += min(part, s.Known)
			if budget > 0 && !o.Crossed && o.MonthToDate >= budget {
				o.Crossed, o.Crossing = true, day
			}
		}
	}
	o.Known = ratio(have, could)
	daily := learn(spent, today)
	if daily.days < leastDays {
		return o
	}
	o.Weekly = daily.weekly
	// What is not known of the past is taken to have cost what such days do.
	total, spread := 0.0, 0.0
	for day := month; day.Before(next); day = day.AddDate(0, 0, 1) {
		s := spent[day]
		left := 1 - s.Known
		if day.Equal(today) {
			left = 1 - min(s.Known, elapsed)
		}
		total += s.Amount + left*daily.of(day)
		spread += left * left
		if budget > 0 && !o.Crossed && o.Crossing.IsZero() && total >= budget {
			o.Crossing = day
		}
	}
	o.Forecast = total
	// The mean of few days is itself not sure, and errs the same way on every day that is left.
	off := fourOfFive * daily.deviation * math.Sqrt(spread+spread*spread/float64(daily.days))
	o.Low, o.High = max(o.MonthToDate, total-off), total+off
	return o
}

func dayOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// lengthOf is how many hours a day has: 23 or 25 when clocks are changed.
func lengthOf(day time.Time) float64 { return day.AddDate(0, 0, 1).Sub(day).Hours() }

// habit is what days cost.
type habit struct {
	days            int
	mean, deviation float64
	byWeekday       [7]float64
	weekly          bool
}

func (h habit) of(day time.Time) float64 {
	if h.weekly {
		return h.byWeekday[day.Weekday()]
	}
	return h.mean
}

// learn takes the four weeks before today. Each day of the week has a mean of its own when every one is there twice and that
// explains more than it costs.
func learn(spent map[time.Time]Spending, today time.Time) habit {
	var h habit
	var all []float64
	var byWeekday [7][]float64
	for back := recentDays; back >= 1; back-- {
		day := today.AddDate(0, 0, -back)
		if s, ok := spent[day]; ok && s.Known >= 0.5 {
			v := s.Amount / s.Known
			all = append(all, v)
			byWeekday[day.Weekday()] = append(byWeekday[day.Weekday()], v)
		}
	}
	if h.days = len(all); h.days < leastDays {
		return h
	}
	h.mean, h.deviation = stat.MeanStdDev(all, nil)
	if slices.ContainsFunc(byWeekday[:], func(v []float64) bool { return len(v) < weeksNeeded }) {
		return h
	}
	var residual float64
	for i, values := range byWeekday {
		h.byWeekday[i] = stat.Mean(values, nil)
		for _, v := range values {
			residual += (v - h.byWeekday[i]) * (v - h.byWeekday[i])
		}
	}
	if deviation := math.Sqrt(residual / float64(h.days-len(byWeekday))); deviation < h.deviation {
		h.weekly, h.deviation = true, deviation
	}
	return h
}
