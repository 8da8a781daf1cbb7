//go:build !linux

package clock

import "errors"

// Read is not possible here.
func Read() (State, error) {
	return State{}, errors.New("the state of the clock is known on Linux only")
}
