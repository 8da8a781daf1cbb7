package server

import (
	"context"
	"encoding/hex"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// events reads until the event with a number, and answers all that came, with how many were dropped.
func (r *reader) events(until uint64) (seqs []uint64, dropped uint64) {
	r.t.Helper()
	for len(seqs) == 0 || seqs[len(seqs)-1] < until {
		m := r.next().GetEvents()
		dropped += m.GetDropped()
		for _, e := range m.GetEvents() {
			seqs = append(seqs, e.GetSeq())
		}
	}
	return seqs, dropped
}

func TestStreamSendsEvents(t *testing.T) {
	b := newBench(t, people)
	b.tick()
	for code := uint64(1); code <= 3; code++ {
		b.server.o.Events.Append(xid(code))
	}
	r := b.dial(&wire.Request{Events: true})
	seqs, dropped := r.events(3)
	assert.Equal(t, []uint64{1, 2, 3}, seqs)
	assert.Zero(t, dropped)
	assert.NotNil(t, r.schema, "the schema comes before everything")
	b.server.o.Events.Append(device.Event{
		Kind: device.EventLost, Time: start, Origin: device.FromAgent, UUID: "GPU-0", GPUInstance: "0", Detail: "bad \xff text",
	})
	for {
		if m := r.next().GetEvents(); m != nil {
			want := &wire.Event{
				Seq: 4, TimeUnixMs: start.UnixMilli(), Kind: "lost", Origin: "agent", Uuid: "GPU-0", GpuInstance: proto.Uint32(0),
				Detail: "bad \uFFFD text",
			}
			require.True(t, proto.Equal(want, m.GetEvents()[0]), m)
			break
		}
	}
	resumed := b.dial(&wire.Request{ResumeEpoch: "epoch-1", ResumeAfter: 1, Events: true, EventsAfter: 2})
	seqs, _ = resumed.events(4)
	assert.Equal(t, []uint64{3, 4}, seqs)
	other := b.dial(&wire.Request{ResumeEpoch: "an agent before", Events: true, EventsAfter: 2})
	seqs, _ = other.events(4)
	assert.Equal(t, []uint64{1, 2, 3, 4}, seqs)

	for code := uint64(5); code <= 9; code++ {
		b.server.o.Events.Append(xid(code))
	}
	late := b.dial(&wire.Request{ResumeEpoch: "epoch-1", Events: true, EventsAfter: 3})
	seqs, dropped = late.events(9)
	assert.Equal(t, []uint64{6, 7, 8, 9}, seqs)
	assert.EqualValues(t, 2, dropped, "those that the log forgot are counted")
}

func TestManyEventsAreSeveralMessages(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Events = snapshot.NewEventLog(1000) })
	for range 600 {
		b.server.o.Events.Append(xid(31))
	}
	r := b.dial(&wire.Request{Events: true})
	messages := 0
	for seen := uint64(0); seen < 600; {
		if m := r.next().GetEvents(); m != nil {
			messages++
			assert.Equal(t, seen+1, m.GetEvents()[0].GetSeq())
			seen = m.GetEvents()[len(m.GetEvents())-1].GetSeq()
		}
	}
	assert.Equal(t, 3, messages)
}

func TestStreamSendsProcessesAndOwners(t *testing.T) {
	b := newBench(t, people)
	b.tick()
	b.server.o.Processes.Set(processes())
	r := b.dial(&wire.Request{Processes: true, Owners: true})
	var m *wire.Processes
	for m == nil {
		m = r.next().GetProcesses()
	}
	require.Len(t, m.GetProcesses(), 1, "of the devices that the schema has")
	p := m.GetProcesses()[0]
	assert.EqualValues(t, 7, p.GetPid())
	assert.EqualValues(t, 1<<30, p.GetMemoryBytes())
	assert.Nil(t, p.SmRatio)
	assert.Equal(t, "17", p.GetOwner().GetSlurmJob())

	// Other devices: the indices of the list are of the newest schema.
	b.devices(board(1), board(0))
	b.tick()
	for m = nil; m == nil; {
		m = r.next().GetProcesses()
	}
	require.Len(t, m.GetProcesses(), 2)
	assert.EqualValues(t, 1, m.GetProcesses()[0].GetDevice())
	assert.Len(t, r.schema.GetDevices(), 2)

	b.server.o.Owners.Set(&snapshot.OwnerList{Time: start, Owners: []device.Owner{
		{UUID: "GPU-0", Namespace: "ml", Pod: "p", Conflict: device.NotGiven}, {UUID: "GPU-9"},
	}})
	var owners *wire.Owners
	for owners == nil {
		owners = r.next().GetOwners()
	}
	require.Len(t, owners.GetOwners(), 1)
	assert.EqualValues(t, 1, owners.GetOwners()[0].GetDevice())
	assert.Equal(t, "p", owners.GetOwners()[0].GetOwner().GetPod())
	assert.Equal(t, "not_given", owners.GetOwners()[0].GetOwner().GetConflict())
	_, body := b.get("/api/v1/owners", nil)
	assert.Contains(t, body, `"conflict": "not_given"`)
}

// A reader that asks for samples alone, as those before did, gets nothing else.
func TestOldReadersGetSamplesAlone(t *testing.T) {
	b := newBench(t, people)
	b.server.o.Events.Append(xid(79))
	b.server.o.Processes.Set(processes())
	b.server.o.Owners.Set(&snapshot.OwnerList{})
	// What a reader built before there were events sends: resume_epoch, resume_after, backfill_ms and reader.
	old, err := hex.DecodeString("0a0165" + "1001" + "18e807" + "220374" + "6573")
	require.NoError(t, err)
	r := b.dial(nil)
	require.NoError(t, r.conn.Write(t.Context(), websocket.MessageBinary, old[:len(old)-1]))
	_, _, err = r.conn.Read(t.Context())
	assert.Equal(t, websocket.StatusUnsupportedData, websocket.CloseStatus(err), "cut off, it is no request")
	r = b.dial(nil)
	require.NoError(t, r.conn.Write(t.Context(), websocket.MessageBinary, old))
	for range 5 {
		b.tick()
		b.server.o.Events.Append(xid(31))
		r.until(b.store.Newest().Seq)
	}
	r.ask(&wire.Request{BackfillMs: 1000, Events: true})
	seqs, _ := r.events(6)
	assert.Equal(t, []uint64{3, 4, 5, 6}, seqs, "the first message with events comes after they were asked for")
}

// A reader that asks an agent that has none of it.
func TestAskingForWhatIsNotThere(t *testing.T) {
	b := newBench(t, nil)
	b.tick()
	r := b.dial(&wire.Request{Events: true, Processes: true, Owners: true})
	r.until(1)
	b.tick()
	r.until(2)
}

func TestReadersPerAddress(t *testing.T) {
	b := newBench(t, func(o *Options) { o.MaxPerRemote = 1 })
	b.tick()
	r := b.dial(&wire.Request{})
	r.until(1)
	status, body := b.get("/api/v1/stream", nil)
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "this agent serves 1 readers at 127.0.0.1, which is its limit for one address: close some", body)
	assert.NoError(t, b.server.admit("192.0.2.1"))
	b.server.leave("192.0.2.1")
	assert.NotContains(t, b.server.remotes, "192.0.2.1")
}

// Whatever a reader sends is refused, or starts a stream that is in order.
func FuzzRequest(f *testing.F) {
	for _, r := range []*wire.Request{
		{}, {ResumeEpoch: "epoch-1", ResumeAfter: 3, Events: true, EventsAfter: 2, Processes: true, Owners: true},
		{BackfillMs: 1 << 63, Reader: "x"}, {ResumeEpoch: "epoch-1", ResumeAfter: 1 << 63, Events: true, EventsAfter: 1 << 63},
	} {
		body, err := proto.Marshal(r)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Add([]byte{0xff})
	events := snapshot.NewEventLog(4)
	for range 6 {
		events.Append(xid(31))
	}
	b := newFuzzBench(f)
	b.server.o.Events = events
	f.Fuzz(func(t *testing.T, body []byte) {
		var r wire.Request
		if proto.Unmarshal(body, &r) != nil {
			return
		}
		sub := &subscriber{server: b.server}
		sub.ask(&r)
		if sub.after > b.store.Newest().Seq || sub.beside.events.after > 6 {
			t.Fatalf("starts after sample %d and event %d", sub.after, sub.beside.events.after)
		}
	})
}

// newFuzzBench is a server with five samples, which is only asked.
func newFuzzBench(f *testing.F) *bench {
	f.Helper()
	b := newBench(f, nil)
	for range 5 {
		b.tick()
	}
	return b
}

// Queries are refused or answered, whatever is in them.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{"after=3", "metric=gpu_power_watts&since=3s", "metric=%ff&since=-1h", "after=-0", "for=2m", ";"} {
		f.Add(query)
	}
	b := newFuzzBench(f)
	f.Fuzz(func(t *testing.T, query string) {
		for path, h := range map[string]http.HandlerFunc{"/events": b.server.events, "/ring": b.server.ring} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://agent"+path, nil)
			require.NoError(t, err)
			r.URL.RawQuery = query
			w := &answer{header: http.Header{}, status: 200}
			h(w, r)
			if w.status >= 500 {
				t.Fatalf("%s?%q: %d", path, query, w.status)
			}
		}
	})
}

// answer keeps the status alone.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(p []byte) (int, error) { return len(p), nil }
func (a *answer) WriteHeader(status int)      { a.status = status }

// An event wakes a reader up that waits for samples, and a heartbeat is not sent meanwhile.
func TestEventsDoNotWaitForSamples(t *testing.T) {
	b := newBench(t, people)
	b.tick()
	r := b.dial(&wire.Request{Events: true})
	r.until(1)
	b.server.o.Events.Append(xid(79))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less than a heartbeat
	defer cancel()
	_, body, err := r.conn.Read(ctx)
	require.NoError(t, err)
	var m wire.Message
	require.NoError(t, proto.Unmarshal(body, &m))
	assert.EqualValues(t, 79, m.GetEvents().GetEvents()[0].GetXid())
}
