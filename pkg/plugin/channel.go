package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// channelPrefix begins the path of every channel; 32 hexadecimal digits follow. A path is at most 160 characters
// together with the data source's id, and of few kinds of character: no name of a node or a GPU could stand in it.
const channelPrefix = "q/"

// maxChannelBytes bounds what a browser has to send to subscribe. Grafana refuses messages of 64 KiB by default.
const maxChannelBytes = 48 << 10

// maxSentBytes bounds what is read of a subscription: browsers may write the same in more bytes.
const maxSentBytes = 4 * maxChannelBytes

// How long the times of a channel may be: what a grid is made with, and what is only compared.
const (
	maxGrid = 366 * 24 * time.Hour
	maxSpan = 100 * maxGrid
)

// fewNodes is how many nodes a panel may show for their agents to be asked for samples more often than they take them.
const fewNodes = 64

// channel is everything a live channel is made from: the query and the columns of its rows, in order. It travels
// with each subscription, so that a plugin that was restarted, or another replica of Grafana, continues the same
// stream. The path is its hash: nobody can bind other data to a channel that others watch.
type channel struct {
	Query      json.RawMessage `json:"query"`                // in its canonical form
	StepMs     int64           `json:"stepMs"`               // of the rows' grid
	PeriodMs   int64           `json:"periodMs"`             // of the agents' samples
	MeasuredMs int64           `json:"measuredMs,omitempty"` // how far apart a counter is measured, where that is more
	IntervalMs int64           `json:"intervalMs"`           // widest regular distance between rows, history's included
	RangeMs    int64           `json:"rangeMs"`              // how much a panel shows: panels of other ranges keep other buffers
	Clusters   bool            `json:"clusters,omitempty"`   // names begin with the cluster
	Spread     string          `json:"spread,omitempty"`     // the columns are what query.ReduceBands or query.ReduceHeatmap makes of all lines
	Edges      []float64       `json:"edges,omitempty"`      // of a heatmap's bins, the lower one of the first before the upper ones
	Fixed      bool            `json:"fixed,omitempty"`      // no column is added
	Alerts     bool            `json:"alerts,omitempty"`     // events with the alerts that begin and end
	Nodes      []channelNode   `json:"nodes,omitempty"`      // columns that are devices
	Groups     []channelGroup  `json:"groups,omitempty"`     // columns that are aggregates
	// Packed stands for Nodes where they are many; it travels and is never hashed.
	Packed string `json:"packed,omitempty"`
}

type channelNode struct {
	Cluster string          `json:"cluster,omitempty"`
	Node    string          `json:"node"`
	Devices []channelDevice `json:"devices"`
}

type channelGroup map[string]string

// channelDevice is kept as a list in JSON, because there are many.
type channelDevice struct {
	UUID, Model, GPUInstance, ComputeInstance, Profile string
	Index                                              int
}

func (d channelDevice) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{d.UUID, d.Index, d.Model, d.GPUInstance, d.ComputeInstance, d.Profile})
}

func (d *channelDevice) UnmarshalJSON(raw []byte) error {
	list := []any{&d.UUID, &d.Index, &d.Model, &d.GPUInstance, &d.ComputeInstance, &d.Profile}
	want := len(list)
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	if len(list) != want {
		return fmt.Errorf("a device has %d parts, expected %d", len(list), want)
	}
	return nil
}

// with is the channel with the given columns. Those of a node must follow each other.
func (c channel) with(fields []timeline.Field) channel {
	for _, f := range fields {
		if f.Device.Identity == (gpu.Identity{}) {
			c.Groups = append(c.Groups, f.Labels)
			continue
		}
		d := f.Device
		n := len(c.Nodes)
		if n == 0 || c.Nodes[n-1].Cluster != d.Cluster || c.Nodes[n-1].Node != d.Node {
			c.Nodes = append(c.Nodes, channelNode{Cluster: d.Cluster, Node: d.Node})
			n++
		}
		c.Nodes[n-1].Devices = append(c.Nodes[n-1].Devices, channelDevice{
			UUID: d.UUID, Index: d.Index, Model: d.Model, GPUInstance: d.GPUInstance, ComputeInstance: d.ComputeInstance,
			Profile: d.MIGProfile,
		})
	}
	return c
}

// fields are the columns in their order; of a spread, which has none of its own, places for them.
func (c channel) fields() []timeline.Field {
	if c.Spread != "" {
		return make([]timeline.Field, c.width())
	}
	var fields []timeline.Field
	for _, n := range c.Nodes {
		for _, d := range n.Devices {
			fields = append(fields, timeline.Field{Device: gpu.Device{
				Identity: gpu.Identity{
					Cluster: n.Cluster, Node: n.Node, UUID: d.UUID, GPUInstance: d.GPUInstance, ComputeInstance: d.ComputeInstance,
				},
				Index: d.Index, Model: d.Model, MIGProfile: d.Profile, MIGEnabled: d.GPUInstance != "",
			}})
		}
	}
	for _, g := range c.Groups {
		fields = append(fields, timeline.Field{Labels: g})
	}
	return fields
}

// width is the number of columns.
func (c channel) width() int {
	switch c.Spread {
	case query.ReduceBands:
		return len(timeline.BandLevels()) + 1
	case query.ReduceHeatmap:
		return len(c.Edges) - 1
	}
	return c.columns()
}

// wish is how far apart the agents' samples should be: as the panel shows them, where that is often and nodes are few.
func (c channel) wish() time.Duration {
	if c.step() >= time.Second || c.Spread != "" || len(c.Groups) > 0 || len(c.Nodes) > fewNodes {
		return 0
	}
	return c.step()
}

// sound reports whether a stream can be made of what the channel says, whoever wrote it.
func (c channel) sound() bool {
	within := func(ms int64, most time.Duration) bool { return ms >= 0 && ms <= most.Milliseconds() }
	return c.StepMs > 0 && within(c.StepMs, maxGrid) && within(c.PeriodMs, maxGrid) && within(c.MeasuredMs, maxGrid) &&
		within(c.IntervalMs, maxSpan) && within(c.RangeMs, maxSpan) && c.spreads() && c.columns() <= frames.MaxSeries
}

func (c channel) step() time.Duration     { return time.Duration(c.StepMs) * time.Millisecond }
func (c channel) period() time.Duration   { return time.Duration(c.PeriodMs) * time.Millisecond }
func (c channel) measured() time.Duration { return time.Duration(c.MeasuredMs) * time.Millisecond }
func (c channel) interval() time.Duration { return time.Duration(c.IntervalMs) * time.Millisecond }

// encode is the channel as it travels, and its path, which is the hash of the one form that does not depend on how the
// nodes are packed.
func (c channel) encode() (raw []byte, path string, err error) {
	if raw, path, err = c.plain(); err != nil || len(raw) < packAbove || len(c.Nodes) == 0 {
		return raw, path, err
	}
	if c, err = c.pack(); err == nil {
		raw, err = plainJSON(c)
	}
	if err != nil {
		return nil, "", fmt.Errorf("encode live channel: %w", err)
	}
	return raw, path, nil
}

// plain is the channel's one form that is hashed, and the path.
func (c channel) plain() (raw []byte, path string, err error) {
	c.Packed = ""
	if raw, err = plainJSON(c); err != nil {
		return nil, "", fmt.Errorf("encode live channel: %w", err)
	}
	return raw, channelPrefix + query.HashOf(raw), nil
}

// plainJSON leaves <, > and & as they are.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// errNoChannel is a subscription that names no stream of this plugin.
var errNoChannel = errors.New("a live channel needs the query it streams: open it from a panel of this data source")

// errLongQuery is a query that no channel can carry.
var errLongQuery = errors.New("the query names too much for a live channel: select by a regular expression like /gpu-.*/, or leave the list empty for all")

// errForeignChannel is a subscription whose query is not the one that its path was made from.
var errForeignChannel = errors.New("the query does not belong to this live channel")

// parseChannel reads what came with a subscription and checks that it belongs to the path.
func parseChannel(path string, raw json.RawMessage) (channel, query.Query, error) {
	if len(raw) > maxSentBytes {
		return channel{}, query.Query{}, errLongQuery
	}
	if len(raw) == 0 || !strings.HasPrefix(path, channelPrefix) {
		return channel{}, query.Query{}, errNoChannel
	}
	var c channel
	if err := json.Unmarshal(raw, &c); err != nil {
		return channel{}, query.Query{}, fmt.Errorf("read the live channel's query: %w", err)
	}
	c, err := c.unpack()
	if err != nil {
		return channel{}, query.Query{}, fmt.Errorf("read the live channel's nodes: %w", err)
	}
	q, err := query.Parse(c.Query, "")
	if err != nil {
		return channel{}, query.Query{}, fmt.Errorf("read the live channel's query: %w", err)
	}
	c.Query = q.Canonical()
	if !c.sound() {
		return channel{}, query.Query{}, errNoChannel
	}
	_, own, err := c.plain()
	if err != nil {
		return channel{}, query.Query{}, err
	}
	if own != path {
		return channel{}, query.Query{}, errForeignChannel
	}
	return c, q, nil
}
