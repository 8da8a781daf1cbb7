package kernlog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// pair is a device and its other end: like /dev/kmsg, each read gives what was written at once.
func pair(t *testing.T) (*kmsgDevice, *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	d, err := newKmsgDevice(os.NewFile(uintptr(fds[0]), "kmsg"))
	require.NoError(t, err)
	other := os.NewFile(uintptr(fds[1]), "kernel")
	t.Cleanup(func() {
		_ = d.close()
		other.Close()
	})
	return d, other
}

func TestTheDeviceIsWaitedFor(t *testing.T) {
	d, kernel := pair(t)
	b := newBench(Options{})
	_, err := kernel.WriteString("4,1,1000000,-;NVRM: Xid (PCI:0000:1a:00): 13, pid=1, name=a, old")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan device.Event)
	b.options.History = func(e device.Event) { events <- e }
	done := make(chan error)
	go func() { done <- b.read(ctx, b.kmsg(d), func(e device.Event) { events <- e }) }()
	assert.EqualValues(t, 13, (<-events).XID)
	_, err = kernel.WriteString("4,2,1000000,-;NVRM: Xid (PCI:0000:1a:00): 31, pid=1, name=a, new")
	require.NoError(t, err)
	assert.EqualValues(t, 31, (<-events).XID)
	cancel() // while it waits, or before it does
	assert.ErrorIs(t, <-done, context.Canceled)
}

func TestAReadThatWaitsEndsWithItsContext(t *testing.T) {
	d, _ := pair(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := d.read(ctx, make([]byte, maxRecord))
	assert.ErrorIs(t, err, context.Canceled)
}

func TestTheKernelsOwnLog(t *testing.T) {
	d, err := openKmsg(DefaultPath)
	if err != nil {
		t.Skipf("needs the kernel's log: %v", err)
	}
	r := New(Options{})
	log := r.kmsg(d)
	defer func() { _ = log.close() }()
	ctx, cancel := context.WithCancel(t.Context())
	_, before := systemClock()
	require.Positive(t, before)
	e, err := log.next(ctx)
	if errors.Is(err, device.ErrNotSupported) {
		t.Skipf("needs the kernel's log: %v", err)
	}
	require.NoError(t, err)
	assert.NotEmpty(t, e.text)
	wall, _ := systemClock()
	assert.False(t, e.at.After(wall.Add(1e6)), "%v is after %v", e.at, wall)
	cancel()
	_, err = log.next(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestWhatCannotBeOpenedSaysWhatToGrant(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: DefaultPath, Err: syscall.EPERM}
	for err, want := range map[error]struct {
		kind error
		text string
	}{
		openFailure(DefaultPath, denied, grantDevice): {
			device.ErrNoPermission, "open /dev/kmsg: no permission (EPERM): grant CAP_SYSLOG (AmbientCapabilities= of the systemd unit; " +
				"capabilities.add: [SYSLOG] of the container, which must be allowed to use the device too), or set kernel.dmesg_restrict=0; " +
				"without it XIDs come from NVML alone",
		},
		openFailure("/var/log/kern.log", denied, grantFile): {
			device.ErrNoPermission, "open /var/log/kern.log: no permission (EPERM): let the agent's user read it; without it XIDs come from NVML alone",
		},
	} {
		assert.ErrorIs(t, err, want.kind)
		assert.EqualError(t, err, want.text)
	}

	nowhere := filepath.Join(t.TempDir(), "kmsg")
	err := New(Options{Path: nowhere}).Run(t.Context(), nil)
	assert.ErrorIs(t, err, device.ErrNotSupported)
	assert.ErrorContains(t, err, "(ENOENT): mount the host's /dev/kmsg, or name the file that syslog writes")

	err = New(Options{Path: t.TempDir()}).Run(t.Context(), nil)
	assert.ErrorIs(t, err, device.ErrNotSupported)
	assert.ErrorContains(t, err, "must be /dev/kmsg or a file")

	// What a container runtime puts in the place of devices that it hides.
	for _, other := range []string{"/dev/null", "/dev/zero"} {
		err := New(Options{Path: other}).Run(t.Context(), nil)
		assert.ErrorIs(t, err, device.ErrNotSupported)
		assert.ErrorContains(t, err, "not the host's /dev/kmsg")
	}
}
