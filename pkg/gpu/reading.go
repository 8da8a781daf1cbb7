package gpu

// State says whether a measurement was taken, and if not, why.
type State uint8

// The states of a Reading. NoData is the zero value, so that a reading nobody filled in is never taken for a zero.
const (
	NoData       State = iota // nothing was measured: not yet, or not any more
	OK                        // Value holds the measurement
	NotSupported              // the device or its driver does not offer it
	NoPermission              // it is offered, but not to this user
	Lost                      // the device does not answer
)

// String is the state as labels and messages show it.
func (s State) String() string {
	switch s {
	case OK:
		return "ok"
	case NotSupported:
		return "not supported"
	case NoPermission:
		return "no permission"
	case Lost:
		return "lost"
	default:
		return "no data"
	}
}

// Reading is one measurement, or the reason why there is none. Absent is never zero.
type Reading struct {
	Value float64
	State State
}

// Read is a reading that was taken.
func Read(value float64) Reading { return Reading{Value: value, State: OK} }

// Absent is a reading that was not taken.
func Absent(why State) Reading { return Reading{State: why} }

// OK reports whether the reading holds a value.
func (r Reading) OK() bool { return r.State == OK }
