package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// MaxCells is how many buckets the native histograms of an answer have at most: a panel has no more pixels for them.
const MaxCells = 100_000

// maxBuckets is how much of buckets is read, in bytes: what they become takes four times as much.
const maxBuckets = 32 << 20

// histograms asks the servers whose answers hold native histograms once more, now for their buckets. They are left out of
// what is decoded otherwise, which is for numbers.
func (h *History) histograms(ctx context.Context, good []outcome[*answer], expr string, q query.Query, w query.Window) ([]gpu.Histogram, []gpu.Notice) {
	var holders, asked []*endpoint
	for _, o := range good {
		asked = append(asked, o.endpoint)
		if o.value.Histograms > 0 {
			holders = append(holders, o.endpoint)
		}
	}
	if len(holders) == 0 {
		return nil, nil
	}
	got, notices, err := split(askAll(ctx, holders, func(ctx context.Context, e *endpoint) ([]gpu.Histogram, error) {
		return e.histograms(ctx, expr, q.Instant, w)
	}))
	if err != nil {
		return nil, []gpu.Notice{{Severity: gpu.Warning, Text: "Native histograms are not shown: " + err.Error() + "."}}
	}
	severalClusters := several(asked)
	var shown []gpu.Histogram
	seen := map[string]bool{}
	cells, left, leftCells := 0, 0, 0
	for _, o := range got {
		empty := 0
		for _, one := range o.value {
			one.Labels = o.endpoint.withoutReplicas(one.Labels, severalClusters)
			key := labelKey(one.Labels)
			switch n := len(one.Cells); {
			case n == 0:
				empty++
			case seen[key]: // another replica's
			case cells+n > MaxCells:
				left, leftCells = left+1, leftCells+n
			default:
				seen[key], cells, shown = true, cells+n, append(shown, one)
			}
		}
		if empty > 0 {
			notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
				"%s: %d series are native histograms that have counted nothing.", o.endpoint.ID, empty)})
		}
	}
	if left > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf(
			"Showing %d of %d native histograms: the others have %d buckets, and an answer at most %d; raise the minimum step, or take histogram_quantile() or histogram_avg() of them.",
			len(shown), len(shown)+left, leftCells, MaxCells)})
	}
	return shown, notices
}

// bucketsOnly tells of native histograms where a number was asked for.
func bucketsOnly(e *endpoint, a *answer) []gpu.Notice {
	if a.Histograms == 0 {
		return nil
	}
	return []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"%s: %d series are native histograms and are not shown; take histogram_quantile() or histogram_avg() of them.", e.ID, a.Histograms)}}
}

// bucketsAnswer is the body of a query as far as native histograms matter.
type bucketsAnswer struct {
	Status, ErrorType, Error string
	Data                     struct {
		Result []struct {
			Metric     map[string]string
			Histogram  *bucketsPoint
			Histograms []bucketsPoint
		}
	}
}

func (e *endpoint) histograms(ctx context.Context, expr string, instant bool, w query.Window) ([]gpu.Histogram, error) {
	path, form := rangePath, url.Values{"query": {expr}, "timeout": {strconv.FormatFloat(e.Timeout.Seconds(), 'f', -1, 64) + "s"}}
	if instant {
		path = instantPath
		form.Set("time", timestamp(w.To))
	} else {
		form.Set("start", timestamp(w.Start()))
		form.Set("end", timestamp(w.End()))
		form.Set("step", strconv.FormatFloat(w.Step.Seconds(), 'f', -1, 64))
	}
	resp, body, err := e.fetch(ctx, path, form)
	if err != nil {
		return nil, err
	}
	if len(body) > maxBuckets {
		return nil, &Error{Endpoint: e.ID, Kind: KindBadQuery, Message: fmt.Sprintf(
			"the buckets take %d MiB, and at most %d MiB are read; raise the minimum step, or take histogram_quantile() or histogram_avg() of them",
			len(body)>>20, maxBuckets>>20)}
	}
	var a bucketsAnswer
	switch err := json.Unmarshal(body, &a); {
	case err != nil:
		return nil, e.answerError(resp, body, err)
	case a.Status == "error":
		return nil, e.refusal(resp, a.ErrorType, a.Error)
	}
	var all []gpu.Histogram
	for _, s := range a.Data.Result {
		points := s.Histograms
		if s.Histogram != nil {
			points = append(points, *s.Histogram)
		}
		if len(points) == 0 {
			continue
		}
		one := gpu.Histogram{Labels: s.Metric}
		for _, p := range points {
			one.Cells = append(one.Cells, p.cells...)
		}
		all = append(all, one)
	}
	return all, nil
}

// bucketsPoint is a [time, histogram] pair.
type bucketsPoint struct{ cells []gpu.Cell }

// UnmarshalJSON implements json.Unmarshaler.
func (p *bucketsPoint) UnmarshalJSON(text []byte) error {
	var at looseNumber
	var histogram struct{ Buckets [][4]looseNumber } // boundary rule, lower and upper bound, count
	var pair [2]json.RawMessage
	if err := json.Unmarshal(text, &pair); err != nil {
		return fmt.Errorf("read a histogram: %w", err)
	}
	if pair[0] == nil || pair[1] == nil {
		return errors.New("read a histogram: it is no pair of a time and a histogram")
	}
	if err := json.Unmarshal(pair[0], &at); err != nil {
		return fmt.Errorf("read a histogram's time: %w", err)
	}
	if err := json.Unmarshal(pair[1], &histogram); err != nil {
		return fmt.Errorf("read a histogram's buckets: %w", err)
	}
	ms := math.Round(float64(at) * 1000)
	if math.IsNaN(ms) || math.Abs(ms) >= math.MaxInt64 {
		return errors.New("read a histogram's time: it is out of range")
	}
	for _, b := range histogram.Buckets {
		low, high, count := float64(b[1]), float64(b[2]), float64(b[3])
		if count != 0 && !math.IsNaN(low) && !math.IsNaN(high) && !math.IsNaN(count) {
			p.cells = append(p.cells, gpu.Cell{Time: int64(ms), Low: low, High: high, Count: count})
		}
	}
	return nil
}
