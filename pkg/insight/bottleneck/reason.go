package bottleneck

import (
	"fmt"
	"math"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// Missing are the canonical names of metrics that the judgement would have liked and did not have.
func (j Judgement) Missing() []string { return j.missing.names() }

// Reason is the judgement for people: one sentence, evidence and what to do. Since is not set; see [Interval.Reason].
func (j Judgement) Reason() insight.Reason {
	k := j.Verdict.kind()
	r := insight.Reason{ID: k.id, Severity: k.severity, Text: k.text, Evidence: j.Evidence()}
	r.Action = insight.Action{Text: k.action, Who: k.who}
	switch j.Verdict {
	case Unknown:
		switch {
		case j.notes&hasInstances != 0:
			r.Text = "The GPU is divided by MIG; its instances are judged instead."
			r.Severity, r.Action = insight.Info, insight.Action{Text: "Look at the instances.", Who: gpu.XIDInformational}
		case j.notes&lostCounters != 0:
			r.Text = "GPU utilization is high and the profiling counters stand at nothing: profiling was lost."
			r.Action.Text = "Restart the exporter; look for another profiler that holds the counters."
		}
	case WaitingOnRank:
		if j.suspect != "" {
			r.Text = strings.TrimSuffix(r.Text, ".") + ": " + j.suspect + "."
			r.Action.Text = "Look at " + j.suspect + " first; the GPUs that wait are well."
		}
	case Mixed:
		if names := j.near(); names != "" {
			r.Text = strings.TrimSuffix(r.Text, ".") + "; nearest to " + names + "."
		}
	}
	if j.GPUs > 0 && j.Verdict != Unknown {
		r.Text += fmt.Sprintf(" (%d of %d GPUs)", j.Share, j.GPUs)
	}
	return r
}

// Reason is the judgement of the interval; it began with it.
func (i Interval) Reason() insight.Reason {
	r := i.Judgement.Reason()
	r.Since = i.From
	return r
}

func (j Judgement) near() string {
	switch {
	case j.Nearest[0] == Unknown:
		return ""
	case j.Nearest[1] == Unknown:
		return j.Nearest[0].String()
	}
	return j.Nearest[0].String() + " and " + j.Nearest[1].String()
}

// Notes are remarks that are no verdict, a sentence each.
func (j Judgement) Notes() []string {
	var said []string
	for _, n := range []struct {
		note notes
		text string
	}{
		{atPowerCap, "Works at its power cap, which is normal under load."},
		{mayWait, "Busy without tensor activity at low power: it may be a rank that waits for others."},
		{appDisagrees, "The application's own times point to its input or to communication."},
		{onlyDefaults, "Judged without SM activity: GPU utilization says that kernels ran, not how full the GPU was."},
	} {
		if j.notes&n.note != 0 {
			said = append(said, n.text)
		}
	}
	return said
}

// Counts are how many GPUs of a job have each verdict; nil for a device.
func (j Judgement) Counts() []int {
	if j.GPUs == 0 {
		return nil
	}
	return j.counts[:]
}

// item is a value with the limit that it is shown with.
type item struct {
	fact   fact
	metric string
	label  string
	limit  position // positions for none
	above  bool
}

// Evidence are the measured values that the verdict rests on. Those that were not measured are left out.
func (j Judgement) Evidence() []insight.Evidence {
	var evidence []insight.Evidence
	for _, i := range j.items() {
		v := j.values[i.fact]
		if math.IsNaN(v) {
			continue
		}
		e := insight.Evidence{Metric: i.metric, Value: v, Unit: gpu.Ratio, Limit: math.NaN(), Above: i.above}
		shown := percent
		switch i.fact {
		case factPCIeBytes:
			e.Unit, shown = gpu.BytesPerSecond, gigabytes
		case factRetries, factSwing:
			e.Unit, shown = gpu.Count, plain
		}
		e.Text = i.label + " " + shown(v)
		if i.limit < positions && j.limits != nil {
			e.Limit = j.limits[i.limit]
			word := "below"
			if i.above {
				word = "above"
			}
			// A relaxed limit keeps a verdict alive that its own limit would not give.
			if (v > e.Limit) != i.above && v != e.Limit {
				word = "near"
			}
			e.Text += ", " + word + " " + shown(e.Limit)
		}
		evidence = append(evidence, e)
	}
	return evidence
}

func (j Judgement) items() []item {
	activity := item{factActivity, "gpu_sm_active_ratio", "SM active", positions, true}
	if j.fallback {
		activity.metric, activity.label = "gpu_utilization_ratio", "GPU active"
	}
	with := func(i item, limit position, above bool) item {
		i.limit, i.above = limit, above
		return i
	}
	tensor := item{factTensor, "gpu_tensor_active_ratio", "tensor active", positions, true}
	dram := item{factDRAM, "gpu_dram_active_ratio", "DRAM active", positions, true}
	used := item{factUtilization, "gpu_utilization_ratio", "GPU utilization", positions, true}
	watts := item{factPower, "gpu_power_watts", "power of the limit", positions, true}
	deficit := item{factDeficit, "gpu_sm_clock_hertz", "SM clock below its maximum by", positions, true}
	comm := item{factComm, "train_allreduce_seconds", "collectives of a step, least", commShare, true}
	switch j.Verdict {
	case Idle:
		return []item{with(activity, idleActivity, false), with(tensor, idleActivity, false), with(dram, idleActivity, false),
			{factPCIeBytes, "gpu_pcie_receive_bytes_per_second", "PCIe", idlePCIe, false}}
	case Thermal:
		return []item{{factThermal, "gpu_throttle_thermal_seconds_total", "time throttled by heat", thermalShare, true},
			{factHot, "gpu_clock_event_reasons", "samples throttled by heat", thermalSamples, true}, with(deficit, thermalDeficit, true)}
	case PowerBrake:
		return []item{{factBrake, "gpu_clock_event_reasons", "time under power brake", brakeShare, true}, deficit}
	case PowerLimited:
		return []item{{factCapped, "gpu_clock_event_reasons", "time at the power cap", capShare, true}, with(deficit, capDeficit, true), watts}
	case MemoryCapacity:
		return []item{{factMemory, "gpu_memory_used_bytes", "memory used", memoryUsed, true},
			{factKV, "serve_kv_cache_ratio", "KV cache used", kvCache, true},
			{factRetries, "train_alloc_retries_total", "failed allocations per second", positions, true},
			{factSwing, "gpu_sm_active_ratio", "variation of SM activity", memorySwing, true}}
	case InputBound:
		return []item{with(activity, inputActivity, false),
			{factPCIe, "gpu_pcie_receive_bytes_per_second", "PCIe towards the GPU", inputPCIe, true},
			{factData, "train_data_load_seconds", "data loading of a step", inputData, true}}
	case Interconnect:
		return []item{comm, {factDips, "gpu_sm_active_ratio", "GPUs of the job that dip at once", dipGPUs, true},
			{factLink, "gpu_nvlink_receive_bytes_per_second", "NVLink", linkShare, true}}
	case WaitingOnRank:
		return []item{with(used, waitActivity, true), with(tensor, waitTensor, false), with(watts, waitPower, false),
			{factCommMedian, "train_allreduce_seconds", "collectives of a step, median rank", positions, true},
			{factComm, "train_allreduce_seconds", "collectives of a step, suspect", positions, false}}
	case MemoryBandwidth:
		return []item{with(dram, bandwidth, true), tensor, activity}
	case Compute:
		return []item{activity, tensor, watts}
	case LaunchBound:
		return []item{with(used, launchUtilization, true), with(activity, launchActivity, false),
			{factOccupancy, "gpu_sm_occupancy_ratio", "occupancy", launchOccupancy, false}, watts}
	default:
		return []item{activity, tensor, dram, used, watts}
	}
}

func percent(v float64) string {
	if v > 0 && v < 0.1 {
		return fmt.Sprintf("%.1f %%", v*100)
	}
	return fmt.Sprintf("%.0f %%", v*100)
}

func gigabytes(v float64) string { return fmt.Sprintf("%.2g GB/s", v/1e9) }

func plain(v float64) string { return fmt.Sprintf("%.2g", v) }
