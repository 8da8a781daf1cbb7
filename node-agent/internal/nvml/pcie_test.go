package nvml

import (
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// meterOnly has neither GPM nor byte counters: NVML must measure, which takes 20 ms each time.
func meterOnly(s *nvmltest.Spec) {
	s.Missing = append(s.Missing, "nvmlGpmQueryDeviceSupport")
	delete(s.GPUs[0].Fields, nvml.FI_DEV_PCIE_COUNT_TX_BYTES)
	delete(s.GPUs[0].Fields, nvml.FI_DEV_PCIE_COUNT_RX_BYTES)
}

func TestPCIeIsMeteredOnceASecond(t *testing.T) {
	m := machine(t, "h200", meterOnly)
	_, boards := opened(t, m)
	v := take(t, m, boards[0], device.GroupPCIe)[0]
	readingsAre(t, &v, map[device.Metric]float64{device.PCIeTransmit: 410e6, device.PCIeReceive: 820e6})
	most := 0
	calls := counted(m, func() {
		for range 100 {
			one := counted(m, func() {
				s := takeAfter(t, m, boards[0], 100*time.Millisecond, device.GroupPCIe)
				assert.True(t, s.Values[0][device.PCIeReceive].OK(), "the last value stands")
			})
			most = max(most, one["GetPcieThroughput"])
		}
	})
	assert.Equal(t, 1, most, "never both directions in one quick sample")
	assert.LessOrEqual(t, calls["GetPcieThroughput"], 23)
	calls = counted(m, func() {
		for range 10 {
			take(t, m, boards[0], device.GroupPCIe)
		}
	})
	assert.Equal(t, 20, calls["GetPcieThroughput"])
}

func TestPCIeByteCountersComeBeforeTheMeter(t *testing.T) {
	m := machine(t, "h200", func(s *nvmltest.Spec) { s.Missing = append(s.Missing, "nvmlGpmQueryDeviceSupport") })
	_, boards := opened(t, m)
	for range 20 {
		takeAfter(t, m, boards[0], 50*time.Millisecond, device.GroupPCIe)
	}
	s := takeAfter(t, m, boards[0], 50*time.Millisecond, device.GroupPCIe)
	assert.InDelta(t, 420e6, s.Values[0][device.PCIeTransmit].Value, 1e3)
	assert.Zero(t, m.Calls()["GetPcieThroughput"])

	// After a second the counter may have wrapped more often than once, so that NVML has to measure.
	v := take(t, m, boards[0], device.GroupPCIe)[0]
	assert.Equal(t, gpu.Read(410e6), v[device.PCIeTransmit])
}
