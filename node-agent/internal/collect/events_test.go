package collect

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// fakeKernel is a kernel log; breaks fails the next runs.
type fakeKernel struct {
	events chan device.Event
	breaks int
}

func (f *fakeKernel) Run(ctx context.Context, emit func(device.Event)) error {
	if f.breaks > 0 {
		f.breaks--
		return errors.New("the log was taken away")
	}
	for {
		select {
		case e := <-f.events:
			emit(e)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// withKernel runs beside a kernel log; boards know their places.
func withKernel(t *testing.T, breaks int, body func(*bench, *fakeKernel)) {
	t.Helper()
	var kernel *fakeKernel
	runWith(t, 2, func(o *Options) {
		kernel = &fakeKernel{events: make(chan device.Event), breaks: breaks}
		o.Sources = []EventSource{kernel}
	}, func(b *bench) {
		for i, board := range b.boards {
			board.devices[0].PCIBusID = fmt.Sprintf("00000000:%X:00.0", 0x1a+i)
		}
		b.wait(3500 * time.Millisecond)
		body(b, kernel)
	})
}

func nvmlXID(board int, code uint64) device.Event {
	return device.Event{Kind: device.EventXID, UUID: fmt.Sprintf("GPU-%d", board), XID: code, Time: time.Now()}
}

func kernelXID(board int, code uint64, detail string) device.Event {
	return device.Event{
		Kind: device.EventXID, Origin: device.FromKernel, PCIBusID: fmt.Sprintf("0000:%x:00", 0x1a+board), XID: code, Time: time.Now(), Detail: detail,
	}
}

func TestOneXIDThatTwoReportIsOne(t *testing.T) {
	withKernel(t, 0, func(b *bench, kernel *fakeKernel) {
		b.source.events <- nvmlXID(0, 31)
		b.wait(100 * time.Millisecond)
		kernel.events <- kernelXID(0, 31, "pid=12, MMU fault")
		kernel.events <- kernelXID(1, 31, "pid=13, MMU fault") // another board
		b.source.events <- nvmlXID(1, 31)
		b.source.events <- nvmlXID(0, 31) // once more, of which the kernel is silent
		b.wait(time.Second)
		assert.Equal(t, []string{
			"GPU-0 xid nvml 31: pid=12, MMU fault", "GPU-1 xid kernel 31: pid=13, MMU fault",
		}, b.happened(), "the last one waits for what the kernel has to say")
		b.wait(4 * time.Second)
		assert.Equal(t, []string{
			"GPU-0 xid nvml 31: pid=12, MMU fault", "GPU-1 xid kernel 31: pid=13, MMU fault", "GPU-0 xid nvml 31",
		}, b.happened())
		assert.EqualValues(t, 2, b.board(0).XIDs[0].Count)
		assert.EqualValues(t, 1, b.board(1).XIDs[0].Count)

		b.wait(10 * time.Second)
		kernel.events <- kernelXID(0, 31, "pid=12, again") // much later is another
		b.wait(time.Second)
		assert.EqualValues(t, 3, b.board(0).XIDs[0].Count)
	})
}

func TestWithoutAnotherSourceXIDsDoNotWait(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.wait(2 * time.Second)
		b.source.events <- nvmlXID(0, 31)
		b.wait(0)
		assert.Equal(t, []string{"GPU-0 xid nvml 31"}, b.happened())
	})
}

func TestThePastCountsForNothing(t *testing.T) {
	withKernel(t, 0, func(b *bench, _ *fakeKernel) {
		old := kernelXID(0, 48, "DBE")
		old.Time = time.Now().Add(-time.Hour)
		b.collector.Past(old)
		b.wait(time.Second)
		assert.Equal(t, []string{"GPU-0 xid kernel 48: DBE"}, b.happened())
		assert.Empty(t, b.board(0).XIDs)
		assert.Zero(t, b.board(0).LastXID)
	})
}

// What comes before the devices are known waits for them.
func TestEarlyEvents(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.boards[0].devices[0].PCIBusID = "00000000:1A:00.0"
		go b.collector.Past(kernelXID(0, 48, "DBE"))
		b.wait(2 * time.Second)
		assert.Equal(t, []string{"GPU-0 xid kernel 48: DBE"}, b.happened())
	})
}

func TestABrokenSourceOfEventsIsTriedAgain(t *testing.T) {
	withKernel(t, 1, func(b *bench, kernel *fakeKernel) {
		kernel.events <- kernelXID(0, 48, "DBE")
		b.wait(time.Second)
		assert.EqualValues(t, 1, b.board(0).XIDs[0].Count)
	})
}

// The kernel says why a board is gone, before and after it is seen to be gone.
func TestFallenOffTheBus(t *testing.T) {
	withKernel(t, 0, func(b *bench, kernel *fakeKernel) {
		const said = "GPU has fallen off the bus."
		kernel.events <- kernelXID(0, 79, said)
		for _, board := range b.boards {
			board.set(func() { board.err = fmt.Errorf("sample: %w", device.ErrLost) })
		}
		b.wait(2 * time.Second)
		kernel.events <- kernelXID(1, 79, said)
		b.wait(2 * time.Second)
		for i := range b.boards {
			assert.Equal(t, "XID 79: "+said+"; sample: the GPU does not answer", b.board(i).Condition.Reason)
		}
		b.boards[0].set(func() { b.boards[0].err = nil })
		b.wait(2 * time.Second)
		b.boards[0].set(func() { b.boards[0].err = fmt.Errorf("sample: %w", device.ErrLost) })
		b.wait(2 * time.Second)
		assert.Equal(t, "sample: the GPU does not answer", b.board(0).Condition.Reason, "that was another time")
	})
}

// A board that comes and goes is lost once, and returns once it stays.
func TestFlappingBoard(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.wait(3500 * time.Millisecond)
		for range 20 {
			b.boards[0].set(func() { b.boards[0].err = fmt.Errorf("sample: %w", device.ErrLost) })
			b.wait(time.Second)
			assert.Equal(t, snapshot.StateLost, b.board(0).Condition.State)
			b.boards[0].set(func() { b.boards[0].err = nil })
			b.wait(time.Second)
			assert.True(t, b.power(0).OK())
			assert.Equal(t, snapshot.StateOK, b.board(0).Condition.State)
		}
		assert.Equal(t, []string{"GPU-0 lost agent: sample: the GPU does not answer"}, b.happened())
		back := b.board(0).Condition.Since
		b.wait(7 * time.Second)
		require.Len(t, b.happened(), 2)
		events, _, _ := b.events.After(1, nil)
		assert.Equal(t, device.EventReturned, events[0].Kind)
		assert.Equal(t, back, events[0].Time)
		assert.Equal(t, []device.EventKind{device.EventLost, device.EventReturned}, kinds(b.board(0).Events))
	})
}

func kinds(counts []snapshot.EventCount) []device.EventKind {
	var all []device.EventKind
	for _, c := range counts {
		all = append(all, c.Kind)
	}
	return all
}

func TestReadingsBecomeEvents(t *testing.T) {
	run(t, 1, func(b *bench) {
		read := func(m device.Metric, v float64) {
			b.boards[0].set(func() { b.boards[0].readings[m] = v })
		}
		b.boards[0].readings = map[device.Metric]float64{
			device.RecoveryAction: 0, device.ECCUncorrected: 7, device.RowRemapPending: 0, device.RowRemapFailure: 0,
		}
		b.wait(6 * time.Second)
		assert.Empty(t, b.happened(), "how it was found is no event")
		read(device.ECCUncorrected, 9)
		read(device.RecoveryAction, 1)
		read(device.RowRemapPending, 1)
		b.wait(31 * time.Second)
		assert.ElementsMatch(t, []string{
			"GPU-0 ecc_uncorrected agent: 2 more uncorrected memory errors",
			"GPU-0 recovery_action_changed agent: none → GPU reset",
			"GPU-0 page_retired agent: a row remapping is pending: it takes effect when the GPU is reset",
		}, b.happened())
		read(device.ECCUncorrected, 0) // counted anew after a reset
		read(device.RowRemapPending, 0)
		b.wait(31 * time.Second)
		assert.Len(t, b.happened(), 3)

		// The driver said it itself: that is enough.
		b.source.events <- device.Event{Kind: device.EventECCUncorrected, UUID: "GPU-0", Time: time.Now()}
		read(device.ECCUncorrected, 1)
		b.wait(6 * time.Second)
		assert.Equal(t, []string{"GPU-0 ecc_uncorrected nvml"}, b.happened()[3:])
		assert.EqualValues(t, 2, b.board(0).Events[0].Count)
	})
}

func TestMIGChangeIsOneEvent(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.wait(1500 * time.Millisecond)
		split := func(profile string, ids ...string) *fakeBoard {
			board := newBoard(0)
			board.devices[0].MIGEnabled = true
			for _, id := range ids {
				d := board.devices[0]
				d.GPUInstance, d.ComputeInstance, d.MIGProfile = id, "0", profile
				board.devices = append(board.devices, d)
			}
			return board
		}
		b.source.set(func() { b.source.boards = []device.Board{split("3g.71gb", "1", "2")} })
		b.source.events <- device.Event{Kind: device.EventLayoutChanged, UUID: "GPU-0", Time: time.Now()}
		b.wait(2 * time.Second)
		assert.Equal(t, []string{"GPU-0 mig_layout_changed nvml: MIG mode on; created 3g.71gb #1/0, 3g.71gb #2/0"}, b.happened())

		b.source.set(func() { b.source.boards = []device.Board{split("1g.18gb", "2", "7")} })
		b.wait(11 * time.Second)
		assert.Equal(t, "GPU-0 mig_layout_changed agent: created 1g.18gb #2/0, 1g.18gb #7/0; destroyed 3g.71gb #1/0, 3g.71gb #2/0", b.happened()[1])

		b.source.events <- device.Event{Kind: device.EventLayoutChanged, UUID: "GPU-0", Time: time.Now()}
		b.wait(time.Second)
		assert.Equal(t, "GPU-0 mig_layout_changed nvml", b.happened()[2], "the driver says so, whatever is seen of it")
	})
}

// A thousand errors of one kind leave room for others.
func TestEventStorm(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.wait(2500 * time.Millisecond)
		for range 1000 {
			b.source.events <- nvmlXID(0, 13)
		}
		b.source.events <- nvmlXID(0, 48)
		for range 2 * eventBurst {
			b.collector.Emit(device.Event{Kind: device.EventLogMatched, Origin: device.FromLog, Detail: "nccl: slow"}) // limited by its rule
		}
		b.wait(time.Second)
		assert.Len(t, b.happened(), eventBurst+1+2*eventBurst)
		assert.EqualValues(t, 1000, b.board(0).XIDs[0].Count)
		suppressed, err := b.figure("warpwatch_agent_events_suppressed_total")
		require.NoError(t, err)
		assert.Equal(t, 1000.0-eventBurst, suppressed)
	})
}

func TestPlacesOnTheBus(t *testing.T) {
	for address, want := range map[string]string{
		"00000000:1A:00.0": "0:1a:00", "0000:1a:00": "0:1a:00", "0001:1a:00.0": "1:1a:00", "1a:00.0": "0:1a:00", "": "", "nonsense": "",
	} {
		assert.Equal(t, want, busPlace(address), address)
	}
}
