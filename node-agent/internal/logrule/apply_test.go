package logrule

import (
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newTestReader(t testing.TB, emit func(device.Event), rules ...Rule) *Reader {
	t.Helper()
	r, err := newReader(Options{Rules: rules, Emit: emit, Logger: quiet()}, func(string) (string, error) { return "", os.ErrNotExist })
	require.NoError(t, err)
	return r
}

func expect(t *testing.T, r *Reader, want string) {
	t.Helper()
	assert.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(want)))
}

func TestATrainersLog(t *testing.T) {
	var events []device.Event
	r := newTestReader(t, func(e device.Event) { events = append(events, e) }, loadRules(t)...)
	log, err := os.ReadFile("testdata/train.log")
	require.NoError(t, err)
	now := time.Now()
	for line := range strings.Lines(string(log)) {
		for _, rule := range r.files.rules {
			rule.apply([]byte(strings.TrimRight(line, "\n")), now)
		}
	}
	expect(t, r, `
# HELP nccl_warnings_total Warnings of NCCL, by the file of its source that gives them.
# TYPE nccl_warnings_total counter
nccl_warnings_total{place="net_ib.cc"} 1
nccl_warnings_total{place="socket.cc"} 1
# HELP train_loss Loss that the trainer printed last.
# TYPE train_loss gauge
train_loss{source="log"} 2.31
# HELP train_ooms_total Times that PyTorch ran out of GPU memory.
# TYPE train_ooms_total counter
train_ooms_total{gpu_index="3"} 1
# HELP train_tokens_per_second Tokens per second that the trainer printed last.
# TYPE train_tokens_per_second gauge
train_tokens_per_second{source="log"} 120000
`)
	problems, err := testutil.GatherAndLint(r)
	require.NoError(t, err)
	assert.Empty(t, problems)
	require.Len(t, events, 2)
	assert.Equal(t, device.Event{
		Kind: device.EventLogMatched, Origin: device.FromLog, Time: now,
		Detail: "nccl_warning: node7:4121:4188 [3] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.7<45113> failed : Software caused connection abort",
	}, events[0])
	assert.EqualValues(t, 2, testutil.ToFloat64(r.own.matches.WithLabelValues("train_loss")))
}

func TestALossThatIsNoNumberIsSeen(t *testing.T) {
	r := newTestReader(t, nil, loadRules(t)...)
	r.files.rules[0].apply([]byte("step: 13 loss: nan"), time.Now())
	families, err := r.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	assert.True(t, math.IsNaN(families[0].GetMetric()[0].GetGauge().GetValue()))
}

func TestValuesThatCannotBeUsed(t *testing.T) {
	r := newTestReader(t, nil, Rule{Name: "x_total", Type: Counter, Files: []string{"/x"}, Match: `x=(?P<x>\S*)`, Value: "x"})
	rule := r.files.rules[0]
	for _, line := range []string{"x=abc", "x=", "x=-1", "x=NaN", "x=+Inf", "y=1", "x=2", "x=3.5"} {
		rule.apply([]byte(line), time.Now())
	}
	expect(t, r, `
# HELP x_total Read from a log by the rule x_total.
# TYPE x_total counter
x_total 5.5
`)
	assert.EqualValues(t, 5, testutil.ToFloat64(r.own.refused.WithLabelValues("x_total", refusedValue)))
	assert.EqualValues(t, 7, testutil.ToFloat64(r.own.matches.WithLabelValues("x_total")))
}

func TestSeriesAreBounded(t *testing.T) {
	r := newTestReader(t, nil, Rule{
		Name: "step", Type: Gauge, Files: []string{"/x"}, Match: `job=(?P<job>\S+) step=(?P<n>\d+)`, Value: "n",
		Labels: map[string]string{"job_id": "$job"}, MaxSeries: 2, MaxAge: time.Minute,
	})
	rule := r.files.rules[0]
	start := time.Now().Add(-2 * time.Minute)
	rule.apply([]byte("job=a step=1"), start)
	rule.apply([]byte("job=b step=1"), start.Add(90*time.Second))
	rule.apply([]byte("job=c step=1"), start)
	assert.EqualValues(t, 1, testutil.ToFloat64(r.own.refused.WithLabelValues("step", refusedSeries)))
	rule.apply([]byte("job=c step=2"), start.Add(100*time.Second)) // a is too old now
	expect(t, r, `
# HELP step Read from a log by the rule step.
# TYPE step gauge
step{job_id="b"} 1
step{job_id="c"} 2
`)
	assert.EqualValues(t, 1, testutil.ToFloat64(r.own.refused.WithLabelValues("step", refusedSeries)))
}

func TestAGaugeThatIsNotSetAnyMoreIsGone(t *testing.T) {
	r := newTestReader(t, nil, Rule{Name: "loss", Type: Gauge, Files: []string{"/x"}, Match: "x"})
	r.files.rules[0].apply([]byte("x"), time.Now().Add(-time.Hour))
	families, err := r.Gather()
	require.NoError(t, err)
	assert.Empty(t, families)
}

func TestEvents(t *testing.T) {
	var events []device.Event
	r := newTestReader(t, func(e device.Event) { events = append(events, e) }, Rule{
		Name: "trouble", Type: Event, Files: []string{"/x"}, Match: `(?P<gpu_uuid>GPU-\S+)(?: Xid (?P<xid>\d+))?`, MaxEventsPerMinute: 3,
	})
	rule := r.files.rules[0]
	now := time.Unix(1_800_000_000, 0)
	rule.apply([]byte("\x1b[31mon GPU-12345678-1234-1234-1234-123456789abc Xid 79\x00"), now)
	rule.apply([]byte("GPU-oops "+strings.Repeat("ä", 1000)), now)
	for range 5 {
		rule.apply([]byte("GPU-x"), now)
	}
	require.Len(t, events, 3)
	assert.Equal(t, device.Event{
		Kind: device.EventLogMatched, Time: now, Origin: device.FromLog, UUID: "GPU-12345678-1234-1234-1234-123456789abc", XID: 79,
		Detail: "trouble: [31mon GPU-12345678-1234-1234-1234-123456789abc Xid 79",
	}, events[0])
	assert.Empty(t, events[1].UUID)
	assert.LessOrEqual(t, len(events[1].Detail), maxDetail)
	assert.True(t, utf8.ValidString(events[1].Detail))
	assert.EqualValues(t, 4, testutil.ToFloat64(r.own.refused.WithLabelValues("trouble", refusedRate)))
	rule.apply([]byte("GPU-x"), now.Add(time.Minute))
	assert.Len(t, events, 4)
}

func TestLabelsOfTheNodeAreOnEverySeries(t *testing.T) {
	own := prometheus.NewRegistry()
	r, err := New(Options{
		Rules:  []Rule{{Name: "x_total", Type: Counter, Files: []string{"/x"}, Match: "x", Labels: map[string]string{"kind": "y"}}},
		Labels: prometheus.Labels{"node": "n1"}, Registerer: own, Logger: quiet(),
	})
	require.NoError(t, err)
	expect(t, r, `
# HELP x_total Read from a log by the rule x_total.
# TYPE x_total counter
x_total{kind="y",node="n1"} 0
`)
	problems, err := testutil.GatherAndLint(own)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// Whatever a line holds, what comes of it is bounded and can be exposed.
func FuzzApply(f *testing.F) {
	log, err := os.ReadFile("testdata/train.log")
	require.NoError(f, err)
	for line := range strings.Lines(string(log)) {
		f.Add(line)
	}
	f.Add("job=\xff\xfe step=1e400 GPU-\x00")
	rules := append(loadRules(f)[:5],
		Rule{Name: "any", Type: Gauge, Files: []string{"/x"}, Match: `(?P<a>\S+)\s*(?P<b>.*)`, Labels: map[string]string{"a": "$a", "b": "$b"}},
		Rule{Name: "sum_total", Type: Counter, Files: []string{"/x"}, Match: `(?P<n>[-\d.einfa]+)`, Value: "n", MaxLine: 64})
	f.Fuzz(func(t *testing.T, text string) {
		r := newTestReader(t, func(e device.Event) {
			if len(e.Detail) > maxDetail || !utf8.ValidString(e.Detail) || strings.ContainsAny(e.Detail, "\n\r\x00\x1b") {
				t.Errorf("detail %q", e.Detail)
			}
		}, rules...)
		s := splitter{limit: defaultMaxLine, tooLong: func() {}, line: func(line []byte) {
			for _, rule := range r.files.rules {
				rule.apply(line, time.Now())
			}
		}}
		s.write([]byte(text + "\n"))
		_, err := r.Gather()
		require.NoError(t, err)
	})
}
