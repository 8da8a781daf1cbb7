package kernlog

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is what one read of the fake device gives.
type step struct {
	record string
	waited bool
	err    error
}

// fakeDevice plays steps, and then waits for the end of the context.
type fakeDevice struct {
	steps  []step
	closed bool
}

func (f *fakeDevice) read(ctx context.Context, buf []byte) (int, bool, error) {
	if len(f.steps) == 0 {
		<-ctx.Done()
		return 0, true, ctx.Err()
	}
	s := f.steps[0]
	f.steps = f.steps[1:]
	return copy(buf, s.record), s.waited, s.err
}

func (f *fakeDevice) close() error {
	f.closed = true
	return nil
}

// recorded are the steps of a file of records, which begin where a line does not begin with a space.
func recorded(t *testing.T, name string, waited bool) []step {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	var steps []step
	for line := range bytes.Lines(text) {
		if line[0] == ' ' {
			steps[len(steps)-1].record += string(line)
		} else {
			steps = append(steps, step{record: string(line), waited: waited})
		}
	}
	return steps
}

// now is the wall clock of the tests, 200 seconds after boot.
var now = time.Date(2026, 11, 30, 7, 3, 20, 0, time.UTC)

func fixedClock() (time.Time, time.Duration) { return now, 200 * time.Second }

// bench is a reader and what came of it.
type bench struct {
	*Reader
	registry      *prometheus.Registry
	live, history []device.Event
}

func newBench(o Options) *bench {
	b := &bench{registry: prometheus.NewRegistry()}
	o.Registerer = b.registry
	o.History = func(e device.Event) { b.history = append(b.history, e) }
	b.Reader = New(o)
	b.clock.now = fixedClock
	return b
}

// play reads steps until there are no more.
func (b *bench) play(t *testing.T, steps []step) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps = append(steps, step{err: context.Canceled})
	return b.read(ctx, b.kmsg(&fakeDevice{steps: steps}), func(e device.Event) { b.live = append(b.live, e) })
}
