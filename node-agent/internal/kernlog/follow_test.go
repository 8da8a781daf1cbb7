package kernlog

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// kernLog is a file that is followed.
type kernLog struct {
	t    *testing.T
	path string
	*bench
	cancel context.CancelFunc
	done   chan error
}

func newKernLog(t *testing.T, before string) *kernLog {
	k := &kernLog{t: t, path: filepath.Join(t.TempDir(), "kern.log")}
	require.NoError(t, os.WriteFile(k.path, []byte(before), 0o600))
	k.bench = newBench(Options{Path: k.path})
	return k
}

// run follows the file in the bubble of a test, until stop.
func (k *kernLog) run() {
	ctx, cancel := context.WithCancel(k.t.Context())
	k.cancel, k.done = cancel, make(chan error, 1)
	go func() { k.done <- k.Run(ctx, func(e device.Event) { k.live = append(k.live, e) }) }()
	synctest.Wait()
}

func (k *kernLog) stop() {
	k.cancel()
	assert.ErrorIs(k.t, <-k.done, context.Canceled)
}

// write appends, and lets the reader find it.
func (k *kernLog) write(text string) {
	k.t.Helper()
	f, err := os.OpenFile(k.path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(k.t, err)
	_, err = f.WriteString(text)
	require.NoError(k.t, err)
	require.NoError(k.t, f.Close())
	k.poll()
}

func (k *kernLog) poll() {
	time.Sleep(pollFile)
	synctest.Wait()
}

func line(code string) string {
	return time.Now().Format(time.RFC3339Nano) + " node-a kernel: [1.0] NVRM: Xid (PCI:0000:1a:00): " + code + ", pid=1, name=a, b\n"
}

func codes(events []device.Event) []uint64 {
	var all []uint64
	for _, e := range events {
		all = append(all, e.XID)
	}
	return all
}

func TestAFileIsFollowed(t *testing.T) {
	before, err := os.ReadFile("testdata/kern.log")
	require.NoError(t, err)
	// The bubble's clock begins in the year 2000.
	text := strings.ReplaceAll(string(before), "2026-11-30", "1999-11-30")
	synctest.Test(t, func(t *testing.T) {
		k := newKernLog(t, text)
		k.run()
		assert.Equal(t, []uint64{43, 79}, codes(k.history))
		assert.Equal(t, time.Date(1999, 11, 30, 6, 0, 3, 500e6, time.UTC), k.history[0].Time.UTC())
		assert.Empty(t, k.live)

		k.write(line("13")[:60])
		assert.Empty(t, k.live, "half a line")
		k.write(line("13")[60:])
		assert.Equal(t, []uint64{13}, codes(k.live))
		k.write(strings.Repeat("x", 3*maxLine) + "\n" + line("31"))
		assert.Equal(t, []uint64{13, 31}, codes(k.live))
		assert.EqualValues(t, 1, testutil.ToFloat64(k.figures.lost), "a line that is too long")
		k.stop()
		assert.Equal(t, []uint64{43, 79}, codes(k.history))
	})
}

func TestAFileIsFollowedWhenItIsRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKernLog(t, line("13"))
		k.run()
		// The daemon goes on with the old file for a while, and there is no new one.
		require.NoError(t, os.Rename(k.path, k.path+".1"))
		old, err := os.OpenFile(k.path+".1", os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = old.WriteString(line("31"))
		require.NoError(t, err)
		k.poll()
		assert.Equal(t, []uint64{31}, codes(k.live))
		_, err = old.WriteString(line("43"))
		require.NoError(t, err)
		require.NoError(t, old.Close())
		k.write(line("45"))
		assert.Equal(t, []uint64{31, 43, 45}, codes(k.live))

		// Some empty the file instead.
		require.NoError(t, os.Truncate(k.path, 0))
		k.poll()
		k.write(line("48"))
		assert.Equal(t, []uint64{31, 43, 45, 48}, codes(k.live))
		k.stop()

		// While nobody reads, too.
		k.write(line("62"))
		k.run()
		assert.Equal(t, []uint64{31, 43, 45, 48, 62}, codes(k.live))
		k.stop()
		require.NoError(t, os.Remove(k.path))
		k.write(line("63"))
		k.run()
		assert.Equal(t, []uint64{31, 43, 45, 48, 62, 63}, codes(k.live))
		k.stop()
		assert.Equal(t, []uint64{13}, codes(k.history))
	})
}

func TestOnlyTheEndOfALongFileIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const filler = "Nov 30 07:00:04 node-a systemd[1]: Started a unit.\n"
		early, late := line("13"), line("31")
		// The end begins within a line, with what looks like one.
		end := early + late + strings.Repeat(filler, maxTail/len(filler))
		k := newKernLog(t, early+"x: "+end[:maxTail-1]+"\n")
		k.run()
		assert.Equal(t, []uint64{31}, codes(k.history))
		assert.EqualValues(t, strings.Count(end[:maxTail-1], "\n"), testutil.ToFloat64(k.figures.records))
		k.stop()
	})
}
