package plugin

import (
	"fmt"
	"maps"
	"math"
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
	// maxPendingRows bounds what is kept for a Grafana that does not take it: the oldest go.
	maxPendingRows = 1200
	// namedTroubles is how many agents in trouble a stream's notices name.
	namedTroubles = 3
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

	rows     *timeline.Rows
	boards   map[board]bool  // devices that have a column
	groups   map[string]bool // aggregates that have one
	nodes    map[string]*streamNode
	troubles map[string]error // of agents, by address
	pending  []timeline.Row

	sentNotices []gpu.Notice
}

// rowFeedOf is the feed of a metric query's channel.
func (d *Datasource) rowFeedOf(path string, c channel, q query.Query) (*rowFeed, error) {
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
	if row, ok := d.handovers.get(path, d.now()); ok {
		s.after = row
	}
	return s, nil
}

func (s *rowFeed) schema() *data.Frame { return s.frame(s.channel.fields(), nil, nil) }

func (s *rowFeed) wants() live.Select { return live.Select{Match: s.selection.matchesTarget} }

func (s *rowFeed) every() time.Duration { return packetEvery }

// packet is what is new, if anything is: rows alone as long as viewers know the columns, everything when there is one
// more, or when there is other trouble to tell of.
//
// Once the columns have changed every packet carries the schema. Viewers who join later get the schema of the
// beginning, and a row that does not fit the schema is an error in their browser.
func (s *rowFeed) packet(now time.Time) (delivery, bool) {
	s.add(s.rows.Advance(now))
	fields, notices := s.rows.Fields(), s.shown(s.notices())
	include := data.IncludeDataOnly
	changed := !slices.Equal(notices, s.sentNotices)
	if changed || len(fields) != s.channel.width() {
		include = data.IncludeAll
	}
	if len(s.pending) == 0 && !changed {
		return delivery{}, false
	}
	frame := s.frame(fields, s.pending, notices)
	s.pending, s.sentNotices = nil, notices
	return delivery{frame: frame, include: include}, true
}

func (s *rowFeed) add(rows []timeline.Row) {
	s.pending = append(s.pending, rows...)
	if over := len(s.pending) - maxPendingRows; over > 0 {
		s.pending = s.pending[over:]
	}
}

// notices name the agents that are in trouble, in a stable order.
func (s *rowFeed) notices() []gpu.Notice {
	addresses := slices.Sorted(maps.Keys(s.troubles))
	var notices []gpu.Notice
	for _, address := range addresses[:min(namedTroubles, len(addresses))] {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: "Live data is interrupted: " + s.troubles[address].Error()})
	}
	if more := len(addresses) - namedTroubles; more > 0 {
		notices = append(notices, gpu.Notice{Severity: gpu.Warning, Text: fmt.Sprintf("Live data of %d more agents is interrupted.", more)})
	}
	return notices
}

// frame is rows as Grafana gets them; without rows it is their schema.
func (s *rowFeed) frame(fields []timeline.Field, rows []timeline.Row, notices []gpu.Notice) *data.Frame {
	times := make([]int64, len(rows))
	series := make([]gpu.Series, len(fields))
	for i, f := range fields {
		series[i] = gpu.Series{Device: f.Device, Labels: f.Labels, Times: times, Values: make([]float64, len(rows))}
	}
	for at, row := range rows {
		times[at] = row.Time
		for i := range series {
			series[i].Values[at] = valueAt(row, i)
		}
	}
	o := s.options
	o.Notices = notices
	return frames.Wide(series, o)
}

// valueAt is a row's value in a column, NaN in one that appeared after the row.
func valueAt(row timeline.Row, column int) float64 {
	if column >= len(row.Values) {
		return math.NaN()
	}
	return row.Values[column]
}
