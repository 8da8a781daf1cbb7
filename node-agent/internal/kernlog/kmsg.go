package kernlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

const (
	// maxRecord is as long as the kernel lets a record be, with its properties.
	maxRecord = 8192
	// maxUnread is how many reads in a row may fail before what is read is taken for something else than a kernel log.
	maxUnread = 1000
)

// recordReader is /dev/kmsg, or a fake of it.
type recordReader interface {
	// read fills buf with one record. waited: there was none, so that the record is new.
	read(ctx context.Context, buf []byte) (n int, waited bool, err error)
	close() error
}

// position is how far the log was read. It outlives the opening of the device.
type position struct {
	next  uint64 // sequence number
	known bool
	live  bool // everything from before the reader was read
}

// kmsg is the kernel's log from its own device.
type kmsg struct {
	device   recordReader
	position *position
	clock    *clock
	figures  *figures
	buf      [maxRecord]byte
}

func (k *kmsg) close() error { return k.device.close() }

// next implements source.
func (k *kmsg) next(ctx context.Context) (entry, error) {
	for unread := 0; unread < maxUnread; {
		n, waited, err := k.device.read(ctx, k.buf[:])
		switch {
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINVAL):
			// The next record was overwritten, or is too long. The kernel goes on to the one after it, and the gap in the
			// sequence tells how many there were.
			unread++
			continue
		case err != nil:
			return entry{}, err
		case n == 0:
			return entry{}, &device.Error{
				Act: "read the kernel log", Kind: device.ErrNotSupported, Hint: "it is empty, so this is not the host's /dev/kmsg: mount that",
			}
		}
		r, err := parseRecord(k.buf[:n])
		if err != nil {
			unread++
			continue
		}
		unread = 0
		if waited {
			k.position.live = true
			k.clock.arrived(r.stamp)
		}
		if k.passes(r.sequence) && r.fromKernel() {
			return entry{at: k.clock.time(r.stamp), text: r.text, old: !k.position.live}, nil
		}
	}
	return entry{}, &device.Error{
		Act: "read the kernel log", Kind: device.ErrNotSupported,
		Hint: fmt.Sprintf("%d reads in a row gave no record, so this is not the host's /dev/kmsg: mount that", maxUnread),
	}
}

// passes counts a record, and those that are missing before it. It is false for one that was read before.
func (k *kmsg) passes(sequence uint64) bool {
	p := k.position
	if p.known && sequence < p.next {
		return false
	}
	if p.known {
		k.figures.lost.Add(float64(sequence - p.next))
	}
	p.next, p.known = sequence+1, true
	k.figures.records.Inc()
	return true
}

// kmsgDevice is an open device.
type kmsgDevice struct {
	file *os.File
	raw  syscall.RawConn
}

// openKmsg opens a device that gives one record for each read.
func openKmsg(path string) (*kmsgDevice, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, openFailure(path, err, grantDevice)
	}
	d, err := newKmsgDevice(file)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return d, nil
}

func newKmsgDevice(file *os.File) (*kmsgDevice, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &kmsgDevice{file: file, raw: raw}, nil
}

func (d *kmsgDevice) close() error { return d.file.Close() }

// read implements recordReader. The end of ctx interrupts it.
func (d *kmsgDevice) read(ctx context.Context, buf []byte) (n int, waited bool, err error) {
	// A device that cannot be waited for cannot be interrupted either, but it does not make anyone wait.
	stop := context.AfterFunc(ctx, func() { _ = d.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	var failure error
	err = d.raw.Read(func(fd uintptr) bool {
		for {
			n, failure = unix.Read(int(fd), buf)
			if !errors.Is(failure, unix.EINTR) {
				break
			}
		}
		if errors.Is(failure, unix.EAGAIN) {
			waited = true
			return false
		}
		return true
	})
	switch {
	case ctx.Err() != nil:
		return 0, waited, ctx.Err()
	case err != nil:
		return 0, waited, fmt.Errorf("wait for the kernel log: %w", err)
	case failure != nil:
		return 0, waited, fmt.Errorf("read the kernel log: %w", failure)
	}
	return n, waited, nil
}
