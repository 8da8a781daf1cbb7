package plugin

import (
	"context"
	"fmt"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
)

// packetEvery is how often packets are sent at most; what came in between goes together.
const packetEvery = 250 * time.Millisecond

// leastEvery is how far apart packets are at least where a feed asks for less than packetEvery.
const leastEvery = 50 * time.Millisecond

// stream is one run of a channel. Its fields belong to the goroutine that runs it.
type stream struct {
	path string
	live present
	now  func() time.Time
	feed feed
	// told is given the schema that viewers who join are to get, each time it has changed. It may be nil.
	told func(schema *data.Frame)

	stamp string // of the last frame that the SDK encoded
}

// run sends packets until ctx ends, and then returns nil, or until the hub is closed.
func (s *stream) run(ctx context.Context, sender *backend.StreamSender) error {
	sub := s.live.Subscribe(s.feed.wants())
	defer sub.Close()
	s.feed.start(ctx)
	if _, err := s.send(sender); err != nil {
		return err
	}
	// Packets are some time apart, counted from the end of one, so that what came while Grafana took its time goes into
	// the next. After a longer quiet one goes at once.
	every := max(s.feed.every(), leastEvery)
	next := time.NewTimer(every)
	defer next.Stop()
	due := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case u, ok := <-sub.C():
			if !ok {
				return fmt.Errorf("stream %s: %w", s.path, sub.Err())
			}
			s.feed.take(u)
			if !due {
				continue
			}
		case <-next.C:
			next.Reset(every)
			due = true
		}
		sent, err := s.send(sender)
		if err != nil {
			return err
		}
		if sent {
			next.Reset(every)
			due = false
		}
	}
}

// send is what is new, if anything is.
func (s *stream) send(sender *backend.StreamSender) (sent bool, err error) {
	d, ok := s.feed.packet(s.now())
	if !ok {
		return false, nil
	}
	switch {
	case d.raw != nil:
		err = sender.SendBytes(d.raw)
	case d.rows != nil:
		err = sendRows(sender, d)
	default:
		if d.include == data.IncludeAll {
			d.frame = marked(d.frame)
		}
		err = s.sendFrame(sender, d)
	}
	if d.frame != nil && s.told != nil {
		s.told(d.schema())
	}
	if err != nil {
		return false, fmt.Errorf("send a packet of %s: %w", s.path, err)
	}
	return true, nil
}

// sendRows sends rows with their schema.
func sendRows(sender *backend.StreamSender, d delivery) error {
	schema, err := frames.Stamped(d.frame)
	if err != nil {
		return err
	}
	raw, err := frames.AppendPacket(nil, schema, d.times, d.rows)
	if err != nil {
		return err
	}
	return sender.SendBytes(raw)
}

// sendFrame sends a frame, with its schema whenever what that says is another than before.
func (s *stream) sendFrame(sender *backend.StreamSender, d delivery) error {
	frame, err := frames.Stamped(d.frame)
	if err != nil {
		return err
	}
	stamp := frame.Fields[len(frame.Fields)-1].Name
	if stamp != s.stamp {
		d.include = data.IncludeAll
	}
	s.stamp = stamp
	return sender.SendFrame(frame, d.include)
}

// marked says of a frame without rows that it is meant so: browsers do not replace rows by none. It is said in the schema, and
// taken back with the next rows.
func marked(frame *data.Frame) *data.Frame {
	if frame.Rows() > 0 {
		return frame
	}
	empty, meta := *frame, data.FrameMeta{}
	if frame.Meta != nil {
		meta = *frame.Meta
	}
	meta.Custom = map[string]any{"rows": 0}
	empty.Meta = &meta
	return &empty
}
