package plugin

import (
	"fmt"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// missingShare is the part of an answer's lines, one in so many, that a spread may go on without.
const missingShare = 20

// newSpread is what the channel makes of all lines, nil where it has a column for each.
func (c channel) newSpread() timeline.Spread {
	switch c.Spread {
	case query.ReduceBands:
		return &timeline.BandSpread{}
	case query.ReduceHeatmap:
		return &timeline.HeatmapSpread{Low: c.Edges[0], Upper: c.Edges[1:]}
	}
	return nil
}

// spreadFrame is the columns of a spread, without rows.
func (c channel) spreadFrame(o frames.Options) *data.Frame {
	at, none := []int64{0}, []float64{0}
	var frame *data.Frame
	if c.Spread == query.ReduceHeatmap {
		bins := make([]frames.Bin, len(c.Edges)-1)
		for i := range bins {
			bins[i] = frames.Bin{Upper: c.Edges[i+1], Count: none}
		}
		frame = frames.Heatmap(at, bins, o)
	} else {
		var bands []frames.Band
		for _, name := range timeline.BandLevels() {
			bands = append(bands, frames.Band{Name: name, Values: none})
		}
		frame = frames.Bands(at, bands, none, o)
	}
	frame.Clear()
	return frame
}

// spread lets the bands or the heatmap of an answer go on live. They are then over all devices that agents know.
func (d *Datasource) spread(a answer, mode string, edges []float64, frame *data.Frame) data.Frames {
	if !a.streams() || len(frame.Fields) == 0 || len(a.continued) == 0 {
		return data.Frames{frame}
	}
	tell := func(severity gpu.Severity, format string, args ...any) {
		for _, n := range d.shown([]gpu.Notice{{Severity: severity, Text: fmt.Sprintf(format, args...)}}) {
			frame.AppendNotices(data.Notice{Severity: severityOf(n.Severity), Text: n.Text})
		}
	}
	known, missing := len(a.continued), a.unknownToAgents()
	switch {
	case missing*missingShare > known+missing:
		tell(gpu.Info, "This does not go on live, because agents know only %d of %d lines: a refresh shows what is new.", known, known+missing)
		return data.Frames{frame}
	case missing > 0:
		tell(gpu.Info, "Goes on live with the %d of %d lines that agents know.", known, known+missing)
	}
	c := a.newChannel()
	c.Spread, c.Edges = mode, edges
	times := frame.Fields[0]
	after := times.At(times.Len()-1).(time.Time).UnixMilli() - c.StepMs
	meta, err := d.offer(c, after-after%c.StepMs, a.request.now)
	if err != nil {
		tell(gpu.Warning, "Not streaming: %s; until then a refresh shows what is new.", err)
		return data.Frames{frame}
	}
	frame.Meta.Custom = map[string]any{"live": meta}
	return data.Frames{frame}
}

// unknownToAgents is how many lines that were there until now have no live part.
func (a answer) unknownToAgents() int {
	since := a.request.now.Add(-max(absentAge, 3*a.historyStep)).UnixMilli()
	n := 0
	for _, s := range a.rest {
		if len(s.Times) > 0 && s.Times[len(s.Times)-1] >= since {
			n++
		}
	}
	return n
}

func severityOf(s gpu.Severity) data.NoticeSeverity {
	if s == gpu.Warning {
		return data.NoticeSeverityWarning
	}
	return data.NoticeSeverityInfo
}
