package nvml

import (
	"context"
	"math"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const (
	gpmShortest = 100 * time.Millisecond // NVML refreshes its counters so often; closer samples give nonsense
	gpmLongest  = 10 * time.Minute       // older samples are replaced and not compared with
	mebibyte    = 1 << 20
)

// gpmMetrics are what is asked of GPM (GPU Performance Monitoring: Hopper and newer).
var gpmMetrics = []struct {
	id     nvml.GpmMetricId
	metric device.Metric
	unit   float64
	board  bool // of whole boards only
}{
	{nvml.GPM_METRIC_GRAPHICS_UTIL, device.GraphicsEngineActive, 0.01, false},
	{nvml.GPM_METRIC_SM_UTIL, device.SMActive, 0.01, false},
	{nvml.GPM_METRIC_SM_OCCUPANCY, device.SMOccupancy, 0.01, false},
	{nvml.GPM_METRIC_ANY_TENSOR_UTIL, device.TensorActive, 0.01, false},
	{nvml.GPM_METRIC_DRAM_BW_UTIL, device.DRAMActive, 0.01, false},
	{nvml.GPM_METRIC_PCIE_TX_PER_SEC, device.PCIeTransmit, mebibyte, true},
	{nvml.GPM_METRIC_PCIE_RX_PER_SEC, device.PCIeReceive, mebibyte, true},
	{nvml.GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, device.NVLinkTransmit, mebibyte, true},
	{nvml.GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, device.NVLinkReceive, mebibyte, true},
}

// profiler measures one board or one instance: the difference between the newest two samples.
type profiler struct {
	lib   *library
	board bool
	take  func(nvml.GpmSample) nvml.Return // fills a sample

	unsupported  bool
	before, next nvml.GpmSample
	at           time.Time // of before, zero for none
	request      nvml.GpmMetricsGetType
	last         []gpu.Reading // one for each of gpmMetrics
}

func newProfiler(lib *library, board bool, take func(nvml.GpmSample) nvml.Return) *profiler {
	return &profiler{lib: lib, board: board, take: take, last: make([]gpu.Reading, len(gpmMetrics))}
}

// read fills in the metrics. It waits for its turn until ctx ends. tally is told every answer of NVML.
func (p *profiler) read(ctx context.Context, v *device.Values, tally func(nvml.Return)) {
	if p.unsupported {
		p.fill(v, gpu.NotSupported)
		return
	}
	select {
	case p.lib.gpm <- struct{}{}:
		defer func() { <-p.lib.gpm }()
	case <-ctx.Done():
		p.fill(v, gpu.NoData)
		return
	}
	now := p.lib.now()
	if since := now.Sub(p.at); p.at.IsZero() || since < 0 || since >= gpmShortest {
		if ret := p.measure(now); ret != nvml.SUCCESS {
			tally(ret)
			p.at = time.Time{}
			p.unsupported = isFinal(ret)
			p.fill(v, stateOf(ret))
			return
		}
		tally(nvml.SUCCESS)
	}
	for i, m := range gpmMetrics {
		if p.board || !m.board {
			v[m.metric] = p.last[i]
		}
	}
}

func (p *profiler) fill(v *device.Values, why gpu.State) {
	for _, m := range gpmMetrics {
		if p.board || !m.board {
			v[m.metric] = gpu.Absent(why)
		}
	}
}

// measure takes a sample and compares it with the one before.
func (p *profiler) measure(now time.Time) nvml.Return {
	if ret := p.allocate(); ret != nvml.SUCCESS {
		return ret
	}
	if ret := p.take(p.next); ret != nvml.SUCCESS {
		return ret
	}
	paired := !p.at.IsZero() && now.After(p.at) && now.Sub(p.at) <= gpmLongest
	p.before, p.next, p.at = p.next, p.before, now
	for i := range p.last {
		p.last[i] = gpu.Absent(gpu.NoData)
	}
	if !paired {
		return nvml.SUCCESS
	}
	p.request.NumMetrics = uint32(len(gpmMetrics))
	p.request.Sample1, p.request.Sample2 = p.next, p.before
	for i, m := range gpmMetrics {
		p.request.Metrics[i] = nvml.GpmMetric{MetricId: uint32(m.id)}
	}
	if ret := p.lib.api.GpmMetricsGet(&p.request); ret != nvml.SUCCESS {
		return ret
	}
	for i, m := range gpmMetrics {
		answer := p.request.Metrics[i]
		if ret := nvml.Return(answer.NvmlReturn); ret != nvml.SUCCESS {
			p.last[i] = gpu.Absent(stateOf(ret))
		} else if !math.IsNaN(answer.Value) && !math.IsInf(answer.Value, 0) && answer.Value >= 0 {
			p.last[i] = gpu.Read(answer.Value * m.unit)
		}
	}
	return nvml.SUCCESS
}

func (p *profiler) allocate() nvml.Return {
	for _, s := range []*nvml.GpmSample{&p.before, &p.next} {
		if *s != nil {
			continue
		}
		sample, ret := p.lib.api.GpmSampleAlloc()
		if ret != nvml.SUCCESS {
			return ret
		}
		*s = sample
	}
	return nvml.SUCCESS
}

// release gives the buffers back. The profiler must not be in use.
func (p *profiler) release() {
	for _, s := range []*nvml.GpmSample{&p.before, &p.next} {
		if *s != nil {
			_ = p.lib.api.GpmSampleFree(*s) // the buffer is gone either way
			*s = nil
		}
	}
	p.at = time.Time{}
}
