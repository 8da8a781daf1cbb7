package efficiency

import (
	"cmp"
	"slices"
	"time"
)

// Charged is what owners are charged in each step, in one currency.
type Charged struct {
	Currency string
	Steps    []float64
}

// charged is the row of what is charged in a currency.
func (r *run) charged(currency string) []float64 {
	for k := range r.result.Charged {
		if c := &r.result.Charged[k]; c.Currency == currency {
			return c.Steps
		}
	}
	steps := make([]float64, len(r.times))
	r.result.Charged = append(r.result.Charged, Charged{Currency: currency, Steps: steps})
	return steps
}

// settleTimeline turns the hours of steps into GPUs.
func (r *run) settleTimeline() {
	for i, hours := range r.result.Timeline {
		r.result.Timeline[i] = Parts{}
		r.result.Timeline[i].add(hours, 1/r.hours)
	}
	slices.SortFunc(r.result.Charged, func(a, b Charged) int { return cmp.Compare(a.Currency, b.Currency) })
}

// Days are what owners are charged in one currency on each day that the range touches, for [Budget]. Days are those of the
// zone. A day's Known is the part of it that is in the range and of which GPUs are known.
func (r *Result) Days(currency string, zone *time.Location) []Spending {
	var days []Spending
	if len(r.Timeline) == 0 {
		return nil
	}
	var steps []float64
	for _, c := range r.Charged {
		if c.Currency == currency {
			steps = c.Steps
		}
	}
	length := time.Duration((r.To-r.From)/int64(len(r.Timeline))) * time.Millisecond
	for i, gpus := range r.Timeline {
		start := time.UnixMilli(r.From).Add(time.Duration(i) * length).In(zone)
		end := start.Add(length)
		for start.Before(end) {
			day := dayOf(start)
			next := day.AddDate(0, 0, 1)
			until := end
			if next.Before(end) {
				until = next
			}
			if n := len(days); n == 0 || !days[n-1].Day.Equal(day) {
				if n == mostDays {
					return days
				}
				days = append(days, Spending{Day: day})
			}
			d := &days[len(days)-1]
			part := until.Sub(start)
			if steps != nil {
				d.Amount += steps[i] * float64(part) / float64(length)
			}
			d.Known += zeroIfNaN(gpus.Coverage()) * float64(part) / float64(next.Sub(day))
			start = until
		}
	}
	for i := range days {
		days[i].Known = min(days[i].Known, 1)
	}
	return days
}
