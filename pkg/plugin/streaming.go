package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

const (
	// packetEvery is how often rows are sent at most; those that came in between go together.
	packetEvery = 250 * time.Millisecond
	// maxPendingRows bounds what is kept for a Grafana that does not take it: the oldest go.
	maxPendingRows = 1200
	// namedTroubles is how many agents in trouble a stream's notices name.
	namedTroubles = 3
)

// stream is one run of a channel. Its fields belong to the goroutine that runs it.
type stream struct {
	path      string
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

// run sends rows until ctx ends, and then returns nil, or until the hub is closed.
func (s *stream) run(ctx context.Context, sender *backend.StreamSender) error {
	sub := s.live.Subscribe(live.Select{Match: s.selection.matchesTarget})
	defer sub.Close()
	s.start(ctx)
	if _, err := s.send(sender); err != nil {
		return err
	}
	// Packets are packetEvery apart, counted from the end of one, so that what came while Grafana took its time goes
	// into the next. After a longer quiet a row goes at once.
	next := time.NewTimer(packetEvery)
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
			s.take(u)
			if !due {
				continue
			}
		case <-next.C:
			s.add(s.rows.Advance(s.now()))
			next.Reset(packetEvery)
			due = true
		}
		sent, err := s.send(sender)
		if err != nil {
			return err
		}
		if sent {
			next.Reset(packetEvery)
			due = false
		}
	}
}

// send is what is new, if anything is: rows alone as long as viewers know the columns, everything when there is one
// more, or when there is other trouble to tell of.
//
// Once the columns have changed every packet carries the schema. Viewers who join later get the schema of the
// beginning, and a row that does not fit the schema is an error in their browser.
func (s *stream) send(sender *backend.StreamSender) (sent bool, err error) {
	fields, notices := s.rows.Fields(), s.shown(s.notices())
	include := data.IncludeDataOnly
	changed := !slices.Equal(notices, s.sentNotices)
	if changed || len(fields) != s.channel.width() {
		include = data.IncludeAll
	}
	if len(s.pending) == 0 && !changed {
		return false, nil
	}
	if err := sender.SendFrame(s.frame(fields, s.pending, notices), include); err != nil {
		return false, fmt.Errorf("send rows of %s: %w", s.path, err)
	}
	s.pending, s.sentNotices = nil, notices
	return true, nil
}

func (s *stream) add(rows []timeline.Row) {
	s.pending = append(s.pending, rows...)
	if over := len(s.pending) - maxPendingRows; over > 0 {
		s.pending = s.pending[over:]
	}
}

// notices name the agents that are in trouble, in a stable order.
func (s *stream) notices() []gpu.Notice {
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
func (s *stream) frame(fields []timeline.Field, rows []timeline.Row, notices []gpu.Notice) *data.Frame {
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
