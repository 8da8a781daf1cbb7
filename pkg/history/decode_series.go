package history

import (
	"errors"
	"fmt"
	"slices"
)

// Of very many series each has labels of its own, and so a text of some length. Without that there would be an answer of many
// times the memory of its text.
const (
	manySeries     = 1 << 16
	shortestSeries = 40 // bytes
)

var errNameless = errors.New("more series than its labels can tell apart")

func (d *decoder) series() error {
	if d.rows != nil && d.row() {
		return nil
	}
	var r rawSeries
	histogram := false
	err := d.object(func(key []byte) (err error) {
		switch string(key) {
		case "metric":
			r.Labels, err = d.metric()
		case "values":
			err = d.values(&r)
		case "value":
			err = d.value(&r)
		case "histogram", "histograms":
			histogram = true
			err = d.skip()
		default:
			err = d.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(r.Times) == 0 && histogram {
		d.answer.Histograms++
		return nil
	}
	if !rising(r.Times) {
		r.Times, r.Values = sorted(r.Times, r.Values)
	}
	if d.rows != nil {
		if len(r.Times) == 1 {
			d.rows.take(r, d.spots)
			return nil
		}
		d.answer.Series, d.rows = d.rows.series(), nil
	}
	n := len(d.answer.Series)
	if n >= manySeries && d.place() < n*shortestSeries {
		return errNameless
	}
	if n == cap(d.answer.Series) && n >= 64 {
		d.answer.Series = slices.Grow(d.answer.Series, d.expected(n))
	}
	d.answer.Series = append(d.answer.Series, r)
	return nil
}

// expected is about how many series come after so many: as many as there is room for in the rest of the text, if they are like those
// before, or those of all devices where there are many already.
func (d *decoder) expected(n int) int {
	more := d.left()/max(d.place()/n, 1) + 64
	if d.window != nil && !d.window.ended && d.window.size <= 0 {
		more = max(more, n)
		if d.cards != nil && n >= 1024 {
			more = max(more, int(d.cards.file.count.Load())-n)
		}
	}
	return more
}

// value reads one [time, "value"] pair.
func (d *decoder) value(r *rawSeries) error {
	if err := d.expect('['); err != nil {
		return err
	}
	text, t, err := d.time()
	if err != nil {
		return err
	}
	v, err := d.rest()
	if err != nil {
		return err
	}
	column := timeColumn{decoder: d, from: -1}
	column.add(t, text)
	r.Times, r.Values = column.finish(), d.settle(append(d.room(1), v))
	return nil
}

// values reads the points of a range. As long as the times are those of the longest column so far, they are not stored
// again.
func (d *decoder) values(r *rawSeries) error {
	r.Times, r.Values = nil, nil
	if d.null() {
		return nil
	}
	if err := d.expect('['); err != nil {
		return err
	}
	if d.accept(']') {
		return nil
	}
	column := timeColumn{decoder: d, from: -1}
	values := d.room(max(d.points, 16))
	for {
		v, sameTime, timeEnd, next := fastPoint(d.buf, d.pos, column.next())
		switch {
		case next == 0:
			if err := d.expect('['); err != nil {
				return err
			}
			text, t, err := d.time()
			if err != nil {
				return err
			}
			if v, err = d.rest(); err != nil {
				return err
			}
			column.add(t, text)
		case sameTime:
			column.same()
			d.pos = next
		default:
			text := timeText{d.pos + 1, timeEnd - d.pos - 1}
			t, ok := parseTime(d.buf[text.start:timeEnd])
			if !ok {
				return fmt.Errorf("byte %d: %q is not a time", d.dropped+text.start, d.buf[text.start:timeEnd])
			}
			column.add(t, text)
			d.pos = next
		}
		values = append(values, v)
		if d.accept(',') {
			continue
		}
		if err := d.expect(']'); err != nil {
			return err
		}
		break
	}
	d.points = len(values)
	r.Times, r.Values = column.finish(), d.settle(values)
	return nil
}

// valuesAtOnce is for how many values of short series memory is taken at a time.
const valuesAtOnce = 512

// room is for so many values, or more.
func (d *decoder) room(values int) []float64 {
	if values > valuesAtOnce/4 {
		return make([]float64, 0, values)
	}
	if cap(d.singles)-len(d.singles) < values {
		d.singles = make([]float64, 0, valuesAtOnce)
	}
	n := len(d.singles)
	return d.singles[n : n : n+values]
}

// settle keeps values of their room what they take.
func (d *decoder) settle(values []float64) []float64 {
	n := len(d.singles)
	if len(values) > 0 && n < cap(d.singles) && &values[0] == &d.singles[:n+1][n] {
		d.singles = d.singles[:n+len(values)]
	}
	return values[:len(values):len(values)]
}

// time reads the time of a point after its bracket.
func (d *decoder) time() (timeText, int64, error) {
	d.peek()
	text := timeText{start: d.pos}
	for d.pos < len(d.buf) && isLiteral(d.buf[d.pos]) {
		d.pos++
	}
	text.length = d.pos - text.start
	t, ok := parseTime(d.buf[text.start:d.pos])
	if !ok {
		if d.pos >= len(d.buf) {
			return text, 0, errTruncated
		}
		return text, 0, fmt.Errorf("byte %d: %q is not a time", d.dropped+text.start, d.buf[text.start:d.pos])
	}
	return text, t, nil
}

// rest reads the value of a point after its time, and its bracket.
func (d *decoder) rest() (float64, error) {
	if err := d.expect(','); err != nil {
		return 0, err
	}
	text, escaped, err := d.raw()
	if err != nil {
		return 0, err
	}
	if escaped {
		plain, err := unescape(text)
		if err != nil {
			return 0, err
		}
		text = []byte(plain)
	}
	v, err := parseFloat(text)
	if err != nil {
		return 0, fmt.Errorf("byte %d: %q is not a number: %w", d.place(), text, errors.Unwrap(err))
	}
	return v, d.expect(']')
}

func rising(times []int64) bool {
	for i := 1; i < len(times); i++ {
		if times[i] <= times[i-1] {
			return false
		}
	}
	return true
}

// sorted orders points that a server sent out of order; of two at the same time the later one counts.
func sorted(times []int64, values []float64) ([]int64, []float64) {
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(times[a], times[b]) })
	outTimes, outValues := make([]int64, 0, len(times)), make([]float64, 0, len(times))
	for _, i := range order {
		if n := len(outTimes); n > 0 && outTimes[n-1] == times[i] {
			outValues[n-1] = values[i]
			continue
		}
		outTimes, outValues = append(outTimes, times[i]), append(outValues, values[i])
	}
	return outTimes, outValues
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
