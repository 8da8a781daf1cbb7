// Package nvml reads GPUs through the NVIDIA driver's management library. It is the agent's only package with cgo.
//
// The library is opened at run time, and its functions are bound when first called: a function that the installed driver
// lacks would end the process there ("symbol lookup error"). Every call is therefore looked up before its first use, see
// symbols.go. The binary must be linked with lazy binding, which is the default of most toolchains and must be asked for
// where it is not: go build -ldflags '-extldflags=-Wl,-z,lazy'. (The flag cannot stand in a cgo directive; Go does not
// accept it there.)
//
// A driver that is upgraded under the agent: its kernel module and library no longer match, and calls begin to fail. Close
// and Open again is what can be done, and it works as far as dlopen does. Close gives up go-nvml's handle on the library;
// but glibc never unloads a library to which symbols of the program itself were bound, so Open finds the old one still in
// memory and answers ErrMismatch until the agent is restarted. Where the library is missing at first, Open finds it as soon
// as it is there.
package nvml

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// Options change what a Source looks at. The zero value is right for a node.
type Options struct {
	// Proc is where the proc file system is mounted, "/proc" when empty. The kernel lists the GPUs there that it has,
	// which may be more than the library saw when it was opened.
	Proc   string
	Logger *slog.Logger // slog.Default() when nil
	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

// Source is the driver of this node. It implements device.Source.
type Source struct {
	lib      *library
	proc     string
	log      *slog.Logger
	driver   string
	versions device.Versions
	boards   []*board // in NVML's order
	openings map[int]*opening
	kernel   int // how many GPUs the kernel listed when the library was opened
	// changes counts how often other boards were listed, for those who listen to their events.
	changes atomic.Int64
	// registering is how many GPUs are being put into a set of events.
	registering atomic.Int32
}

// New wraps the library; nvml.New() is the real one. Nothing is loaded until Open.
func New(api nvml.Interface, o Options) *Source {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Source{lib: newLibrary(api, o), proc: o.Proc, log: o.Logger, openings: map[int]*opening{}}
}

// Name implements device.Source.
func (s *Source) Name() string { return "nvml" }

// Open implements device.Source.
func (s *Source) Open(context.Context) error {
	s.lib.forget()
	s.boards = nil
	const act = "open NVML"
	if ret := s.lib.api.Init(); ret != nvml.SUCCESS && ret != nvml.ERROR_ALREADY_INITIALIZED {
		return failure(act, ret)
	}
	s.driver = ""
	if s.lib.has(callDriverVersion) {
		version, ret := s.lib.api.SystemGetDriverVersion()
		if ret != nvml.SUCCESS {
			return errors.Join(failure("read the driver's version", ret), s.Close())
		}
		s.driver = version
	}
	for _, c := range []call{callCount, callHandle, callUUID} {
		if !s.lib.has(c) {
			return errors.Join(fmt.Errorf("%s: the library lacks %s: %w", act, symbols[c][0], device.ErrNotSupported), s.Close())
		}
	}
	s.versions = s.lib.versions()
	s.kernel = s.kernelCount()
	return nil
}

// Close implements device.Source.
func (s *Source) Close() error {
	for _, b := range s.boards {
		b.release()
	}
	s.boards = nil
	if err := s.closeOpenings(); err != nil {
		return err
	}
	if s.registering.Load() > 0 {
		return errors.New("close NVML: a call to the driver that listens for events does not come back")
	}
	if ret := s.lib.api.Shutdown(); ret != nvml.SUCCESS && ret != nvml.ERROR_UNINITIALIZED {
		return failure("close NVML", ret)
	}
	return nil
}

// Inventory implements device.Source.
func (s *Source) Inventory(ctx context.Context) (device.Inventory, error) {
	if n := s.kernelCount(); n > s.kernel {
		return device.Inventory{}, fmt.Errorf("list GPUs: the kernel has %d, it had %d: %w", n, s.kernel, device.ErrChanged)
	}
	count, ret := s.lib.api.DeviceGetCount()
	switch {
	case ret == nvml.ERROR_UNINITIALIZED:
		return device.Inventory{}, fmt.Errorf("count GPUs: NVML was shut down: %w", device.ErrChanged)
	case ret != nvml.SUCCESS:
		return device.Inventory{}, failure("count GPUs", ret)
	}
	found := device.Inventory{Driver: s.driver, Versions: s.versions}
	var boards []*board
	for i := range count {
		b, err := s.board(ctx, i)
		if ctx.Err() != nil {
			return device.Inventory{}, ctx.Err()
		}
		if err != nil {
			found.Unreadable = append(found.Unreadable, err)
			continue
		}
		boards = append(boards, b)
		found.Boards = append(found.Boards, b)
	}
	for _, old := range s.boards {
		if !slices.Contains(boards, old) {
			old.retire()
		}
	}
	if !slices.Equal(s.boards, boards) {
		s.changes.Add(1)
	}
	s.boards = boards
	return found, nil
}

// kernelCount is how many GPUs the kernel module lists, 0 when it does not say.
func (s *Source) kernelCount() int {
	entries, err := os.ReadDir(filepath.Join(s.proc, "driver", "nvidia", "gpus"))
	if err != nil {
		return 0 // no module, or a container that hides it: there is nothing to compare with
	}
	return len(entries)
}
