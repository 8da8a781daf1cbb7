package nvml

import (
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// shareTries is how often the shares of processes are asked for while more and more processes appear.
const shareTries = 3

// readShares adds how much of the board each listed process used since the last listing. The driver keeps several
// measurements of a process, some of them old or nonsense.
func (b *board) readShares(now time.Time) {
	l := &b.processes
	since := l.newest
	if since == 0 {
		since = uint64(max(now.Add(-time.Second).UnixMicro(), 0))
	}
	var samples []nvml.ProcessUtilizationSample
	state := b.call(callProcessUtilization, func() (ret nvml.Return) {
		for range shareTries {
			samples, ret = b.handle.GetProcessUtilization(since)
			if ret != nvml.ERROR_INSUFFICIENT_SIZE || len(samples) == 0 {
				break
			}
		}
		if ret == nvml.ERROR_NOT_FOUND || ret == nvml.ERROR_INSUFFICIENT_SIZE {
			samples, ret = nil, nvml.SUCCESS // nothing ran, or it never held still
		}
		return ret
	})
	if state == gpu.OK {
		state = gpu.NoData // for processes without a measurement
	}
	newest := make(map[int]nvml.ProcessUtilizationSample, len(l.found))
	latest := uint64(now.Add(time.Minute).UnixMicro())
	for _, s := range samples {
		garbage := s.Pid == 0 || max(s.SmUtil, s.MemUtil, s.EncUtil, s.DecUtil) > 100 || s.TimeStamp > latest
		if garbage || s.TimeStamp <= since {
			continue
		}
		l.newest = max(l.newest, s.TimeStamp)
		if s.TimeStamp >= newest[int(s.Pid)].TimeStamp {
			newest[int(s.Pid)] = s
		}
	}
	for i := range l.found {
		p := &l.found[i]
		if s, fresh := newest[p.PID]; fresh {
			setShares(p, s, gpu.OK)
		} else {
			setShares(p, s, state)
		}
	}
}

func setShares(p *device.Process, s nvml.ProcessUtilizationSample, state gpu.State) {
	p.SM, p.MemoryActivity = percent(s.SmUtil, state), percent(s.MemUtil, state)
	p.Encoder, p.Decoder = percent(s.EncUtil, state), percent(s.DecUtil, state)
}
