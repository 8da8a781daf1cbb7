package clock

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Read asks the kernel. It needs no rights, as it sets nothing.
func Read() (State, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return State{}, fmt.Errorf("read the state of the clock: %w", err)
	}
	return stateOf(state, &t), nil
}

// timeError is the state of a clock that nobody keeps right (TIME_ERROR in timex.h).
const timeError = 5

// stateOf is what the kernel's numbers mean: the offset is in microseconds, or nanoseconds when its status says so, and
// the error in microseconds always.
func stateOf(state int, t *unix.Timex) State {
	unit := 1e-6
	if t.Status&unix.STA_NANO != 0 {
		unit = 1e-9
	}
	return State{
		Offset: float64(t.Offset) * unit, Error: float64(t.Maxerror) * 1e-6,
		Synchronized: state != timeError && t.Status&unix.STA_UNSYNC == 0,
	}
}
