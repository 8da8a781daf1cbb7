package kernlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// open opens what is at the path, a device or a file.
func (r *Reader) open() (source, error) {
	path := r.options.Path
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, openFailure(path, err, grantFile)
	case info.Mode()&os.ModeCharDevice != 0:
		d, err := openKmsg(path)
		if err != nil {
			return nil, err
		}
		return r.kmsg(d), nil
	case info.Mode().IsRegular():
		if err := r.follower.open(); err != nil {
			return nil, err
		}
		return r.follower, nil
	default:
		return nil, &device.Error{
			Act: "open " + path, Kind: device.ErrNotSupported, Hint: "must be " + DefaultPath + " or a file that syslog writes the kernel's messages to",
		}
	}
}

// What to grant so that a log can be opened.
const (
	grantDevice = "grant CAP_SYSLOG (AmbientCapabilities= of the systemd unit; capabilities.add: [SYSLOG] of the container, which must be " +
		"allowed to use the device too), or set kernel.dmesg_restrict=0"
	grantFile = "let the agent's user read it"
)

// openFailure says what a log lacks to be opened.
func openFailure(path string, err error, grant string) error {
	failure := &device.Error{Act: "open " + path, Kind: device.ErrNotSupported}
	var code syscall.Errno
	if errors.As(err, &code) {
		failure.Code = unix.ErrnoName(code)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		failure.Kind, failure.Hint = device.ErrNoPermission, grant
	case errors.Is(err, fs.ErrNotExist):
		failure.Hint = "mount the host's " + DefaultPath + ", or name the file that syslog writes the kernel's messages to"
	default:
		return fmt.Errorf("open %s: %w", path, err)
	}
	failure.Hint += "; without it XIDs come from NVML alone"
	return failure
}
