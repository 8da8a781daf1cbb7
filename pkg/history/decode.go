package history

import "github.com/warpwatch/warpwatch/pkg/gpu"

// answer is the decoded body of a query. A body that reports an error decodes too, with Status "error".
type answer struct {
	Status           string
	ErrorType, Error string
	ResultType       string // matrix, vector, scalar or string; "" when the body had no result
	Series           []rawSeries
	Warnings, Infos  []string
	Histograms       int  // series left out because they hold native histograms only
	found            bool // there is a result, if only an empty one
	Partial          bool // VictoriaMetrics answered without some of its nodes
	incomplete       bool // another replica may have more: see gaps
	// Instant is the series in columns, in place of Series, where it was asked for and every one has one sample.
	Instant *gpu.Instant
}

// rawSeries is one series as the server sent it. Times are shared between series that have the same ones, so they must
// not be written to; values are the series' own.
type rawSeries struct {
	Labels labelSet
	Times  []int64 // Unix milliseconds, strictly rising
	Values []float64
}

// label is one label of a series.
type label struct{ Name, Value string }

// labelSet is the labels of a series.
type labelSet struct {
	shared *card   // that other series have too; nil for none
	own    []label // in the order of the answer
}

// Get implements catalog.Labels.
func (l labelSet) Get(name string) string {
	for i := range l.own {
		if l.own[i].Name == name {
			return l.own[i].Value
		}
	}
	if l.shared != nil {
		for i := range l.shared.labels {
			if l.shared.labels[i].Name == name {
				return l.shared.labels[i].Value
			}
		}
	}
	return ""
}

// decode reads the answer of query or query_range in one pass, whatever the order of its fields, with the labels that series share
// in a file of cards, which may be nil. It returns errTruncated for an answer that was cut off.
func decode(w *textWindow, shared *cardfile) (*answer, error) {
	d := newDecoder(w)
	if shared != nil {
		d.cards = &cardReader{file: shared, next: shared.first.Load()}
	}
	if err := d.whole(); err != nil {
		return nil, err
	}
	return d.answer, nil
}

func newDecoder(w *textWindow) *decoder {
	return &decoder{
		scanner: scanner{interned: make(map[string]string, 256)}, window: w, answer: &answer{}, names: make(map[string]string, 32), pair: -1,
	}
}

func (d *decoder) whole() error {
	if err := d.read(d.envelope); err != nil {
		return err
	}
	if d.pair >= 0 {
		d.rows = nil
		return d.scalar()
	}
	return nil
}

type decoder struct {
	scanner
	window *textWindow
	listed bool // the long list of the text was begun
	answer *answer
	names  map[string]string // label names, each allocated once

	grid   []int64    // the longest time column so far
	texts  []timeText // where the times of the grid stand in the body
	points int        // of the series before, a guess at the next one's
	labels []label    // room for the labels of series to come
	spots  []spot     // the labels of the series before
	// singles is room for the values of short series to come.
	singles []float64
	pair    int // where a result that is one [time, value] pair starts, -1 when there is none
	// rows takes the series in, nil when they are not decoded into columns.
	rows *rowDecoder
	// cards finds labels in a file, nil when they are not shared.
	cards *cardReader
	card  *card // of the series before, nil for none
}

func (d *decoder) envelope() error {
	*d.answer, d.pair = answer{}, -1
	err := d.object(func(key []byte) (err error) {
		switch string(key) {
		case "status":
			d.answer.Status, err = d.text()
		case "errorType":
			d.answer.ErrorType, err = d.text()
		case "error":
			d.answer.Error, err = d.text()
		case "warnings":
			d.answer.Warnings, err = d.list()
		case "infos":
			d.answer.Infos, err = d.list()
		case "isPartial":
			d.answer.Partial = d.peek() == 't'
			err = d.skip()
		case "data":
			if d.peek() != '{' {
				return d.skip()
			}
			err = d.data()
		default:
			err = d.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.end()
}

// end reads what is left, which must be nothing.
func (d *decoder) end() error {
	if err := d.ahead(); err != nil {
		return err
	}
	if d.pos < len(d.buf) {
		return d.syntax("the end")
	}
	return nil
}

func (d *decoder) data() error {
	return d.object(func(key []byte) (err error) {
		switch string(key) {
		case "resultType":
			d.answer.found = true
			d.answer.ResultType, err = d.text()
		case "result":
			d.answer.found = true
			err = d.result()
		default:
			err = d.skip()
		}
		return err
	})
}

// result tells the kinds of results apart by their shape, because resultType may come after it.
func (d *decoder) result() error {
	if d.null() {
		return nil
	}
	start := d.pos
	d.answer.Series = nil
	if d.rows != nil {
		d.rows = newRowDecoder()
	}
	if err := d.expect('['); err != nil {
		return err
	}
	switch d.peek() {
	case '{', ']':
		d.pos = start
		return d.elements(d.series)
	}
	if d.pos >= len(d.buf) {
		return errTruncated
	}
	// One pair, and little else.
	d.pos = start
	if err := d.remaining(); err != nil {
		return err
	}
	d.listed, d.pair = true, d.pos
	return d.skip()
}

// scalar reads the [time, value] pair of a scalar result. The text of a string result is no number and makes no series.
func (d *decoder) scalar() error {
	if d.answer.ResultType == "string" {
		return nil
	}
	d.pos = d.pair
	series := rawSeries{}
	if err := d.value(&series); err != nil {
		return err
	}
	d.answer.Series = append(d.answer.Series, series)
	return nil
}
