package efficiency

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// spentDaily is the same amount on each of the days before now.
func spentDaily(now time.Time, days int, amount func(day time.Time) float64) []Spending {
	var all []Spending
	for back := days; back >= 1; back-- {
		day := dayOf(now).AddDate(0, 0, -back)
		all = append(all, Spending{Day: day.Add(13 * time.Hour), Amount: amount(day), Known: 1})
	}
	return all
}

func hundred(time.Time) float64 { return 100 }

func TestBudgetOfASteadyMonth(t *testing.T) {
	now := at("2026-04-11T12:00:00Z") // April has 30 days
	days := append(spentDaily(now, 40, hundred), Spending{Day: now, Amount: 50, Known: 0.5})
	o := Budget(days, 2000, now)
	assert.InDelta(t, 1050, o.MonthToDate, 1e-9, "ten days and half of the eleventh")
	assert.InDelta(t, 1, o.Known, 1e-9)
	assert.InDelta(t, 3000, o.Forecast, 1e-6)
	assert.InDelta(t, 3000, o.Low, 1e-6)
	assert.InDelta(t, 3000, o.High, 1e-6)
	assert.Equal(t, at("2026-04-20T00:00:00Z"), o.Crossing, "the twentieth day makes 2000")
	assert.False(t, o.Crossed)

	o = Budget(days, 3001, now)
	assert.True(t, o.Crossing.IsZero(), "not in this month")
	o = Budget(days, 900, now)
	assert.True(t, o.Crossed)
	assert.Equal(t, at("2026-04-09T00:00:00Z"), o.Crossing)
	o = Budget(days, 0, now)
	assert.True(t, o.Crossing.IsZero() && !o.Crossed, "no budget")
}

func TestBudgetKnowsWeekends(t *testing.T) {
	now := at("2026-05-18T00:00:00Z") // a Monday
	week := func(day time.Time) float64 {
		if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
			return 10
		}
		return 100
	}
	o := Budget(spentDaily(now, 60, week), 0, now)
	want := 0.0
	for day := at("2026-05-01T00:00:00Z"); day.Month() == time.May; day = day.AddDate(0, 0, 1) {
		want += week(day)
	}
	assert.True(t, o.Weekly)
	assert.InDelta(t, want, o.Forecast, 1e-6)
	assert.InDelta(t, o.Forecast, o.High, 1e-6, "it explains all")
}

func TestBudgetSaysWhatIsNotKnown(t *testing.T) {
	now := at("2026-04-11T00:00:00Z")
	days := spentDaily(now, 2, hundred)
	o := Budget(days, 1000, now)
	assert.InDelta(t, 200, o.MonthToDate, 1e-9)
	assert.InDelta(t, 0.2, o.Known, 1e-9)
	assert.True(t, math.IsNaN(o.Forecast), "two days are too few")

	days = append(spentDaily(now, 5, hundred), Spending{Day: now.AddDate(0, 0, -6), Amount: math.NaN(), Known: 1}, Spending{Day: now.AddDate(0, 0, -7), Amount: 25, Known: 0.25})
	o = Budget(days, 1000, now)
	assert.InDelta(t, 0.525, o.Known, 1e-9)
	assert.InDelta(t, 3000, o.Forecast, 1e-6, "the rest of each day is taken to be alike")
	assert.Equal(t, at("2026-04-10T00:00:00Z"), o.Crossing, "with what is not known of the past")
	assert.False(t, o.Crossed, "that is not sure")

	uneven := func(day time.Time) float64 { return float64(50 + 100*(day.Day()%2)) }
	o = Budget(spentDaily(now, 10, uneven), 0, now)
	assert.Less(t, o.Low, o.Forecast)
	assert.Greater(t, o.High, o.Forecast)
	assert.GreaterOrEqual(t, o.Low, o.MonthToDate)
}

func TestBudgetInAZoneThatChangesItsClocks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no zones here")
	}
	now := time.Date(2026, time.March, 29, 13, 0, 0, 0, berlin) // the day has 23 hours, of which 12 are over
	days := append(spentDaily(now, 28, hundred), Spending{Day: now, Amount: 50, Known: 0.5})
	o := Budget(days, 0, now)
	assert.InDelta(t, 2850, o.MonthToDate, 1e-9)
	require.Greater(t, o.Known, 0.99)
	assert.InDelta(t, 3100, o.Forecast, 1)
}

func TestFragmentation(t *testing.T) {
	for _, c := range []struct {
		free   []int
		k      int
		usable int
		ratio  float64
	}{
		{[]int{8, 4}, 8, 8, 1.0 / 3},
		{[]int{8, 4}, 4, 12, 0},
		{[]int{7, 7, 7}, 8, 0, 1},
		{[]int{16, 0, -3}, 8, 16, 0},
		{[]int{0}, 8, 0, math.NaN()},
		{nil, 8, 0, math.NaN()},
		{[]int{8}, 0, 0, math.NaN()},
	} {
		usable, ratio := Fragmentation(c.free, c.k)
		assert.Equal(t, c.usable, usable, c)
		if math.IsNaN(c.ratio) {
			assert.True(t, math.IsNaN(ratio), c)
		} else {
			assert.InDelta(t, c.ratio, ratio, 1e-12, c)
		}
	}
}

func TestDaysOfARange(t *testing.T) {
	start := time.Date(2026, time.January, 5, 21, 0, 0, 0, time.UTC)
	r := &Result{
		From: start.UnixMilli(), To: start.Add(6 * time.Hour).UnixMilli(),
		Timeline: []Parts{{Used: 2}, {Used: 1, Absent: 1}, {Absent: 2}},
	}
	g := &Group{Charged: []Charged{{Currency: "EUR", Steps: []float64{8, 4, 0}}}}
	days := r.Days(g, "EUR", time.UTC)
	require.Len(t, days, 2)
	assert.Equal(t, at("2026-01-05T00:00:00Z"), days[0].Day)
	assert.InDelta(t, 10, days[0].Amount, 1e-9, "the second step is half in it")
	assert.InDelta(t, 2.5/24, days[0].Known, 1e-9)
	assert.InDelta(t, 2, days[1].Amount, 1e-9)
	assert.InDelta(t, 0.5/24, days[1].Known, 1e-9)
	assert.Len(t, r.Days(g, "EUR", time.FixedZone("east", 3*3600)), 1)
	assert.Zero(t, r.Days(g, "USD", time.UTC)[0].Amount)
}
