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
)

// gpmMetrics are what is asked of GPM (GPU Performance Monitoring: Hopper and newer).
var gpmMetrics = [...]struct {
	id     nvml.GpmMetricId
	metric device.Metric
	unit   float64
}{
	{nvml.GPM_METRIC_GRAPHICS_UTIL, device.GraphicsEngineActive, 0.01},
	{nvml.GPM_METRIC_SM_UTIL, device.SMActive, 0.01},
	{nvml.GPM_METRIC_SM_OCCUPANCY, device.SMOccupancy, 0.01},
	{nvml.GPM_METRIC_ANY_TENSOR_UTIL, device.TensorActive, 0.01},
	{nvml.GPM_METRIC_DRAM_BW_UTIL, device.DRAMActive, 0.01},

	{nvml.GPM_METRIC_DFMA_TENSOR_UTIL, device.TensorDFMAActive, 0.01},
	{nvml.GPM_METRIC_HMMA_TENSOR_UTIL, device.TensorHMMAActive, 0.01},
	{nvml.GPM_METRIC_IMMA_TENSOR_UTIL, device.TensorIMMAActive, 0.01},
	{nvml.GPM_METRIC_FP64_UTIL, device.FP64Active, 0.01},
	{nvml.GPM_METRIC_FP32_UTIL, device.FP32Active, 0.01},
	{nvml.GPM_METRIC_FP16_UTIL, device.FP16Active, 0.01},
	{nvml.GPM_METRIC_INTEGER_UTIL, device.IntegerActive, 0.01},

	{nvml.GPM_METRIC_PCIE_TX_PER_SEC, device.PCIeTransmit, mebi},
	{nvml.GPM_METRIC_PCIE_RX_PER_SEC, device.PCIeReceive, mebi},
	{nvml.GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, device.NVLinkTransmit, mebi},
	{nvml.GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, device.NVLinkReceive, mebi},
}

const (
	gpmInstanceGroups device.Groups = 1<<device.GroupProfiling | 1<<device.GroupPipes
	gpmGroups         device.Groups = gpmInstanceGroups | 1<<device.GroupPCIe | 1<<device.GroupNVLink
)

// moment is a state of the counters.
type moment struct {
	sample nvml.GpmSample
	at     time.Time
}

// profiler measures one board or one instance: the difference between a group's last two samples. Groups that are read at
// different times share the samples, but each has its own interval.
type profiler struct {
	lib    *library
	groups device.Groups
	take   func(nvml.GpmSample) nvml.Return // fills a sample

	asked       bool // whether the board has GPM at all
	unsupported bool
	gone        [len(gpmMetrics)]bool // metrics that the board does not have
	newest      *moment
	base        [device.NumGroups]*moment // what a group was last read at
	spare       []*moment
	last        [len(gpmMetrics)]gpu.Reading
}

func newProfiler(lib *library, board bool, take func(nvml.GpmSample) nvml.Return) *profiler {
	p := &profiler{lib: lib, groups: gpmInstanceGroups, take: take}
	if board {
		p.groups = gpmGroups
	}
	return p
}

// offers reports whether a metric may be read here, as far as is known.
func (p *profiler) offers(m device.Metric) bool {
	if p.unsupported {
		return false
	}
	for i, g := range gpmMetrics {
		if g.metric == m {
			return !p.gone[i]
		}
	}
	return false
}

// read fills in the metrics of groups. tally is told every answer of NVML.
func (p *profiler) read(ctx context.Context, groups device.Groups, v *device.Values, tally func(nvml.Return)) {
	groups &= p.groups
	if groups == 0 {
		return
	}
	if p.unsupported {
		p.fill(groups, v, gpu.NotSupported)
		return
	}
	if !p.lib.gpm.enter(ctx) {
		p.fill(groups, v, gpu.NoData)
		return
	}
	defer p.lib.gpm.leave()
	if ret := p.measure(groups, tally); ret != nvml.SUCCESS {
		p.forget()
		p.unsupported = isFinal(ret)
		p.fill(groups, v, stateOf(ret))
		return
	}
	for i, m := range gpmMetrics {
		if groups.Has(m.metric.Group()) && !p.gone[i] {
			v[m.metric] = p.last[i]
		}
	}
}

// fill says why there is no reading. What another source told stays.
func (p *profiler) fill(groups device.Groups, v *device.Values, why gpu.State) {
	for i, m := range gpmMetrics {
		if groups.Has(m.metric.Group()) && !p.gone[i] && v[m.metric].State == gpu.NotSupported {
			v[m.metric] = gpu.Absent(why)
		}
	}
}

// measure takes a sample, unless the newest is too young, and compares each group with the sample it was last read at.
func (p *profiler) measure(groups device.Groups, tally func(nvml.Return)) nvml.Return {
	now := p.lib.now()
	if since := p.age(p.newest, now); since < 0 || since >= gpmShortest {
		next, ret := p.allocate()
		if ret == nvml.SUCCESS {
			ret = p.take(next.sample)
		}
		if tally(ret); ret != nvml.SUCCESS {
			return ret
		}
		next.at = now
		p.newest = next
	}
	for g := range device.NumGroups {
		if !groups.Has(g) || p.base[g] == p.newest {
			continue // the last reading stands
		}
		same := p.sameBase(groups, g)
		if ret := p.compare(same, p.base[g]); ret != nvml.SUCCESS {
			tally(ret)
			return ret
		}
		for s := range device.NumGroups {
			if same.Has(s) {
				p.base[s] = p.newest
			}
		}
	}
	return nvml.SUCCESS
}

// age is how old a sample is; negative for none, or for one of a future that a clock left again.
func (p *profiler) age(m *moment, now time.Time) time.Duration {
	if m == nil {
		return -1
	}
	return now.Sub(m.at)
}

// sameBase are those of groups that were last read together with g.
func (p *profiler) sameBase(groups device.Groups, g device.Group) device.Groups {
	var same device.Groups
	for s := range device.NumGroups {
		if groups.Has(s) && p.base[s] == p.base[g] {
			same |= 1 << s
		}
	}
	return same
}

// compare reads what the metrics of groups were between base and now. Of too long a time they say nothing.
func (p *profiler) compare(groups device.Groups, base *moment) nvml.Return {
	var asked [len(gpmMetrics)]int
	request, n := p.lib.gpmRequest, 0
	for i, m := range gpmMetrics {
		if groups.Has(m.metric.Group()) {
			p.last[i] = gpu.Absent(gpu.NoData)
			if !p.gone[i] {
				request.Metrics[n] = nvml.GpmMetric{MetricId: uint32(m.id)}
				asked[n] = i
				n++
			}
		}
	}
	if since := p.age(base, p.newest.at); n == 0 || since <= 0 || since > gpmLongest {
		return nvml.SUCCESS
	}
	request.NumMetrics, request.Sample1, request.Sample2 = uint32(n), base.sample, p.newest.sample
	if ret := p.lib.api.GpmMetricsGet(request); ret != nvml.SUCCESS {
		return ret
	}
	for n, answer := range request.Metrics[:n] {
		i, ret := asked[n], nvml.Return(answer.NvmlReturn)
		switch {
		case isFinal(ret):
			p.gone[i] = true
		case ret != nvml.SUCCESS:
			p.last[i] = gpu.Absent(stateOf(ret))
		case !math.IsNaN(answer.Value) && !math.IsInf(answer.Value, 0) && answer.Value >= 0:
			p.last[i] = gpu.Read(scaled(answer.Value, gpmMetrics[i].unit))
		}
	}
	return nvml.SUCCESS
}

// allocate finds a sample that no group is read at, or has a new one made.
func (p *profiler) allocate() (*moment, nvml.Return) {
	for _, m := range p.spare {
		if m != p.newest && !p.isBase(m) {
			return m, nvml.SUCCESS
		}
	}
	sample, ret := p.lib.api.GpmSampleAlloc()
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	m := &moment{sample: sample}
	p.spare = append(p.spare, m)
	return m, nvml.SUCCESS
}

func (p *profiler) isBase(m *moment) bool {
	for _, b := range p.base {
		if b == m {
			return true
		}
	}
	return false
}

// forget starts over.
func (p *profiler) forget() {
	p.newest = nil
	clear(p.base[:])
}

// release gives the buffers back. The profiler must not be in use.
func (p *profiler) release() {
	p.forget()
	for _, m := range p.spare {
		_ = p.lib.api.GpmSampleFree(m.sample) // the buffer is gone either way
	}
	p.spare = nil
}
