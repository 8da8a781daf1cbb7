package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// How often a judgement is made anew while it streams: soon after something happened, and slowly while nothing does.
const (
	judgedSoon  = time.Second
	judgedSlow  = 15 * time.Second
	judgingMost = 30 * time.Second // how long one may take
)

// judgedFeed answers a query anew when something happened that may change the answer, and now and then. The answer is made
// beside the stream, one at a time, so that the stream never waits for it.
type judgedFeed struct {
	selected live.Select
	empty    *data.Frame
	answer   func(context.Context) *data.Frame // the whole table of now

	ctx     context.Context // of the stream
	answers chan *data.Frame
	asking  bool
	asked   time.Time // when the last one was begun
	urgent  bool      // something happened since
	table   *data.Frame
	changed bool
	sent    time.Time
}

func (f *judgedFeed) schema() *data.Frame  { return f.empty }
func (f *judgedFeed) wants() live.Select   { return f.selected }
func (f *judgedFeed) every() time.Duration { return eventEvery }

func (f *judgedFeed) start(ctx context.Context) {
	f.ctx, f.answers, f.urgent = ctx, make(chan *data.Frame, 1), true
}

func (f *judgedFeed) take(u live.Update) {
	f.urgent = f.urgent || len(u.Events) > 0 || u.Status != nil
}

func (f *judgedFeed) packet(now time.Time) (delivery, bool) {
	select {
	case f.table = <-f.answers:
		f.asking, f.changed = false, true
	default:
	}
	if since := now.Sub(f.asked); !f.asking && (since >= judgedSlow || f.urgent && since >= judgedSoon) {
		f.asking, f.urgent, f.asked = true, false, now
		go f.ask()
	}
	if f.table == nil || !f.changed && now.Sub(f.sent) < heartbeat {
		return delivery{}, false
	}
	f.changed, f.sent = false, now
	return delivery{frame: f.table, include: data.IncludeAll}, true
}

// ask ends with the stream: there is room for its one answer, whether somebody takes it or not.
func (f *judgedFeed) ask() {
	ctx, cancel := context.WithTimeout(f.ctx, judgingMost)
	defer cancel()
	f.answers <- f.answer(ctx)
}

// healthFeed continues the health of a scope: an error that an agent tells is judged within about a second.
func (d *Datasource) healthFeed(c channel, q query.Query) (feed, error) {
	var o healthOptions
	if err := q.DecodeOptions(&o); err != nil {
		return nil, err
	}
	if !o.streams() {
		return nil, fmt.Errorf("%w: of health only the table of GPUs is streamed", errNoChannel)
	}
	selected := selectNodes(q.Scope)
	selected.Events = true
	empty := func(o frames.Options) *data.Frame { return healthTable(nil, o) }
	return &judgedFeed{
		selected: selected, empty: empty(frames.Options{}),
		answer: d.answerNow(c, q, d.health, "Health could not be judged: ", empty),
	}, nil
}

// answerNow makes the first frame of a query's answer over the range of its panel up to now. Where there is none it is empty, and
// says why.
func (d *Datasource) answerNow(c channel, q query.Query, answer func(context.Context, request) (data.Frames, error), failed string,
	empty func(frames.Options) *data.Frame,
) func(context.Context) *data.Frame {
	span := time.Duration(c.RangeMs) * time.Millisecond
	return func(ctx context.Context) *data.Frame {
		now := d.now()
		asked := q
		asked.Live = false // the answer of a stream has none of its own
		all, err := answer(ctx, request{query: asked, now: now, window: query.WindowOptions{
			From: now.Add(-span), To: now, ScrapeInterval: d.settings.ScrapeInterval,
		}})
		if err == nil && len(all) == 0 {
			err = errors.New("there is no answer")
		}
		if err != nil {
			return empty(frames.Options{Notices: d.shown([]gpu.Notice{{Severity: gpu.Error, Text: failed + err.Error()}})})
		}
		return all[0]
	}
}

// streams reports whether the answer has the table of GPUs, which is its first frame then.
func (o healthOptions) streams() bool { return o.Show == "" || o.Show == "gpus" }

// goesOnJudging is the channel that continues the table of GPUs of a panel that ends at now.
func (j *judgement) goesOnJudging(ctx context.Context, o healthOptions, rows int) (any, []gpu.Notice) {
	r := j.request
	if !r.query.Live || !j.gathered.live || !o.streams() || !reachOf(r.query, r.window.From, r.window.To, r.now).continues {
		return nil, nil
	}
	return j.goesOn(ctx, r, rows, modeReplace, j.gathered.history)
}
