package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// feed makes the packets of one channel out of what agents send. All its methods are called by the goroutine that runs
// the stream, one after the other: schema may be called without any of the others, by those that only subscribe.
type feed interface {
	// schema is the frame without rows that every viewer gets first. Later packets without a schema have its columns.
	schema() *data.Frame
	// wants says which nodes are heard, and what of them.
	wants() live.Select
	// start is called once, before the first take: it fills in what was there before. It may ask the hub.
	start(ctx context.Context)
	// take is told one thing that happened. It must not wait for anything.
	take(u live.Update)
	// packet is what is to be sent now, false when there is nothing new. It is called no oftener than every says, and
	// what it returned counts as sent: a stream whose packet does not arrive ends.
	packet(now time.Time) (delivery, bool)
	// every is how far apart packets are at least.
	every() time.Duration
}

// delivery is one packet: a frame and how much of it, or bytes that say the same.
type delivery struct {
	frame   *data.Frame       // nil where raw says nothing new but rows
	include data.FrameInclude // IncludeAll where viewers do not know the frame's columns or notices
	raw     []byte            // the packet as it is sent, where the frame is not encoded by the SDK

	// Where rows is set, frame is the schema alone and these are its rows, see frames.AppendPacket.
	times []int64
	rows  [][]float64
}

// schema is the delivery's frame without rows.
func (d delivery) schema() *data.Frame {
	if d.rows != nil || d.frame.Rows() == 0 {
		return d.frame
	}
	frame := d.frame.EmptyCopy()
	frame.Meta = d.frame.Meta
	for i, f := range d.frame.Fields {
		frame.Fields[i].Config = f.Config
	}
	return frame
}

// feedOf is the feed of a channel's query.
func (d *Datasource) feedOf(path string, c channel, q query.Query) (feed, error) {
	if !q.Live || q.Source == query.SourceHistory {
		return nil, fmt.Errorf("%w: the query does not go on live", errNoChannel)
	}
	switch q.Type {
	case query.TypeMetric:
		if q.Format == query.FormatMatrix {
			return d.cellFeedOf(path, c, q)
		}
		return d.rowFeedOf(path, c, q)
	case query.TypeInventory:
		return d.inventoryFeed(c, q), nil
	case query.TypeProcesses:
		return d.processFeed(q), nil
	case query.TypeEvents:
		return d.eventFeedOf(path, c, q)
	case query.TypeHealth:
		return d.healthFeed(c, q)
	}
	return nil, fmt.Errorf("%w: queries of type %q are not streamed", errNoChannel, q.Type)
}

// The ways in which a browser goes on with a frame.
const (
	modeRows    = ""        // packets are rows, told apart by their time; a packet may complete rows that are there
	modeReplace = "replace" // every packet is the whole frame
	modeAppend  = "append"  // packets are rows that come after those that are there
	modeCells   = "cells"   // packets are the values of the frame's last column, see frames.Cells
)

// liveMeta is what the browser needs to continue a frame; it is the frame's meta.custom["live"].
type liveMeta struct {
	Path    string          `json:"path"`
	Data    json.RawMessage `json:"data"`
	StepMs  int64           `json:"stepMs"`         // how far apart packets are expected, silence is told after some of them
	RangeMs int64           `json:"rangeMs"`        // how much of it is shown
	AtMs    int64           `json:"atMs,omitempty"` // when the answer was made: a refill told before is in it
	Mode    string          `json:"mode,omitempty"` // modeRows and so on
}

// tableChannel is the channel that continues a query's table. every is how far apart packets are, span how much time the
// panel shows, alerts whether what fires is part of it. It fails when the query is too long for one.
func tableChannel(q query.Query, mode string, every, span time.Duration, alerts bool) (liveMeta, error) {
	c := channel{Query: q.Canonical(), StepMs: every.Milliseconds(), RangeMs: span.Milliseconds(), Alerts: alerts}
	raw, path, err := c.encode()
	if err != nil {
		return liveMeta{}, err
	}
	if len(raw) > maxChannelBytes {
		return liveMeta{}, errLongQuery
	}
	return liveMeta{Path: path, Data: raw, StepMs: c.StepMs, RangeMs: c.RangeMs, Mode: mode}, nil
}
