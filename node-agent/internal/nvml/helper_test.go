package nvml

import (
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is one of the fake's. It must end with none of NVML's rules broken.
func machine(t *testing.T, name string, change ...func(*nvmltest.Spec)) *nvmltest.Machine {
	t.Helper()
	spec, err := nvmltest.Load(name)
	require.NoError(t, err)
	for _, f := range change {
		f(spec)
	}
	m, err := nvmltest.New(spec, nvmltest.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.Empty(t, m.Violations()) })
	return m
}

func sourceOf(t *testing.T, m *nvmltest.Machine) *Source {
	t.Helper()
	return New(m, Options{Proc: t.TempDir(), Logger: slog.New(slog.DiscardHandler), Now: m.Clock})
}

func opened(t *testing.T, m *nvmltest.Machine) (*Source, []device.Board) {
	t.Helper()
	s := sourceOf(t, m)
	require.NoError(t, s.Open(t.Context()))
	found, err := s.Inventory(t.Context())
	require.NoError(t, err)
	require.Empty(t, found.Unreadable)
	return s, found.Boards
}

// take samples some groups after some time, all after a second by default.
func take(t *testing.T, m *nvmltest.Machine, b device.Board, groups ...device.Group) []device.Values {
	t.Helper()
	return takeAfter(t, m, b, time.Second, groups...).Values
}

func takeAfter(t *testing.T, m *nvmltest.Machine, b device.Board, after time.Duration, groups ...device.Group) *device.Sample {
	t.Helper()
	asked := device.AllGroups
	if len(groups) > 0 {
		asked = device.GroupsOf(groups...)
	}
	sample := &device.Sample{Values: make([]device.Values, len(b.Devices()))}
	require.NoError(t, b.Sample(t.Context(), m.Advance(after), asked, sample))
	return sample
}

// counted is what a function made the machine be asked.
func counted(m *nvmltest.Machine, f func()) map[string]int {
	before := m.Calls()
	f()
	after := m.Calls()
	for call, n := range before {
		if after[call] -= n; after[call] == 0 {
			delete(after, call)
		}
	}
	return after
}

func readingsAre(t *testing.T, v *device.Values, want map[device.Metric]float64) {
	t.Helper()
	for m, x := range want {
		label, value := m.Label()
		assert.Equal(t, gpu.OK.String(), v[m].State.String(), "%s %s %s", m, label, value)
		assert.InDelta(t, x, v[m].Value, 1e-9+1e-9*math.Abs(x), "%s %s %s", m, label, value)
	}
}
