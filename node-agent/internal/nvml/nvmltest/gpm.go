package nvmltest

import (
	"strconv"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// gpmShortest is how far apart two samples must be: 100 ms, less the little by which calls in that rhythm are off.
const gpmShortest = 95 * time.Millisecond

// Sample is a GPM sample. It implements nvml.GpmSample.
type Sample struct {
	m     *Machine
	of    *Device
	gi    int // -1 for the whole GPU
	at    time.Time
	freed bool
}

// gpmCall notes when GPM is used from two sides at once, which was seen to crash drivers. It returns what ends the call.
func (m *Machine) gpmCall(call string) func() {
	if m.gpm.Add(1) > 1 {
		m.violate("%s ran beside another call of GPM", call)
	}
	return func() { m.gpm.Add(-1) }
}

// GpmQueryDeviceSupport implements nvml.Device.
func (d *Device) GpmQueryDeviceSupport() (nvml.GpmSupport, nvml.Return) {
	ret, _ := d.m.enter("GpmQueryDeviceSupport", d, "")
	if ret == nvml.SUCCESS && d.mig != nil {
		ret = nvml.ERROR_INVALID_ARGUMENT
	}
	support := nvml.GpmSupport{Version: nvml.GPM_SUPPORT_VERSION}
	if len(d.gpu.spec.GPM) > 0 {
		support.IsSupportedDevice = 1
	}
	return support, ret
}

// GpmQueryDeviceSupport implements nvml.Interface.
func (m *Machine) GpmQueryDeviceSupport(d nvml.Device) (nvml.GpmSupport, nvml.Return) {
	return d.GpmQueryDeviceSupport()
}

// GpmSampleAlloc implements nvml.Interface.
func (m *Machine) GpmSampleAlloc() (nvml.GpmSample, nvml.Return) {
	ret, _ := m.enter("GpmSampleAlloc", nil, "")
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	return &Sample{m: m}, ret
}

// GpmSampleFree implements nvml.Interface.
func (m *Machine) GpmSampleFree(s nvml.GpmSample) nvml.Return { return s.Free() }

// GpmSampleGet implements nvml.Interface.
func (m *Machine) GpmSampleGet(d nvml.Device, s nvml.GpmSample) nvml.Return { return s.Get(d) }

// GpmMigSampleGet implements nvml.Interface.
func (m *Machine) GpmMigSampleGet(d nvml.Device, gi int, s nvml.GpmSample) nvml.Return {
	return s.MigGet(d, gi)
}

// GpmSampleGet implements nvml.Device.
func (d *Device) GpmSampleGet(s nvml.GpmSample) nvml.Return { return s.Get(d) }

// GpmMigSampleGet implements nvml.Device.
func (d *Device) GpmMigSampleGet(gi int, s nvml.GpmSample) nvml.Return { return s.MigGet(d, gi) }

// Free implements nvml.GpmSample.
func (s *Sample) Free() nvml.Return {
	ret, _ := s.m.enter("GpmSampleFree", nil, "")
	if s.freed {
		s.m.violate("a GPM sample was freed twice")
	}
	s.freed = true
	return ret
}

// Get implements nvml.GpmSample.
func (s *Sample) Get(device nvml.Device) nvml.Return {
	d := device.(*Device)
	defer s.m.gpmCall("GpmSampleGet")()
	if ret, _ := s.m.enter("GpmSampleGet", d, ""); ret != nvml.SUCCESS {
		return ret
	}
	s.m.mu.Lock()
	split := len(d.gpu.mig) > 0
	s.m.mu.Unlock()
	if d.mig != nil || split || len(d.gpu.spec.GPM) == 0 {
		return nvml.ERROR_NOT_SUPPORTED
	}
	return s.take(d, -1)
}

// MigGet implements nvml.GpmSample.
func (s *Sample) MigGet(device nvml.Device, gi int) nvml.Return {
	d := device.(*Device)
	defer s.m.gpmCall("GpmMigSampleGet")()
	if ret, _ := s.m.enter("GpmMigSampleGet", d, strconv.Itoa(gi)); ret != nvml.SUCCESS {
		return ret
	}
	if len(d.gpu.spec.GPM) == 0 {
		return nvml.ERROR_NOT_SUPPORTED
	}
	if s.m.instance(d.gpu, gi) == nil {
		return nvml.ERROR_INVALID_ARGUMENT
	}
	return s.take(d, gi)
}

func (m *Machine) instance(g *boardState, gi int) *instanceState {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range g.mig {
		if in.spec.GI == gi {
			return in
		}
	}
	return nil
}

func (s *Sample) take(d *Device, gi int) nvml.Return {
	if s.freed {
		s.m.violate("a GPM sample was used after it was freed")
		return nvml.ERROR_INVALID_ARGUMENT
	}
	s.of, s.gi, s.at = d, gi, s.m.now()
	return nvml.SUCCESS
}

// GpmMetricsGet implements nvml.Interface. Like go-nvml it sets the version itself.
func (m *Machine) GpmMetricsGet(r *nvml.GpmMetricsGetType) nvml.Return {
	defer m.gpmCall("GpmMetricsGet")()
	r.Version = nvml.GPM_METRICS_GET_VERSION
	if ret, _ := m.enter("GpmMetricsGet", nil, ""); ret != nvml.SUCCESS {
		return ret
	}
	from, ok1 := r.Sample1.(*Sample)
	to, ok2 := r.Sample2.(*Sample)
	switch {
	case !ok1 || !ok2 || from.of == nil || to.of == nil || from.freed || to.freed:
		m.violate("GpmMetricsGet was called with samples that hold nothing")
		return nvml.ERROR_INVALID_ARGUMENT
	case from.of.gpu != to.of.gpu || from.gi != to.gi:
		m.violate("GpmMetricsGet was called with samples of two devices")
		return nvml.ERROR_INVALID_ARGUMENT
	case to.at.Sub(from.at) < gpmShortest:
		m.violate("GPM samples %v apart were compared", to.at.Sub(from.at))
		return nvml.ERROR_INVALID_ARGUMENT
	case r.NumMetrics == 0 || int(r.NumMetrics) > len(r.Metrics):
		return nvml.ERROR_INVALID_ARGUMENT
	}
	values := to.of.gpu.spec.GPM
	if to.gi >= 0 {
		if in := m.instance(to.of.gpu, to.gi); in != nil && len(in.spec.GPM) > 0 {
			values = in.spec.GPM
		}
	}
	for i := range r.Metrics[:r.NumMetrics] {
		metric := &r.Metrics[i]
		v, ok := values[metric.MetricId]
		switch {
		case !ok:
			metric.NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
		case v.Ret != nvml.SUCCESS:
			metric.NvmlReturn = uint32(v.Ret)
		default:
			metric.NvmlReturn, metric.Value = uint32(nvml.SUCCESS), to.of.value(&v)
		}
	}
	return nvml.SUCCESS
}
