package plugin

import (
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// cellsEvery is how far apart the packets of a matrix are.
const cellsEvery = time.Second

// matrixMeta is meta.custom["matrix"] of a matrix' table.
type matrixMeta struct {
	Layout string `json:"layout"` // packets with another one are not of this table
	Cells  int    `json:"cells"`  // the first rows, which agents keep up to date; the others only history knows
}

// matrix is a table of every device with its newest value, first those that agents know. A panel that goes on live gets
// their values as cells.
func (d *Datasource) matrix(a answer) data.Frames {
	a.options.Step = 0
	a.options.Notices = d.shown(a.options.Notices)
	devices := make([]gpu.Device, len(a.continued))
	for i, s := range a.continued {
		devices[i] = s.Device
	}
	c := channel{
		Query: a.request.query.Canonical(), StepMs: cellsEvery.Milliseconds(), PeriodMs: a.plan.Period.Milliseconds(),
		MeasuredMs: a.plan.Measured.Milliseconds(), RangeMs: time.Minute.Milliseconds(),
	}
	raw, path, err := c.encode()
	if err == nil && len(raw) > maxChannelBytes {
		err = errLongQuery
	}
	if len(devices) == 0 || !a.continues || !a.request.query.Live || err != nil {
		if err != nil {
			a.options.Notices = append(a.options.Notices, d.shown([]gpu.Notice{{Severity: gpu.Warning, Text: "Not streaming: " + err.Error() + "."}})...)
		}
		return data.Frames{frames.Latest(slices.Concat(a.continued, a.rest), a.options)}
	}
	made := d.layouts.join(path, devices, a.request.now)
	cells := make([]gpu.Series, len(made.devices)) // those that are gone have a place and no value
	for i, device := range made.devices {
		cells[i].Device = device
	}
	for _, s := range a.continued {
		cells[made.at[boardOf(s.Device)]] = s
	}
	rest := slices.DeleteFunc(slices.Clone(a.rest), func(s gpu.Series) bool {
		place, ok := made.at[boardOf(s.Device)]
		if ok && len(cells[place].Values) == 0 {
			cells[place] = s
		}
		return ok
	})
	frame := frames.Latest(slices.Concat(cells, rest), a.options)
	if frame.Rows() < len(cells) {
		return data.Frames{frame} // which says so
	}
	frame.Meta.Custom = map[string]any{
		"live":   liveMeta{Path: path, Data: raw, StepMs: c.StepMs, RangeMs: c.RangeMs, Mode: modeCells},
		"matrix": matrixMeta{Layout: made.hash, Cells: len(made.devices)},
	}
	return data.Frames{frame}
}

// cellFeedOf is the feed of a matrix' channel.
func (d *Datasource) cellFeedOf(path string, c channel, q query.Query) (*cellFeed, error) {
	m, err := q.MetricIn(d.catalog)
	if err != nil {
		return nil, err
	}
	f := &cellFeed{
		path: path, layouts: &d.layouts, live: d.live, now: d.now, shown: d.shown, selection: selection{scope: q.Scope, metric: m},
		options: frames.Options{Metric: m.Name, Description: m.Help, Unit: m.ShownUnit(), Rate: m.Kind == catalog.Counter},
		nodes:   map[string]*cellNode{}, fresh: map[board]gpu.Device{}, least: 0, most: 0,
	}
	if m.ShownUnit() == gpu.Ratio && m.Kind != catalog.Counter {
		f.most = 1
	}
	if m.Kind == catalog.Counter {
		f.window = timeline.RateWindow(0, max(c.period(), c.measured(), time.Second))
	}
	return f, nil
}
