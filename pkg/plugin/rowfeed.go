package plugin

import (
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

const (
	// quickColumns is how many columns a packet may have that is sent more often than others.
	quickColumns = 128
	// maxPendingRows bounds what is kept for a Grafana that does not take it: the oldest go.
	maxPendingRows = 1200
)

// rowFeed continues the lines of a metric query: a packet is the rows that are complete since the last one.
type rowFeed struct {
	channel   channel
	selection selection
	plan      timeline.Plan
	options   frames.Options
	after     int64 // time of the last row that was shown before, 0 when that is not known

	live  present
	now   func() time.Time
	shown func([]gpu.Notice) []gpu.Notice

	rows    *timeline.Rows
	boards  map[board]bool  // devices that have a column
	groups  map[string]bool // aggregates that have one
	nodes   map[string]*streamNode
	pending []timeline.Row
	spread  timeline.Spread // what all lines are made into; nil where each has its column

	troubles    troubled
	losses      losses
	refill      refill
	sentNotices []gpu.Notice
	began       bool // the schema was sent, which takes back what the run before told
}

// rowFeedOf is the feed of a metric query's channel.
func (d *Datasource) rowFeedOf(path string, c channel, q query.Query) (*rowFeed, error) {
	if c.width() == 0 {
		return nil, errNoChannel
	}
	m, err := q.MetricIn(d.catalog)
	if err != nil {
		return nil, err
	}
	aggregation, err := aggregationOf(q, m)
	if err != nil {
		return nil, err
	}
	s := &rowFeed{
		channel: c, live: d.live, now: d.now, shown: d.shown,
		selection: selection{scope: q.Scope, metric: m},
		plan: timeline.Plan{
			Keep: keepLive(keepOf(m, q.AggregationOf(m))), Step: c.step(), Period: c.period(), Measured: c.measured(), Counter: m.Kind == catalog.Counter, Aggregation: aggregation,
		},
		options: frames.Options{
			Metric: m.Name, Description: m.Help, Unit: m.ShownUnit(), Rate: m.Kind == catalog.Counter, Step: c.interval(),
			Naming: frames.Naming{Legend: q.Legend, Clusters: c.Clusters},
		},
	}
	s.spread = c.newSpread()
	if row, ok := d.handovers.get(path, d.now()); ok {
		s.after = row
	}
	return s, nil
}

func (s *rowFeed) schema() *data.Frame { return s.frame(s.channel.fields(), nil) }

func (s *rowFeed) wants() live.Select {
	return live.Select{Match: s.selection.matchesTarget, Owners: s.selection.scope.ByOwner(), Period: s.channel.wish()}
}

// every is shorter where a panel shows samples that come faster, and few.
func (s *rowFeed) every() time.Duration {
	if step := s.plan.Step; step < packetEvery && s.channel.width() <= quickColumns {
		return max(step*3/4, leastEvery)
	}
	return packetEvery
}

// packet is what is new, if anything is: rows alone as long as viewers know the columns, everything at first, when there is
// one more, or when there is other trouble to tell of.
//
// Once the columns have changed every packet carries the schema. Viewers who join later get the schema of the
// beginning, and a row that does not fit the schema is an error in their browser.
func (s *rowFeed) packet(now time.Time) (delivery, bool) {
	s.add(s.rows.Advance(now))
	dropped := s.rows.Dropped()
	notices := s.shown(slices.Concat(s.troubles.notices(), s.losses.notices(now, dropped), s.outside()))
	changed := !s.began || !slices.Equal(notices, s.sentNotices)
	changed = s.refill.due(dropped.Late, now) || changed
	if len(s.pending) == 0 && !changed {
		return delivery{}, false
	}
	times, rows := make([]int64, len(s.pending)), make([][]float64, len(s.pending))
	for i, row := range s.pending {
		times[i], rows[i] = row.Time, row.Values
	}
	s.pending, s.sentNotices, s.began = nil, notices, true
	fields := s.rows.Fields()
	if !changed && len(fields) == s.channel.width() {
		return delivery{raw: frames.AppendRows(nil, times, rows, len(fields)+1)}, true
	}
	return delivery{frame: s.frame(fields, notices), times: times, rows: rows}, true
}

func (s *rowFeed) add(rows []timeline.Row) {
	s.pending = append(s.pending, rows...)
	if over := len(s.pending) - maxPendingRows; over > 0 {
		s.pending = s.pending[over:]
		s.losses.rows += uint64(over)
	}
}

// outside tells that a heatmap's bins, which were made for the values there were, do not fit any more.
func (s *rowFeed) outside() []gpu.Notice {
	if h, ok := s.spread.(*timeline.HeatmapSpread); ok && h.Outside > 0 {
		return []gpu.Notice{{Severity: gpu.Info, Text: "Values since are outside the heatmap's bins and counted in the outermost ones, until the panel is refreshed."}}
	}
	return nil
}

// frame is the columns without rows.
func (s *rowFeed) frame(fields []timeline.Field, notices []gpu.Notice) *data.Frame {
	o := s.options
	o.Notices, o.Custom = notices, s.refill.custom()
	if s.channel.Spread != "" {
		return s.channel.spreadFrame(o)
	}
	series := make([]gpu.Series, len(fields))
	for i, f := range fields {
		series[i] = gpu.Series{Device: f.Device, Labels: f.Labels}
	}
	return frames.Wide(series, o)
}
