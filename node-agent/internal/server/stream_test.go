package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/wish"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// reader is the other end of a stream.
type reader struct {
	t       testing.TB
	conn    *websocket.Conn
	schema  *wire.Schema
	decoder *wire.Decoder
	samples []wire.Sample
}

func (b *bench) dial(request *wire.Request) *reader {
	b.t.Helper()
	url := "ws" + strings.TrimPrefix(b.http.URL, "http") + "/api/v1/stream"
	conn, response, err := websocket.Dial(b.t.Context(), url, nil)
	require.NoError(b.t, err)
	if response.Body != nil {
		response.Body.Close()
	}
	conn.SetReadLimit(1 << 22)
	b.t.Cleanup(func() { conn.CloseNow() })
	r := &reader{t: b.t, conn: conn}
	if request != nil {
		r.ask(request)
	}
	return r
}

func (r *reader) ask(request *wire.Request) {
	r.t.Helper()
	body, err := proto.Marshal(request)
	require.NoError(r.t, err)
	require.NoError(r.t, r.conn.Write(r.t.Context(), websocket.MessageBinary, body))
}

// next reads one message, and what it means.
func (r *reader) next() *wire.Message {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
	defer cancel()
	kind, body, err := r.conn.Read(ctx)
	require.NoError(r.t, err)
	require.Equal(r.t, websocket.MessageBinary, kind)
	var m wire.Message
	require.NoError(r.t, proto.Unmarshal(body, &m))
	switch {
	case m.GetSchema() != nil:
		r.schema = m.GetSchema()
		r.decoder, err = wire.NewDecoder(r.schema)
		require.NoError(r.t, err)
	case m.GetBatch() != nil:
		require.NotNil(r.t, r.decoder, "a schema comes first")
		for _, tick := range m.GetBatch().GetTicks() {
			s, err := r.decoder.Decode(tick)
			require.NoError(r.t, err)
			r.samples = append(r.samples, s)
		}
	}
	return &m
}

// until reads until the sample with a sequence number.
func (r *reader) until(seq uint64) {
	r.t.Helper()
	for len(r.samples) == 0 || r.samples[len(r.samples)-1].Seq < seq {
		r.next()
	}
}

func (r *reader) seqs() []uint64 {
	var all []uint64
	for _, s := range r.samples {
		all = append(all, s.Seq)
	}
	return all
}

// power is the reading of a sample's first device.
func (r *reader) power(s wire.Sample) gpu.Reading {
	for i, c := range r.schema.GetColumns() {
		if c.GetMetric() == device.Power.String() {
			return s.Readings[i]
		}
	}
	return gpu.Reading{}
}

func TestStreamBackfillsThenFollows(t *testing.T) {
	b := newBench(t, nil)
	for range 10 {
		b.tick()
	}
	r := b.dial(&wire.Request{BackfillMs: 3000, Reader: "test"})
	r.next()
	assert.Equal(t, "n1", r.schema.GetNode())
	assert.Equal(t, "epoch-1", r.schema.GetEpoch())
	assert.InDelta(t, time.Now().UnixMilli(), r.schema.GetClockUnixMs(), 5000)
	assert.EqualValues(t, 1000, r.schema.GetPeriodMs())
	r.until(10)
	b.tick()
	b.tick()
	r.until(12)
	assert.Equal(t, []uint64{7, 8, 9, 10, 11, 12}, r.seqs())
	for _, s := range r.samples {
		assert.Equal(t, gpu.Read(float64(s.Seq)), r.power(s))
		assert.Equal(t, start.Add(time.Duration(s.Seq)*time.Second).UnixMilli(), s.Time.UnixMilli())
		assert.Zero(t, s.Dropped)
	}
}

func TestStreamResumes(t *testing.T) {
	b := newBench(t, nil)
	for range 10 {
		b.tick()
	}
	r := b.dial(&wire.Request{ResumeEpoch: "epoch-1", ResumeAfter: 4})
	r.until(10)
	assert.Equal(t, []uint64{5, 6, 7, 8, 9, 10}, r.seqs())

	other := b.dial(&wire.Request{ResumeEpoch: "an agent before", ResumeAfter: 4, BackfillMs: 1000})
	other.until(10)
	assert.Equal(t, []uint64{9, 10}, other.seqs())

	future := b.dial(&wire.Request{ResumeEpoch: "epoch-1", ResumeAfter: 4000})
	future.until(10)
	assert.Equal(t, []uint64{10}, future.seqs())

	for range 120 {
		b.tick()
	}
	late := b.dial(&wire.Request{ResumeEpoch: "epoch-1", ResumeAfter: 4})
	late.until(130)
	assert.EqualValues(t, 31, late.samples[0].Seq)
	assert.EqualValues(t, 26, late.samples[0].Dropped, "what the ring does not hold any more is counted")
	assert.Len(t, late.samples, 100)
}

func TestStreamBeforeTheFirstSample(t *testing.T) {
	b := newBench(t, nil)
	r := b.dial(&wire.Request{})
	r.next()
	assert.Empty(t, r.schema.GetDevices())
	b.tick()
	r.until(1)
	assert.Len(t, r.schema.GetDevices(), 1)
}

func TestStreamSendsASchemaWhenDevicesChange(t *testing.T) {
	b := newBench(t, nil)
	b.tick()
	r := b.dial(&wire.Request{})
	r.until(1)
	b.devices(board(0), board(1))
	b.tick()
	r.until(2)
	assert.Len(t, r.schema.GetDevices(), 2)
	assert.Equal(t, gpu.Read(2), r.power(r.samples[1]))

	// A backfill over the change carries both schemas.
	past := b.dial(&wire.Request{BackfillMs: 60_000})
	past.next()
	assert.Len(t, past.schema.GetDevices(), 1)
	past.until(2)
	assert.Len(t, past.schema.GetDevices(), 2)
}

func TestStreamCanBeAskedAgain(t *testing.T) {
	b := newBench(t, nil)
	for range 5 {
		b.tick()
	}
	r := b.dial(&wire.Request{})
	r.until(5)
	r.schema, r.samples = nil, nil
	r.ask(&wire.Request{BackfillMs: 2000})
	r.until(5)
	assert.NotNil(t, r.schema)
	assert.Equal(t, []uint64{3, 4, 5}, r.seqs())
}

// A slow reader loses ticks in the middle, never the newest, and is told how many.
func TestSlowReader(t *testing.T) {
	b := newBench(t, nil)
	b.tick()
	sub := &subscriber{server: b.server}
	sub.ask(&wire.Request{})
	sub.after = 1 // it got the first tick
	for range 50 {
		b.tick()
	}
	p, _, err := sub.next()
	require.NoError(t, err)
	assert.EqualValues(t, 51, p.First)
	assert.EqualValues(t, 51, p.Last)
	assert.EqualValues(t, 49, p.Missed)

	// What was asked for as the past is sent whole.
	sub.ask(&wire.Request{BackfillMs: 60_000})
	p, _, err = sub.next()
	require.NoError(t, err)
	assert.EqualValues(t, 1, p.First)
	assert.EqualValues(t, 51, p.Last)
	assert.Zero(t, p.Missed)
}

func TestMaxSubscribers(t *testing.T) {
	b := newBench(t, func(o *Options) { o.MaxSubscribers = 3 })
	b.tick()
	var readers []*reader
	for range 3 {
		r := b.dial(&wire.Request{})
		r.until(1)
		readers = append(readers, r)
	}
	status, body := b.get("/api/v1/stream", nil)
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "this agent serves 3 readers, which is its limit: raise --web.max-subscribers, or close some", body)
	readers[0].conn.CloseNow()
	require.Eventually(t, func() bool {
		status, _ := b.get("/api/v1/stream", nil)
		return status == http.StatusUpgradeRequired
	}, 5*time.Second, 10*time.Millisecond)
}

func TestBadReaders(t *testing.T) {
	b := newBench(t, nil)
	b.tick()
	for name, c := range map[string]struct {
		kind    websocket.MessageType
		message []byte
		want    websocket.StatusCode
	}{
		"text":     {websocket.MessageText, []byte("hello"), websocket.StatusUnsupportedData},
		"garbage":  {websocket.MessageBinary, []byte{0xff, 0xff, 0xff}, websocket.StatusUnsupportedData},
		"too long": {websocket.MessageBinary, make([]byte, maxRequest+1), websocket.StatusMessageTooBig},
	} {
		t.Run(name, func(t *testing.T) {
			r := b.dial(nil)
			require.NoError(t, r.conn.Write(t.Context(), c.kind, c.message))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, _, err := r.conn.Read(ctx)
			assert.Equal(t, c.want, websocket.CloseStatus(err), "%v", err)
		})
	}
}

func TestOtherSitesCannotRead(t *testing.T) {
	b := newBench(t, nil)
	url := "ws" + strings.TrimPrefix(b.http.URL, "http") + "/api/v1/stream"
	_, response, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {"https://evil.example"}},
	})
	require.Error(t, err)
	_, _ = io.Copy(io.Discard, response.Body)
	assert.Equal(t, http.StatusForbidden, response.StatusCode)
}

func TestStoppingTellsReaders(t *testing.T) {
	b := newBench(t, nil)
	b.tick()
	r := b.dial(&wire.Request{})
	r.until(1)
	go b.server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, _, err := r.conn.Read(ctx)
	assert.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err), "%v", err)
}

// What a reader wishes counts as long as it is there, and a while longer; it may change its mind.
func TestReadersWish(t *testing.T) {
	book := wish.NewBook()
	b := newBench(t, func(o *Options) { o.Wishes = book })
	b.tick()
	r := b.dial(&wire.Request{PeriodMs: 200})
	r.until(1)
	assert.Equal(t, 200*time.Millisecond, book.Period())
	assert.Equal(t, 1, book.Count())
	other := b.dial(&wire.Request{})
	other.until(1)
	assert.Equal(t, 1, book.Count(), "the other has no wish")
	r.samples = nil
	r.ask(&wire.Request{PeriodMs: 100})
	r.until(1)
	assert.Equal(t, 100*time.Millisecond, book.Period())
	r.conn.CloseNow()
	require.Eventually(t, func() bool { return book.Count() == 0 }, 5*time.Second, time.Millisecond)
	assert.Equal(t, 100*time.Millisecond, book.Period(), "for a while")
}

// Another pace is told in a schema, and nothing is lost or told twice over it.
func TestStreamOverAChangeOfPace(t *testing.T) {
	b := newBench(t, nil)
	for range 3 {
		b.tick()
	}
	r := b.dial(&wire.Request{BackfillMs: 60_000})
	r.until(3)
	slow := b.schema
	quick := b.node
	quick.Period, quick.MinPeriod = 100*time.Millisecond, 100*time.Millisecond
	b.schema = b.schema.At(quick)
	for range 4 {
		b.tick()
	}
	r.until(7)
	assert.EqualValues(t, 100, r.schema.GetPeriodMs())
	assert.EqualValues(t, 100, r.schema.GetMinPeriodMs())
	b.schema = slow
	b.tick()
	r.until(8)
	assert.EqualValues(t, 1000, r.schema.GetPeriodMs())
	assert.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 7, 8}, r.seqs())
	for _, s := range r.samples {
		assert.Equal(t, gpu.Read(float64(s.Seq)), r.power(s))
	}
	// So it is for whoever asks for the past later.
	past := b.dial(&wire.Request{BackfillMs: 60_000})
	past.until(8)
	assert.Equal(t, r.seqs(), past.seqs())
}
