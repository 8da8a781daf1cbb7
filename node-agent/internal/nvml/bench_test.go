package nvml

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
)

// BenchmarkSample is one board at ten samples a second, with the fake's own cost.
func BenchmarkSample(b *testing.B) {
	for name, groups := range map[string]device.Groups{
		"lean fast": device.GroupsOf(device.GroupUtilization, device.GroupProfiling, device.GroupMemory, device.GroupPower,
			device.GroupTemperature, device.GroupClocks),
		"all": device.AllGroups,
	} {
		b.Run(name, func(b *testing.B) {
			spec, err := nvmltest.Load("h200")
			require.NoError(b, err)
			m, err := nvmltest.New(spec, nvmltest.Options{})
			require.NoError(b, err)
			s := New(m, Options{Proc: b.TempDir(), Logger: slog.New(slog.DiscardHandler), Now: m.Clock})
			require.NoError(b, s.Open(b.Context()))
			found, err := s.Inventory(b.Context())
			require.NoError(b, err)
			sample := device.Sample{Values: make([]device.Values, 1)}
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, found.Boards[0].Sample(b.Context(), m.Advance(100*time.Millisecond), groups, &sample))
			}
		})
	}
}
