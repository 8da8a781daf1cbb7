package collect

import (
	"context"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

// worker samples one board.
type worker struct {
	uuid  string
	board device.Board
	jobs  chan job
}

// job is what a worker is asked for.
type job struct {
	at     time.Time
	groups device.Groups
	list   bool          // the processes too
	names  bool          // and who they are
	limit  time.Duration // how long it may take
}

// result is a worker's answer. Its sample is the worker's, and holds until the worker is given the next job.
type result struct {
	job
	worker *worker
	sample *device.Sample
	err    error
	took   time.Duration

	processes []snapshot.Process // nobody changes them any more
	nameless  int
	listErr   error
}

// hire starts a worker for a board. It ends when its jobs are closed.
func (c *Collector) hire(board device.Board) *worker {
	devices := board.Devices()
	w := &worker{uuid: devices[0].UUID, board: board, jobs: make(chan job, 1)}
	c.workers.Go(func() {
		sample := device.Sample{Values: make([]device.Values, len(devices))}
		var raw []device.Process
		for j := range w.jobs {
			started := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), j.limit)
			r := result{job: j, worker: w, sample: &sample}
			sample.Extents = sample.Extents[:0]
			r.err = board.Sample(ctx, j.at, j.groups, &sample)
			if j.list && r.err == nil {
				raw, r.listErr = board.Processes(ctx, raw[:0])
				r.processes, r.nameless = c.describe(w.uuid, raw, j.names)
			}
			cancel()
			r.took = time.Since(started)
			select {
			case c.results <- r:
			case <-c.stopped:
				return
			}
		}
	})
	return w
}
