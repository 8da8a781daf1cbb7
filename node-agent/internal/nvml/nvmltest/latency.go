package nvmltest

import (
	"time"

	"golang.org/x/sys/unix"
)

// spend lets a call take its time the way a driver does: the thread waits in the kernel, as it does in a call of cgo.
func (m *Machine) spend(call string) {
	d, ok := m.spec.Latency[call]
	if !ok {
		d = m.spec.Latency["*"]
	}
	if d <= 0 {
		return
	}
	wait := unix.NsecToTimespec(int64(d / time.Nanosecond))
	for unix.Nanosleep(&wait, &wait) == unix.EINTR {
		continue
	}
}
