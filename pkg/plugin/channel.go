package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// channelPrefix begins the path of every channel; 32 hexadecimal digits follow. A path is at most 160 characters
// together with the data source's id, and of few kinds of character: no name of a node or a GPU could stand in it.
const channelPrefix = "q/"

// maxChannelBytes bounds what a browser has to send to subscribe. Grafana refuses messages of 64 KiB by default.
const maxChannelBytes = 48 << 10

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
	Nodes      []channelNode   `json:"nodes,omitempty"`      // columns that are devices
	Groups     []channelGroup  `json:"groups,omitempty"`     // columns that are aggregates
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

// newChannel describes a stream of the given columns. Devices must be in the order of their identity.
func newChannel(canonicalQuery []byte, fields []timeline.Field) channel {
	c := channel{Query: canonicalQuery}
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

// fields are the columns in their order.
func (c channel) fields() []timeline.Field {
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
	n := len(c.Groups)
	for _, node := range c.Nodes {
		n += len(node.Devices)
	}
	return n
}

func (c channel) step() time.Duration     { return time.Duration(c.StepMs) * time.Millisecond }
func (c channel) period() time.Duration   { return time.Duration(c.PeriodMs) * time.Millisecond }
func (c channel) measured() time.Duration { return time.Duration(c.MeasuredMs) * time.Millisecond }
func (c channel) interval() time.Duration { return time.Duration(c.IntervalMs) * time.Millisecond }

// encode is the channel in the one form that is hashed, and the path of that hash.
func (c channel) encode() (raw []byte, path string, err error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return nil, "", fmt.Errorf("encode live channel: %w", err)
	}
	raw = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return raw, channelPrefix + query.HashOf(raw), nil
}

// errNoChannel is a subscription that names no stream of this plugin.
var errNoChannel = errors.New("a live channel needs the query it streams: open it from a panel of this data source")

// errLongQuery is a query that no channel can carry.
var errLongQuery = errors.New("the query names too much for a live channel: select by a regular expression like /gpu-.*/, or leave the list empty for all")

// errForeignChannel is a subscription whose query is not the one that its path was made from.
var errForeignChannel = errors.New("the query does not belong to this live channel")

// parseChannel reads what came with a subscription and checks that it belongs to the path.
func parseChannel(path string, raw json.RawMessage) (channel, query.Query, error) {
	if len(raw) == 0 || !strings.HasPrefix(path, channelPrefix) {
		return channel{}, query.Query{}, errNoChannel
	}
	var c channel
	if err := json.Unmarshal(raw, &c); err != nil {
		return channel{}, query.Query{}, fmt.Errorf("read the live channel's query: %w", err)
	}
	q, err := query.Parse(c.Query, "")
	if err != nil {
		return channel{}, query.Query{}, fmt.Errorf("read the live channel's query: %w", err)
	}
	c.Query = q.Canonical()
	_, own, err := c.encode()
	if err != nil {
		return channel{}, query.Query{}, err
	}
	if own != path {
		return channel{}, query.Query{}, errForeignChannel
	}
	if c.StepMs < 1 || c.PeriodMs < 0 || c.MeasuredMs < 0 || c.IntervalMs < 0 {
		return channel{}, query.Query{}, errNoChannel
	}
	return c, q, nil
}
