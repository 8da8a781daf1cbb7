package devicetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// untouched is what no source writes.
var untouched = gpu.Reading{Value: -123456, State: gpu.State(200)}

// groups asks for each group alone, then for all but that one: what is asked for is set, and nothing else is.
func groups(t *testing.T, h Harness) {
	for _, b := range open(t, h) {
		devices := b.Devices()
		sample := device.Sample{Values: make([]device.Values, len(devices))}
		for g := range device.NumGroups {
			for _, asked := range []device.Groups{device.GroupsOf(g), device.AllGroups &^ device.GroupsOf(g)} {
				for i := range sample.Values {
					for m := range device.NumMetrics {
						sample.Values[i][m] = untouched
					}
				}
				require.NoError(t, b.Sample(t.Context(), h.Advance(time.Second), asked, &sample))
				for i, d := range devices {
					checkAsked(t, d, &sample.Values[i], asked, g)
				}
			}
		}
	}
}

func checkAsked(t *testing.T, d gpu.Device, v *device.Values, asked device.Groups, g device.Group) {
	t.Helper()
	for m := range device.NumMetrics {
		switch written := v[m] != untouched; {
		case written && !asked.Has(m.Group()):
			t.Errorf("%s of %s was written; it was not asked for (the case of group %s)", m, d.Name(), g)
		case !written && asked.Has(m.Group()) && (!d.IsMIG() || m.PerInstance()):
			t.Errorf("%s of %s was asked for and not written (the case of group %s)", m, d.Name(), g)
		}
	}
}

func extents(t *testing.T, h Harness) {
	for _, b := range open(t, h) {
		devices := b.Devices()
		sample := device.Sample{Values: make([]device.Values, len(devices))}
		asked := device.GroupsOf(device.GroupPower, device.GroupUtilization, device.GroupClocks)
		for range 5 {
			require.NoError(t, b.Sample(t.Context(), h.Advance(time.Second), asked, &sample))
			for _, e := range sample.Extents {
				require.GreaterOrEqual(t, e.Device, 0)
				require.Less(t, e.Device, len(devices))
				assert.True(t, asked.Has(e.Metric.Group()), "%s was not asked for", e.Metric)
				assert.Positive(t, e.Count, e.Metric.String())
				assert.LessOrEqual(t, e.Min, e.Mean, e.Metric.String())
				assert.LessOrEqual(t, e.Mean, e.Max, e.Metric.String())
				assert.GreaterOrEqual(t, e.Min, 0.0, e.Metric.String())
			}
		}
		// What was not sampled has no extents: those of the sample before are not repeated.
		require.NoError(t, b.Sample(t.Context(), h.Advance(time.Second), device.GroupsOf(device.GroupFan), &sample))
		for _, e := range sample.Extents {
			assert.Equal(t, device.GroupFan, e.Metric.Group(), "%s was not asked for", e.Metric)
		}
	}
}
