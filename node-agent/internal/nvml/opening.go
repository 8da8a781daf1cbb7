package nvml

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// openPatience is how long a GPU may take to say who it is. One that was idle without persistence mode needs some seconds.
const openPatience = 5 * time.Second

// opening is a GPU that is being asked who it is. A driver that hangs for one GPU must not keep the others from being listed.
type opening struct {
	done  chan struct{} // closed when it is answered
	board *board
	err   error
}

// board is GPU i. When it does not answer, that is the board that was there before, whose samples will tell.
func (s *Source) board(ctx context.Context, i int) (*board, error) {
	o, late := s.openings[i]
	if !late {
		o = &opening{done: make(chan struct{})}
		s.openings[i] = o
		known, driver := slices.Clone(s.boards), s.driver
		go func() {
			defer close(o.done)
			o.board, o.err = openBoard(s.lib, i, driver, known)
		}()
	}
	patience := openPatience
	if late { // nobody waits for it twice
		patience = 0
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-o.done:
		delete(s.openings, i)
		return o.board, o.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	for _, b := range s.boards {
		if b.devices[0].Index == i {
			return b, nil
		}
	}
	return nil, fmt.Errorf("open GPU %d: a call to the driver does not come back; the node may need a reboot", i)
}

// openBoard reads who GPU i is, and returns the board that is known already when it is still the same.
func openBoard(lib *library, i int, driver string, known []*board) (*board, error) {
	handle, ret := lib.api.DeviceGetHandleByIndex(i)
	if ret != nvml.SUCCESS {
		return nil, failure(fmt.Sprintf("open GPU %d", i), ret)
	}
	devices, err := describe(lib, handle, i, driver)
	if err != nil {
		return nil, err
	}
	for _, b := range known {
		if slices.Equal(b.devices, devices) {
			return b, nil
		}
	}
	return newBoard(lib, handle, devices), nil
}

// closeOpenings forgets the GPUs that answered late. While one does not, NVML must not be closed.
func (s *Source) closeOpenings() error {
	for i, o := range s.openings {
		select {
		case <-o.done:
			delete(s.openings, i)
		default:
			return fmt.Errorf("close NVML: a call to the driver for GPU %d does not come back", i)
		}
	}
	return nil
}
