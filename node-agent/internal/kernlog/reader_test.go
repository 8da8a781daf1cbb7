package kernlog

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

func at(seconds float64) time.Time {
	return now.Add(-200*time.Second + time.Duration(seconds*float64(time.Second))).Round(time.Millisecond)
}

func xid(seconds float64, address string, code uint64, detail string) device.Event {
	return device.Event{Kind: device.EventXID, Time: at(seconds), Origin: device.FromKernel, PCIBusID: address, XID: code, Detail: detail}
}

// eventsOfTheNode are those of testdata/node.kmsg.
func eventsOfTheNode() []device.Event {
	const uuid = "GPU-4d1f8a77-2c10-4a6e-9b2a-5f0f6f3b7c21"
	fault := xid(90, "00000000:1A:00.0", 31, "Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC3 GPCCLIENT_T1_9 faulted @ "+
		"0x7f2a_44000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ [pid 48213, python3]")
	fault.UUID = uuid
	mig := xid(91, "00000000:1B:00.0", 13, "Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address")
	mig.GPUInstance, mig.ComputeInstance = "5", "0"
	recovery := xid(100, "00000000:1A:00.0", 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
	recovery.UUID = uuid
	return []device.Event{
		fault,
		mig,
		xid(92, "00000008:01:00.0", 145, "NVLink RLW_SRC_TRACK, nonfatal, link 3 "+
			"(XC1 i0 0x040868e2 0x00000008 0x00000000 0x00000000 0x00000000 0x00000000) [pid 11436, cache_mgr_main]"),
		xid(93, "00000008:01:00.0", 149, "NVLink NETIR, fatal, no single link "+
			"(XC0 i0 0x000fe406 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"),
		{
			Kind: device.EventLogMatched, Time: at(94), Origin: device.FromKernel,
			Detail: "NVSwitch 3 (00000000:05:00.0) SXid 12028: Non-fatal, Link 32 egress non-posted PRIV error (First)",
		},
		xid(95, "00000000:3B:00.0", 79, "GPU has fallen off the bus."),
		xid(99, "00000000:B3:00.0", 79, "GPU has fallen off the bus (the driver said so without an Xid)"),
		recovery,
	}
}

func TestWhatTheLogHeldBeforeIsHistory(t *testing.T) {
	b := newBench(Options{})
	require.ErrorIs(t, b.play(t, recorded(t, "node.kmsg", false)), context.Canceled)
	assert.Equal(t, eventsOfTheNode(), b.history)
	assert.Empty(t, b.live)
	assert.NoError(t, testutil.GatherAndCompare(b.registry, strings.NewReader(`
# HELP warpwatch_agent_kernel_log_lost_records_total Records of the kernel log that were overwritten before the agent read them, or too long.
# TYPE warpwatch_agent_kernel_log_lost_records_total counter
warpwatch_agent_kernel_log_lost_records_total 0
# HELP warpwatch_agent_kernel_log_not_understood_total Messages of the NVIDIA driver that look like an XID but have a form that the agent does not know.
# TYPE warpwatch_agent_kernel_log_not_understood_total counter
warpwatch_agent_kernel_log_not_understood_total 1
# HELP warpwatch_agent_kernel_log_records_total Records read of the kernel log, of which few are the NVIDIA driver's.
# TYPE warpwatch_agent_kernel_log_records_total counter
warpwatch_agent_kernel_log_records_total 20
`)))
	problems, err := testutil.GatherAndLint(b.registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
}

func TestWhatComesAfterIsNot(t *testing.T) {
	b := newBench(Options{})
	steps := recorded(t, "node.kmsg", false)
	steps[5].waited = true // the record before the first XID; the rest comes in one burst
	require.ErrorIs(t, b.play(t, steps), context.Canceled)
	assert.Empty(t, b.history)
	require.Len(t, b.live, len(eventsOfTheNode()))
	assert.Equal(t, now, b.live[0].Time, "it came when the one before it was waited for")
	for _, e := range b.live {
		assert.False(t, e.Time.After(now), "%v is in the future", e.Time)
	}
}

func TestHistoryBeforeSinceIsLeftOut(t *testing.T) {
	b := newBench(Options{Since: at(95)})
	require.ErrorIs(t, b.play(t, recorded(t, "node.kmsg", false)), context.Canceled)
	assert.Equal(t, eventsOfTheNode()[5:], b.history)

	quiet := New(Options{})
	quiet.clock.now = fixedClock
	steps := append(recorded(t, "node.kmsg", false), step{err: context.Canceled})
	err := quiet.read(t.Context(), quiet.kmsg(&fakeDevice{steps: steps}), func(e device.Event) { t.Errorf("reported %v", e) })
	assert.ErrorIs(t, err, context.Canceled)
}

func TestRunGoesOnWhereItStopped(t *testing.T) {
	b := newBench(Options{})
	steps := recorded(t, "node.kmsg", false)
	first := append(steps[:7:7], step{record: "6,107,90000100,-;nothing", waited: true}, step{err: unix.EIO})
	require.ErrorIs(t, b.play(t, first), unix.EIO)
	require.Len(t, b.history, 1)
	// The log is opened anew, and read from its start.
	require.ErrorIs(t, b.play(t, append(steps[:7:7], steps[8:]...)), context.Canceled)
	assert.Len(t, b.history, 1, "nothing is history twice")
	assert.Len(t, b.live, len(eventsOfTheNode())-2, "what came meanwhile was counted by nobody")
	assert.EqualValues(t, 20, testutil.ToFloat64(b.figures.records))
	assert.Zero(t, testutil.ToFloat64(b.figures.lost))
}

func TestOverwrittenRecordsAreCounted(t *testing.T) {
	b := newBench(Options{})
	require.ErrorIs(t, b.play(t, []step{
		{err: unix.EPIPE}, // before the first, nobody knows how many
		{record: "6,10,1000000,-;a"},
		{err: unix.EPIPE},
		{record: "6,15,1000000,-;b"}, // 11 to 14
		{err: unix.EINVAL},           // 16
		{record: "6,17,1000000,-;c"},
		{record: "no record at all"}, // 18
		{record: "4,19,2000000,-;NVRM: Xid (PCI:0000:1a:00): 48, pid=1, name=x, DBE", waited: true},
	}), context.Canceled)
	assert.EqualValues(t, 6, testutil.ToFloat64(b.figures.lost))
	assert.EqualValues(t, 4, testutil.ToFloat64(b.figures.records))
	require.Len(t, b.live, 1)
	assert.EqualValues(t, 48, b.live[0].XID)
}

func TestADeviceThatIsNoLogIsGivenUp(t *testing.T) {
	for name, s := range map[string]step{"overwritten": {err: unix.EPIPE}, "too long": {err: unix.EINVAL}, "zeros": {record: "\x00\x00\x00"}} {
		steps := make([]step, maxUnread+1)
		for i := range steps {
			steps[i] = s
		}
		err := newBench(Options{}).play(t, steps)
		require.ErrorIs(t, err, device.ErrNotSupported, name)
		assert.ErrorContains(t, err, "mount that")
	}
	var busy []step
	for range maxUnread {
		busy = append(busy, step{err: unix.EPIPE}, step{record: "12,1,1000000,-;a process"})
	}
	require.ErrorIs(t, newBench(Options{}).play(t, busy), context.Canceled, "a log that is overwritten fast is one")

	err := newBench(Options{}).play(t, []step{{}})
	require.ErrorIs(t, err, device.ErrNotSupported)
	assert.ErrorContains(t, err, "it is empty")
}

func TestOnlyTheKernelIsBelieved(t *testing.T) {
	for _, priority := range []string{"12", "14", "30", "86", "4294967295"} {
		b := newBench(Options{})
		require.ErrorIs(t, b.play(t, []step{
			{record: priority + ",1,1000000,-;NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.", waited: true},
		}), context.Canceled)
		assert.Empty(t, b.live, "priority %s", priority)
	}
	for _, text := range []string{
		"python3: NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.",
		"usb 1-1: Product: NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.",
		"audit: comm=\"NVRM: GPU 0000:1a:00.0: GPU has fallen off the bus.\"",
	} {
		assert.Equal(t, unrelated, parseMessage(text).kind, text)
	}
}
