package collect

import (
	"context"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// entry is a physical GPU that was seen since the agent started. One that is gone stays, as lost: a GPU that disappears
// from every chart is what nobody notices.
type entry struct {
	devices   []gpu.Device
	board     device.Board // nil when the driver does not list it any more
	worker    *worker      // nil without a board
	values    []device.Values
	fresh     bool      // values were measured for the tick that is published next
	busySince time.Time // zero when the worker is free
	condition snapshot.Condition
	lastXID   uint64
	xids      []snapshot.XIDCount
}

// fill makes all readings absent for one reason.
func (e *entry) fill(why gpu.State) {
	for i := range e.values {
		e.values[i].Fill(why)
	}
	e.fresh = true
}

// settle makes the values fit to be published: nothing is repeated, and the last XID is known whatever the board does.
func (e *entry) settle(heard bool) {
	if !e.fresh {
		e.fill(readingState(e.condition.State))
	}
	last := &e.values[0][device.XIDLast]
	switch {
	case last.OK():
	case heard || e.lastXID != 0:
		*last = gpu.Read(float64(e.lastXID))
	case last.State == gpu.NoData:
		*last = gpu.Absent(gpu.NotSupported)
	}
}

// readingState is the state of readings of a board that was not measured.
func readingState(s snapshot.State) gpu.State {
	switch s {
	case snapshot.StateLost, snapshot.StateHung:
		return gpu.Lost
	case snapshot.StateNoAccess:
		return gpu.NoPermission
	default:
		return gpu.NoData
	}
}

// start gives the worker a sample to take, and reports whether there will be an answer.
func (e *entry) start(at time.Time) bool {
	if e.worker == nil || !e.busySince.IsZero() {
		return false
	}
	e.busySince = time.Now()
	e.worker.jobs <- at // has room: the worker is free
	return true
}

// retire lets the worker go. It ends once the call that it may be in comes back.
func (e *entry) retire() {
	if e.worker != nil {
		close(e.worker.jobs)
		e.worker = nil
	}
	e.board, e.busySince = nil, time.Time{}
}

// count notes an XID error.
func (e *entry) count(code uint64, at time.Time) {
	e.lastXID = code
	i, known := slices.BinarySearchFunc(e.xids, code, func(x snapshot.XIDCount, code uint64) int {
		switch {
		case x.Code < code:
			return -1
		case x.Code > code:
			return 1
		}
		return 0
	})
	if !known {
		e.xids = slices.Insert(e.xids, i, snapshot.XIDCount{Code: code})
	}
	e.xids[i].Count++
	e.xids[i].Last = at
}

// worker samples one board.
type worker struct {
	uuid  string
	board device.Board
	jobs  chan time.Time
}

// result is a worker's answer. Its values are the worker's, and hold until the worker is given the next job.
type result struct {
	worker *worker
	at     time.Time
	values []device.Values
	err    error
	took   time.Duration
}

// hire starts a worker for a board. It ends when its jobs are closed.
func (c *Collector) hire(board device.Board) *worker {
	devices := board.Devices()
	w := &worker{uuid: devices[0].UUID, board: board, jobs: make(chan time.Time, 1)}
	c.workers.Go(func() {
		sample := device.Sample{Values: make([]device.Values, len(devices))}
		for at := range w.jobs {
			started := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), c.o.HungAfter)
			err := board.Sample(ctx, at, device.AllGroups, &sample)
			cancel()
			r := result{worker: w, at: at, values: sample.Values, err: err, took: time.Since(started)}
			select {
			case c.results <- r:
			case <-c.stopped:
				return
			}
		}
	})
	return w
}
