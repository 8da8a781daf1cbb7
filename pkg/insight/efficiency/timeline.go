package efficiency

import (
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Charged is what owners are charged in each step, in one currency.
type Charged struct {
	Currency string
	Steps    []float64
}

// charged is a group's row of a currency, nil when there are so many rows that they have no room.
func (r *run) charged(g *Group, currency string) []float64 {
	for k := range g.Charged {
		if c := &g.Charged[k]; c.Currency == currency {
			return c.Steps
		}
	}
	if r.charges += len(r.times); r.charges > mostCharges {
		return nil
	}
	steps := make([]float64, len(r.times))
	g.Charged = append(g.Charged, Charged{Currency: currency, Steps: steps})
	return steps
}

// chargedRow is a row that what a device is charged is added to, and the share that it gets.
type chargedRow struct {
	steps  []float64
	factor float64
}

// mostCharges bounds the values in rows of what is charged.
const mostCharges = 10_000_000

// chargedRows are the rows of those that share a device.
func (r *run) chargedRows(device gpu.Device, t tenancy, currency string) []chargedRow {
	r.rows = r.rows[:0]
	add := func(g *Group, factor float64) {
		if steps := r.charged(g, currency); steps != nil {
			r.rows = append(r.rows, chargedRow{steps, factor})
		}
	}
	add(r.groups.total, 1)
	if r.options.Series && len(r.groups.by) > 0 {
		t.each(func(owner *gpu.Owner, factor float64) { add(r.groups.of(device, r.price(device).short, owner), factor) })
	}
	return r.rows
}

// settleTimeline turns the hours of steps into GPUs.
func (r *run) settleTimeline() {
	for i, hours := range r.result.Timeline {
		r.result.Timeline[i] = Parts{}
		r.result.Timeline[i].add(hours, 1/r.hours)
	}
	if r.charges > mostCharges {
		r.result.Notices = append(r.result.Notices, gpu.Notice{Severity: gpu.Warning, Text: "There are too many groups and steps to say what each group is charged in each step: take longer steps."})
	}
}

// Days are what a group's owners are charged in one currency on each day that the range touches, for [Budget]. Days are
// those of the zone. A day's Known is the part of it that is in the range and of which the fleet is known. Groups other than
// the total need Options.Series. Amounts are NaN where nothing that is allocated has a price.
func (r *Result) Days(g *Group, currency string, zone *time.Location) []Spending {
	var days []Spending
	if len(r.Timeline) == 0 {
		return nil
	}
	var steps []float64
	for _, c := range g.Charged {
		if c.Currency == currency {
			steps = c.Steps
		}
	}
	unpriced := len(g.Charged) == 0 && g.Hours.Allocated() > 0
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
			switch {
			case unpriced:
				d.Amount = math.NaN()
			case steps != nil:
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
