package nvmltest

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// longestBusy is up to how long a driver keeps the processor during a call; in longer ones it waits for something. Most calls
// ask the GPU's own processor and poll for the answer.
const longestBusy = time.Millisecond

// Spent is the processor's time that calls took in place of a driver, as their threads measured it: what a test that measures
// the agent may leave out. It is there with Options.Slow only.
func (m *Machine) Spent() time.Duration { return time.Duration(m.spent.Load()) }

// threadTime is the processor's time that the calling thread had.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// account measures what the fake does from now until the returned function is called. The goroutine keeps its thread
// meanwhile, so that what others do while it waits is not counted.
func (m *Machine) account() (end func()) {
	if !m.slow {
		return func() {}
	}
	runtime.LockOSThread()
	before := threadTime()
	return func() {
		m.spent.Add(int64(threadTime() - before))
		runtime.UnlockOSThread()
	}
}

// spend lets a call take its time the way a driver does: short ones keep the processor, long ones wait in the kernel.
func (m *Machine) spend(call string) {
	if !m.slow {
		return
	}
	d, ok := m.spec.Latency[call]
	if !ok {
		d = m.spec.Latency["*"]
	}
	if d <= longestBusy {
		for began := time.Now(); time.Since(began) < d; {
			continue
		}
		return
	}
	wait := unix.NsecToTimespec(int64(d / time.Nanosecond))
	for unix.Nanosleep(&wait, &wait) == unix.EINTR {
		continue
	}
}
