package nvml

import (
	"context"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const (
	// meterEvery is how often NVML may measure one direction of PCIe, which takes it 20 ms of waiting. A little less than
	// a second, so that a schedule of one second is not missed by its jitter.
	meterEvery = 900 * time.Millisecond
	kilobyte   = 1000
)

// pcieMeter keeps what NVML measured last, where nothing better tells.
type pcieMeter struct {
	values [2]gpu.Reading
	at     [2]time.Time
	asked  time.Time
}

func (b *board) readPCIe(_ context.Context, groups device.Groups, into *device.Sample) {
	v := &into.Values[0]
	if groups.Has(device.GroupPCIe) {
		b.meterPCIe(v)
	}
	if groups.Has(device.GroupPCIeLink) {
		v[device.PCIeLinkGeneration] = enum(b, callPCIeGeneration, b.handle.GetCurrPcieLinkGeneration)
		v[device.PCIeLinkWidth] = enum(b, callPCIeWidth, b.handle.GetCurrPcieLinkWidth)
		v[device.PCIeLinkGenerationMax] = enum(b, callPCIeMaxGeneration, b.handle.GetMaxPcieLinkGeneration)
		v[device.PCIeLinkWidthMax] = enum(b, callPCIeMaxWidth, b.handle.GetMaxPcieLinkWidth)
		if v[device.PCIeReplayErrors].State == gpu.NotSupported {
			v[device.PCIeReplayErrors] = enum(b, callPCIeReplay, b.handle.GetPcieReplayCounter)
		}
	}
}

// meterPCIe has NVML measure what neither GPM nor byte counters tell: each direction once a second, and only one of them in
// a sample when samples are taken in quick succession.
func (b *board) meterPCIe(v *device.Values) {
	now := b.lib.now()
	quick := !b.pcie.asked.IsZero() && now.Sub(b.pcie.asked) < meterEvery
	b.pcie.asked = now
	for i, d := range [...]struct {
		metric    device.Metric
		direction nvml.PcieUtilCounter
	}{{device.PCIeTransmit, nvml.PCIE_UTIL_TX_BYTES}, {device.PCIeReceive, nvml.PCIE_UTIL_RX_BYTES}} {
		counted := v[d.metric]
		if b.elsewhere(d.metric) || counted.OK() || counted.State != gpu.NotSupported && !b.fields.ambiguous {
			continue
		}
		due := b.pcie.at[i].IsZero() || now.Sub(b.pcie.at[i]) >= meterEvery
		if due && (!quick || b.pcie.at[1-i] != now) {
			b.pcie.at[i] = now
			b.pcie.values[i] = number(b, callPCIeThroughput, slot(callPCIeThroughput), kilobyte, func() (uint32, nvml.Return) {
				return b.handle.GetPcieThroughput(d.direction)
			})
		}
		v[d.metric] = b.pcie.values[i]
	}
}

// wrapSeconds is how long 2³² bytes take over the board's PCIe link at its best.
func (b *board) wrapSeconds() float64 {
	// Bytes a second of one lane, by generation. A link that is not known is taken for the fastest.
	lanes := [...]float64{0.25e9, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9, 15.13e9}
	generation, width := len(lanes)-1, 16
	if b.lib.hasAll(callPCIeMaxGeneration, callPCIeMaxWidth) {
		if g, ret := b.handle.GetMaxPcieLinkGeneration(); ret == nvml.SUCCESS && g > 0 {
			generation = min(g, generation)
		}
		if w, ret := b.handle.GetMaxPcieLinkWidth(); ret == nvml.SUCCESS && w > 0 {
			width = w
		}
	}
	return (1 << 32) / (lanes[generation] * float64(width))
}
