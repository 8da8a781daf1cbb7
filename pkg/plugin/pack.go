package plugin

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"

	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// Of the packing of a channel's nodes: from which size on it is worth it, and how large they may be when unpacked.
const (
	packAbove   = 8 << 10
	maxUnpacked = 2 << 20
	maxEdges    = 200
)

var errPacked = errors.New("they are too many, or given twice")

// pack puts the nodes into one text: names of nodes and models repeat, so that about four times as many fit.
func (c channel) pack() (channel, error) {
	plain, err := json.Marshal(c.Nodes)
	if err != nil {
		return c, err
	}
	var b bytes.Buffer
	text := base64.NewEncoder(base64.RawURLEncoding, &b)
	w, err := flate.NewWriter(text, flate.BestCompression)
	if err != nil {
		return c, err
	}
	for _, err := range []error{second(w.Write(plain)), w.Close(), text.Close()} {
		if err != nil {
			return c, err
		}
	}
	c.Nodes, c.Packed = nil, b.String()
	return c, nil
}

func second(_ int, err error) error { return err }

func (c channel) unpack() (channel, error) {
	if c.Packed == "" {
		return c, nil
	}
	packed := flate.NewReader(base64.NewDecoder(base64.RawURLEncoding, bytes.NewReader([]byte(c.Packed))))
	plain, err := io.ReadAll(io.LimitReader(packed, maxUnpacked+1))
	if err != nil {
		return c, err
	}
	if len(plain) > maxUnpacked || len(c.Nodes) > 0 {
		return c, errPacked
	}
	c.Packed = ""
	return c, json.Unmarshal(plain, &c.Nodes)
}

// spreads reports whether what the channel says of a spread makes sense.
func (c channel) spreads() bool {
	switch c.Spread {
	case "":
		return len(c.Edges) == 0
	case query.ReduceBands:
		return len(c.Edges) == 0 && c.columns() == 0
	case query.ReduceHeatmap:
		return len(c.Edges) >= 2 && len(c.Edges) <= maxEdges && timeline.Rising(c.Edges) && c.columns() == 0
	}
	return false
}

// columns is how many columns the channel names one by one.
func (c channel) columns() int {
	n := len(c.Groups)
	for _, node := range c.Nodes {
		n += len(node.Devices)
	}
	return n
}
