package simulate

import (
	"math"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// readDetails fills in what hardly ever changes, and what follows from the rest.
func (b *Board) readDetails(v *device.Values, start, t float64) {
	m := &b.model
	for metric, value := range map[device.Metric]float64{
		device.PowerLimitRequested: m.PowerLimit, device.PowerLimitDefault: m.PowerLimit,
		device.PowerLimitMin: math.Round(m.PowerLimit * 2 / 7), device.PowerLimitMax: m.PowerLimit,
		device.GraphicsClock: v[device.SMClock].Value, device.VideoClock: math.Round(v[device.SMClock].Value*0.78/(15*mhz)) * 15 * mhz,
		device.MemoryClockMax: m.ClockMemory, device.GraphicsClockMax: m.ClockMax,
		device.VideoClockMax: math.Round(m.ClockMax*0.78/(15*mhz)) * 15 * mhz, device.ClockEventReasonsSupported: 0x1ff,
		device.PCIeLinkGenerationMax: float64(m.PCIeGeneration), device.PCIeLinkWidthMax: 16,
		device.PCIeCorrectableErrors: float64(b.state.replays), device.PCIeNonFatalErrors: 0, device.PCIeFatalErrors: 0,
		device.ThrottleSyncBoost: 0, device.ThrottleBoardLimit: 0, device.ThrottleReliability: 0,
		device.ThrottleSoftwareThermal: v[device.ThrottleThermal].Value, device.ThrottleHardwareThermal: 0,
		device.ThrottlePowerBrake: 0,
		device.BAR1Total:          math.Exp2(math.Ceil(math.Log2(m.MemoryTotal))), device.BAR1Used: 2 * mib,
		device.PersistenceMode: 1, device.ComputeMode: 0, device.ConfidentialCompute: 0,
	} {
		v.Set(metric, value)
	}
	v.Set(device.BAR1Free, v[device.BAR1Total].Value-v[device.BAR1Used].Value)
	b.readMargins(v)
	if m.NVLink > 0 {
		b.readLinks(v, start, t)
	}
	if m.HBM {
		b.readMemoryHealth(v)
	}
	if m.DefaultMIG != nil {
		mode := 0.0
		if len(b.instances) > 0 {
			mode = 1
		}
		v.Set(device.MIGMode, mode)
		v.Set(device.MIGModePending, mode)
	}
}

// readMargins gives the limits as a board of its age does: as margins since Ada, as temperatures before.
func (b *Board) readMargins(v *device.Values) {
	const offset = 3 // hardware slows down, and switches off, so far beyond where the driver starts to
	if b.model.Profiling || b.model.Fan {
		v.Set(device.MarginMaxOperating, 0)
		v.Set(device.MarginSlowdown, -offset)
		v.Set(device.MarginShutdown, -2*offset-1)
		if b.model.HBM {
			v.Set(device.MemoryMarginMaxOperating, 0)
		}
		return
	}
	limit := b.model.TemperatureSlowdown
	v.Set(device.TemperatureMaxOperating, limit)
	v.Set(device.TemperatureSlowdown, limit+offset)
	v.Set(device.TemperatureShutdown, limit+2*offset+1)
	if b.model.HBM {
		v.Set(device.MemoryTemperatureMaxOperating, 95)
	}
}

// linkRate is what one NVLink of the simulated boards carries each way, in bytes per second.
const linkRate = 25e9

// readLinks spreads the board's traffic evenly over its links. A board in MIG mode has links and does not count on them.
func (b *Board) readLinks(v *device.Values, start, t float64) {
	links := int(b.model.NVLink / linkRate)
	v.Set(device.NVLinkLinks, float64(links))
	v.Set(device.NVLinkLinksActive, float64(links))
	v.Set(device.FabricState, 3)
	v.Set(device.FabricStatus, 0)
	for i := range links {
		v.Set(device.LinkState.At(i), 1)
		v.Set(device.LinkSpeed.At(i), linkRate)
	}
	if len(b.instances) > 0 {
		return
	}
	for _, m := range []device.Metric{
		device.NVLinkCRCErrors, device.NVLinkReplayErrors, device.NVLinkRecoveryErrors, device.NVLinkECCErrors,
	} {
		v.Set(m, 0)
	}
	carried := b.state.carried
	if t > start {
		carried += b.activity(0, start, t).nvlink * b.model.NVLink * (t - start)
	}
	const kibibyte = 1024
	share := math.Floor(carried/float64(links)/kibibyte) * kibibyte
	for i := range links {
		v.Set(device.LinkTransmit.At(i), share)
		v.Set(device.LinkReceive.At(i), math.Floor(0.99*share/kibibyte)*kibibyte)
		v.Set(device.LinkCRCErrors.At(i), 0)
		v.Set(device.LinkReplayErrors.At(i), 0)
		v.Set(device.LinkRecoveryErrors.At(i), 0)
	}
}

// readMemoryHealth tells the totals of the errors apart: all are in the device memory.
func (b *Board) readMemoryHealth(v *device.Values) {
	corrected, uncorrected := v[device.ECCCorrected].Value, v[device.ECCUncorrected].Value
	rows := v[device.RemappedRowsUncorrectable].Value
	v.Set(device.ECCMode, 1)
	v.Set(device.ECCModePending, 1)
	v.Set(device.ECCCorrectedLifetime, corrected)
	v.Set(device.ECCUncorrectedLifetime, rows)
	v.Set(device.SRAMThresholdExceeded, 0)
	for i, location := range device.ECCLocations {
		own := func(total float64) float64 {
			if location == "device_memory" {
				return total
			}
			return 0
		}
		v.Set(device.ECCCorrectedAt.At(i), own(corrected))
		v.Set(device.ECCUncorrectedAt.At(i), own(uncorrected))
		v.Set(device.ECCCorrectedLifetimeAt.At(i), own(corrected))
		v.Set(device.ECCUncorrectedLifetimeAt.At(i), own(rows))
	}
	banks := math.Round(b.model.MemoryTotal / gib * 20)
	for i, n := range [len(device.RemapAvailabilities)]float64{banks - rows, rows} {
		v.Set(device.RowRemapBanks.At(i), n)
	}
}

// readPipes splits what the SMs do among their pipes, as a training job with BF16 does.
func readPipes(v *device.Values, a intensity) {
	const resolution = 1e4
	for metric, share := range map[device.Metric]float64{
		device.TensorHMMAActive: a.tensor, device.TensorDFMAActive: 0, device.TensorIMMAActive: 0, device.FP64Active: 0,
		device.FP32Active: 0.11 * a.sm, device.FP16Active: 0.06 * a.sm, device.IntegerActive: 0.14 * a.sm,
	} {
		v.Set(metric, math.Round(clamp(share, 0, 1)*resolution)/resolution)
	}
}
