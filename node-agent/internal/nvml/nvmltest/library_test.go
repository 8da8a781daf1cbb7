package nvmltest_test

import (
	"context"
	"debug/elf"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/device/devicetest"
	nvmlsource "github.com/warpwatch/warpwatch/node-agent/internal/nvml"
)

// What is tested here goes through dlopen, as it does on a node. go-nvml binds functions once in a process, and a function
// that is missing ends it, so each case is a process: this test program, started again with these two set.
const (
	caseVariable    = "WARPWATCH_TEST_CASE"
	libraryVariable = "WARPWATCH_TEST_LIBRARY"
	modeVariable    = "FAKE_NVML_MODE"
	secondsVariable = "FAKE_NVML_SECONDS"
)

// cases are what a child does. The library's variant is "new", "old", or "none" for a file that is not there.
var cases = map[string]struct {
	library, mode string
	run           func(*testing.T)
}{
	"conformance":                {library: "new", run: conformance},
	"conformance, old driver":    {library: "old", run: conformance},
	"a call that is not guarded": {library: "old", run: unguarded},
	"lost":                       {library: "new", run: lost},
	"mismatch":                   {library: "new", mode: "mismatch", run: refused(device.ErrMismatch, "ERROR_LIB_RM_VERSION_MISMATCH")},
	"stub":                       {library: "new", mode: "stub", run: refused(device.ErrNoDriver, "stub that comes with CUDA")},
	"no library":                 {library: "none", run: refused(device.ErrNoDriver, "libnvidia-ml.so.1 is missing")},
	"late":                       {library: "old", mode: "late", run: late},
	"hang":                       {library: "new", run: hang},
}

func TestRealLibrary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NVML is loaded at run time on Linux only")
	}
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler to make a library with")
	}
	libraries := map[string]string{"none": filepath.Join(t.TempDir(), "libnvidia-ml.so.1")}
	for variant, flags := range map[string][]string{"new": nil, "old": {"-DOLD"}} {
		libraries[variant] = filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
		args := append(flags, "-shared", "-fPIC", "-o", libraries[variant], filepath.Join("testdata", "library", "nvml.c"))
		out, err := exec.Command(compiler, args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestInChild$", "-test.v")
			child.Env = append(os.Environ(), caseVariable+"="+name, libraryVariable+"="+libraries[c.library],
				modeVariable+"="+c.mode, secondsVariable+"=0") // both are there already, so that setting them later moves nothing
			out, err := child.CombinedOutput()
			if name == "a call that is not guarded" {
				require.Error(t, err, "the process survived a missing function, so nothing here proves that calls are guarded")
				assert.Contains(t, string(out), "undefined symbol: nvmlDeviceGetMarginTemperature")
				return
			}
			require.NoError(t, err, string(out))
			assert.Contains(t, string(out), "--- PASS: TestInChild")
		})
	}
}

func TestInChild(t *testing.T) {
	c, ok := cases[os.Getenv(caseVariable)]
	if !ok {
		t.Skip("for TestRealLibrary")
	}
	c.run(t)
}

// loaded is a source over the real go-nvml, whose time is set.
func loaded(t *testing.T) devicetest.Harness {
	t.Helper()
	began := time.Unix(1_800_000_000, 0)
	now := began
	return devicetest.Harness{
		Source: nvmlsource.New(nvml.New(nvml.WithLibraryPath(os.Getenv(libraryVariable))), nvmlsource.Options{
			Proc: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
		}),
		Advance: func(d time.Duration) time.Time {
			now = now.Add(d)
			// With cgo this reaches the library's getenv.
			t.Setenv(secondsVariable, strconv.FormatFloat(now.Sub(began).Seconds(), 'f', 3, 64))
			return now
		},
	}
}

func conformance(t *testing.T) { devicetest.Run(t, loaded) }

// unguarded shows what the guards are for.
func unguarded(t *testing.T) {
	api := nvml.New(nvml.WithLibraryPath(os.Getenv(libraryVariable)))
	require.Equal(t, nvml.SUCCESS, api.Init())
	d, ret := api.DeviceGetHandleByIndex(0)
	require.Equal(t, nvml.SUCCESS, ret)
	_, _ = d.GetMarginTemperature()
}

func refused(kind error, words string) func(*testing.T) {
	return func(t *testing.T) {
		h := loaded(t)
		for range 3 { // trying again is safe
			err := h.Source.Open(t.Context())
			require.ErrorIs(t, err, kind)
			assert.Contains(t, err.Error(), words)
		}
	}
}

func inventory(t *testing.T, h devicetest.Harness) device.Inventory {
	t.Helper()
	found, err := h.Source.Inventory(t.Context())
	require.NoError(t, err)
	return found
}

// lost: GPU 1 falls off the bus and comes back; GPU 0 does not notice.
func lost(t *testing.T) {
	h := loaded(t)
	require.NoError(t, h.Source.Open(t.Context()))
	boards := inventory(t, h).Boards
	require.Len(t, boards, 2)
	sample := func(i int) error {
		return boards[i].Sample(t.Context(), h.Advance(time.Second), device.AllGroups, &device.Sample{Values: make([]device.Values, 1)})
	}
	require.NoError(t, sample(1))
	t.Setenv(modeVariable, "lost")
	require.ErrorIs(t, sample(1), device.ErrLost)
	require.NoError(t, sample(0))
	found := inventory(t, h)
	assert.Len(t, found.Boards, 1)
	require.Len(t, found.Unreadable, 1)
	require.ErrorIs(t, found.Unreadable[0], device.ErrLost)
	t.Setenv(modeVariable, "")
	require.NoError(t, sample(1))
	assert.Len(t, inventory(t, h).Boards, 2)
	require.NoError(t, h.Source.Close())
}

// late: there is no GPU when the library is opened, and one soon after.
func late(t *testing.T) {
	h := loaded(t)
	require.NoError(t, h.Source.Open(t.Context()))
	assert.Empty(t, inventory(t, h).Boards)
	assert.Len(t, inventory(t, h).Boards, 1)
	require.NoError(t, h.Source.Close())
}

// A function that is bound when the program starts, and is missing, ends the program before it can look.
func TestFunctionsAreBoundLate(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NVML is loaded at run time on Linux only")
	}
	program, err := elf.Open(os.Args[0])
	require.NoError(t, err)
	defer func() { require.NoError(t, program.Close()) }()
	flags, err := program.DynValue(elf.DT_FLAGS)
	require.NoError(t, err)
	flags1, err := program.DynValue(elf.DT_FLAGS_1)
	require.NoError(t, err)
	now, err := program.DynValue(elf.DT_BIND_NOW)
	require.NoError(t, err)
	for _, f := range append(flags, flags1...) {
		assert.Zero(t, f&uint64(elf.DF_BIND_NOW)|f&uint64(elf.DF_1_NOW),
			"this toolchain binds all functions at start; build with -ldflags '-extldflags=-Wl,-z,lazy'")
	}
	assert.Empty(t, now, strings.TrimSpace("DT_BIND_NOW is set"))
}
