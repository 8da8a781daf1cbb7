package nvml

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/prometheus/procfs"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// readMemories reads the memory of the board and of its instances.
func (b *board) readMemories(_ context.Context, groups device.Groups, into *device.Sample) {
	if b.facts.SharedMemory {
		if groups.Has(device.GroupMemory) {
			b.readHostMemory(&into.Values[0])
		}
	} else {
		b.readMemoryOf(b.handle, &b.unsupported, groups, &into.Values[0])
	}
	for i, in := range b.instances {
		v := &into.Values[i+1]
		handle, state := b.open(in)
		if state == gpu.OK {
			b.readMemoryOf(handle, &in.unsupported, groups, v)
			continue
		}
		for _, m := range [...]device.Metric{
			device.MemoryTotal, device.MemoryUsed, device.MemoryFree, device.MemoryReserved,
			device.BAR1Total, device.BAR1Used, device.BAR1Free,
		} {
			if groups.Has(m.Group()) {
				v[m] = gpu.Absent(state)
			}
		}
	}
}

func (b *board) readMemoryOf(handle nvml.Device, known *unsupported, groups device.Groups, v *device.Values) {
	if groups.Has(device.GroupMemory) {
		m, state := b.memory(handle, known)
		setBytes(v, state, device.MemoryTotal, m.Total)
		setBytes(v, state, device.MemoryUsed, m.Used)
		setBytes(v, state, device.MemoryFree, m.Free)
		setBytes(v, state, device.MemoryReserved, m.Reserved)
	}
	if groups.Has(device.GroupBAR1) {
		var m nvml.BAR1Memory
		state := b.try(callBAR1, slot(callBAR1), known, func() (ret nvml.Return) {
			m, ret = handle.GetBAR1MemoryInfo()
			return ret
		})
		setBytes(v, state, device.BAR1Total, m.Bar1Total)
		setBytes(v, state, device.BAR1Used, m.Bar1Used)
		setBytes(v, state, device.BAR1Free, m.Bar1Free)
	}
}

// memory asks a board or an instance. Only the second version of the call knows what is reserved; the first counts that as
// used.
func (b *board) memory(handle nvml.Device, known *unsupported) (nvml.Memory_v2, gpu.State) {
	var m nvml.Memory_v2
	state := b.try(callMemoryV2, slot(callMemoryV2), known, func() (ret nvml.Return) {
		m, ret = handle.GetMemoryInfo_v2()
		return ret
	})
	if state != gpu.NotSupported {
		return m, state
	}
	var old nvml.Memory
	state = b.try(callMemory, slot(callMemory), known, func() (ret nvml.Return) {
		old, ret = handle.GetMemoryInfo()
		return ret
	})
	return nvml.Memory_v2{Total: old.Total, Free: old.Free, Used: old.Used, Reserved: none64}, state
}

// none64 is how NVML says that there is no number.
const none64 = ^uint64(0)

func setBytes(v *device.Values, state gpu.State, metric device.Metric, bytes uint64) {
	switch {
	case state != gpu.OK:
		v[metric] = gpu.Absent(state)
	case bytes == none64:
		v[metric] = gpu.Absent(gpu.NotSupported)
	default:
		v.Set(metric, float64(bytes))
	}
}

// sharesMemory reports whether the board has no memory of its own, but uses the host's.
func (b *board) sharesMemory() bool {
	if b.split() || !b.lib.has(callMemory) {
		return false
	}
	var known unsupported
	_, state := b.memory(b.handle, &known)
	return state == gpu.NotSupported
}

// readHostMemory reads what a board without memory of its own uses. What the kernel could free counts as free.
func (b *board) readHostMemory(v *device.Values) {
	total, available, err := hostMemory(b.lib.proc)
	if err != nil {
		b.lib.log.Debug("The host's memory, which the GPU uses, cannot be read", "gpu", b.name, "err", err)
		for _, m := range [...]device.Metric{device.MemoryTotal, device.MemoryUsed, device.MemoryFree} {
			v[m] = gpu.Absent(gpu.NoData)
		}
		return
	}
	v.Set(device.MemoryTotal, float64(total))
	v.Set(device.MemoryUsed, float64(total-available))
	v.Set(device.MemoryFree, float64(available))
}

func hostMemory(proc string) (total, available uint64, err error) {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return 0, 0, fmt.Errorf("open the proc file system: %w", err)
	}
	info, err := fs.Meminfo()
	if err != nil {
		return 0, 0, fmt.Errorf("read meminfo: %w", err)
	}
	if info.MemTotalBytes == nil || info.MemAvailableBytes == nil || *info.MemAvailableBytes > *info.MemTotalBytes {
		return 0, 0, fmt.Errorf("read meminfo: total or available memory is missing")
	}
	return *info.MemTotalBytes, *info.MemAvailableBytes, nil
}
