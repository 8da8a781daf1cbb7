// Package kernlog reads what the NVIDIA driver writes to the kernel log: XIDs, among them those that NVML does not report,
// because the GPU is gone, the agent may not listen, or the driver wrote no Xid line at all.
package kernlog

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// DefaultPath is the kernel's log.
const DefaultPath = "/dev/kmsg"

// Options of a Reader.
//
// What was in the log before the reader first came to its end is history. It goes to History, with its own time, and
// never to emit: an error of ten minutes before the agent's start is worth showing, but the agent before this one has
// counted it, and a counter that starts with it would count it again. Where the line is drawn depends on the log alone
// and on no clock. When Run is called again it goes on where it stopped, and what came meanwhile is no history.
type Options struct {
	// Path is a device like /dev/kmsg, which is the default, or a file to which syslog writes the kernel's messages.
	// In a file it is syslog's word who wrote a line: one that holds the kernel's messages alone, as kern.log does, is
	// more to be believed than one in which processes may choose what they are called.
	Path string
	// Since bounds how old history may be; the zero value allows all that the log still holds.
	Since time.Time
	// History is called for events of history, by Run. They are left out when it is nil.
	History func(device.Event)
	// Registerer takes the reader's own figures, unless it is nil.
	Registerer prometheus.Registerer
}

// Reader turns the kernel log into events.
type Reader struct {
	options  Options
	figures  *figures
	driver   *driver
	position position
	clock    clock
	follower *follower
}

// New returns a reader that has not begun.
func New(o Options) *Reader {
	if o.Path == "" {
		o.Path = DefaultPath
	}
	f := newFigures(o.Registerer)
	return &Reader{
		options: o, figures: f, driver: newDriver(), clock: clock{now: systemClock}, follower: newFollower(o.Path, f),
	}
}

// source is a log that is open.
type source interface {
	// next waits for what the kernel wrote next, until ctx ends.
	next(ctx context.Context) (entry, error)
	close() error
}

// entry is one message of the kernel.
type entry struct {
	at   time.Time
	text string
	old  bool // it was there before the reader
}

// Run reads until ctx ends, and returns its error. It returns early when the log cannot be read, with an error that says
// what to grant and wraps device.ErrNoPermission or device.ErrNotSupported where one fits. It may be called again, but not
// twice at once.
//
// Events carry the place of the GPU in PCIBusID, and its UUID only where the driver wrote it down. An XID that NVML reports
// comes from here too: who counts must take them for one.
func (r *Reader) Run(ctx context.Context, emit func(device.Event)) error {
	log, err := r.open()
	if err != nil {
		return err
	}
	defer func() { _ = log.close() }() // nothing was written
	return r.read(ctx, log, emit)
}

func (r *Reader) read(ctx context.Context, log source, emit func(device.Event)) error {
	for {
		e, err := log.next(ctx)
		if err != nil {
			return err
		}
		event, kind, found := r.driver.event(e.text, e.at)
		switch {
		case kind == notUnderstood:
			r.figures.notUnderstood.Inc()
		case !found:
		case !e.old:
			emit(event)
		case r.options.History != nil && !event.Time.Before(r.options.Since):
			r.options.History(event)
		}
	}
}

func (r *Reader) kmsg(d recordReader) *kmsg {
	return &kmsg{device: d, position: &r.position, clock: &r.clock, figures: r.figures}
}
