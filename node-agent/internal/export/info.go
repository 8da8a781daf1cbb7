package export

import (
	"strconv"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// The series that no row of the catalogue speaks of.
const (
	agentInfo, windowSeconds        = "warpwatch_agent_info", "warpwatch_agent_window_seconds"
	sourceState, deviceState        = "warpwatch_agent_source_state", "warpwatch_agent_device_state"
	gpuInfo, boardInfo, migInfo     = "gpu_info", "gpu_board_info", "gpu_mig_info"
	driverInfo, ownerInfo           = "gpu_driver_info", "gpu_owner_info"
	sampleTimestamp                 = "gpu_sample_timestamp_seconds"
	xidTimestamp, eventsTotal       = "gpu_xid_last_timestamp_seconds", "gpu_events_total"
	processMemory, processSM        = "gpu_process_memory_bytes", "gpu_process_sm_ratio"
	kindGauge, kindCounter          = "gauge", "counter"
	labelXID, labelKind, labelState = "xid", "kind", "state"
)

// helps are what the series say about themselves.
func helps() map[string]string {
	return map[string]string{
		agentInfo:       "The agent and where its live stream is; an empty address is the address of the scrape. Always 1.",
		windowSeconds:   "How much of the past the metrics with window in their name cover; up to a fifteenth more.",
		sourceState:     "How the source of the readings is: 1 for the state it is in.",
		deviceState:     "How a GPU is: 1 for the state it is in.",
		gpuInfo:         "What a GPU is; always 1.",
		boardInfo:       "What else is known of a GPU; always 1.",
		migInfo:         "What a MIG instance is, and where it lies on its GPU, in memory slices; always 1.",
		driverInfo:      "Versions of the driver and its parts; always 1.",
		ownerInfo:       "Which workload was given a GPU or MIG instance, or uses it; always 1.",
		sampleTimestamp: "When the metrics of a group were last measured.",
		xidTimestamp:    "When the driver last reported the XID error.",
		eventsTotal:     "Events of a GPU since the agent started, other than XID errors.",
		processMemory:   "Device memory that a process uses.",
		processSM:       "Share of the time in which kernels of a process were running.",
	}
}

func seriesHeader(name, kind string) []byte { return header(name, helps()[name], kind) }

// appendAgent writes what is there before the first sample, too.
func (e *Exporter) appendAgent(dst []byte) []byte {
	n, id := e.o.Node, e.o.Identity
	dst = append(dst, seriesHeader(agentInfo, kindGauge)...)
	dst = append(dst, agentInfo+"{"+nodeLabels(n)+label("version", n.Version)+label("address", id.Address)+
		label("scheme", id.Scheme)+label("source", n.Source)+"} 1\n"...)
	if e.window != nil {
		dst = append(dst, seriesHeader(windowSeconds, kindGauge)...)
		dst = append(dst, windowSeconds+"{"+nodeLabels(n)+"} "+strconv.FormatFloat(e.window.Length.Seconds(), 'g', -1, 64)+"\n"...)
	}
	return dst
}

// appendFacts writes what the devices are.
func (e *Exporter) appendFacts(dst []byte, l *layout, s *snapshot.Status) []byte {
	facts := map[string]device.Facts{}
	for _, b := range s.Boards {
		facts[b.Device.UUID] = b.Facts
	}
	boards, details, instances := infoFamily{name: gpuInfo}, infoFamily{name: boardInfo}, infoFamily{name: migInfo}
	for i, d := range l.schema.Devices {
		f := facts[d.UUID]
		if d.IsMIG() {
			instances.add(l.labels[i] + migLabels(d, l.labels[i], f))
			continue
		}
		boards.add(l.labels[i] + label("pci_bus_id", d.PCIBusID) + label("driver_version", d.Driver) +
			label("mig_enabled", strconv.FormatBool(d.MIGEnabled)))
		if more := factLabels(f); more != "" {
			details.add(l.labels[i] + more)
		}
	}
	dst = append(append(append(dst, boards.text...), details.text...), instances.text...)
	if l.schema.Driver != "" {
		driver := infoFamily{name: driverInfo}
		driver.add(nodeLabels(e.o.Node) + label("driver_version", l.schema.Driver) +
			known("nvml_version", s.Versions.NVML) + known("cuda_version", s.Versions.CUDA))
		dst = append(dst, driver.text...)
	}
	return dst
}

// infoFamily collects the series of an info metric.
type infoFamily struct {
	name string
	text []byte
}

func (f *infoFamily) add(labels string) {
	if f.text == nil {
		f.text = seriesHeader(f.name, kindGauge)
	}
	f.text = append(f.text, f.name+"{"+labels+"} 1\n"...)
}

// migLabels are what is known of an instance besides the labels that it has everywhere.
func migLabels(d gpu.Device, have string, f device.Facts) string {
	text := label("mig_uuid", d.MIGUUID)
	if have == labels(d) { // else it is there already
		text += label("compute_instance_id", d.ComputeInstance)
	}
	if p, ok := f.Placements[d.GPUInstance]; ok {
		text += label("placement_start", strconv.Itoa(p.Start)) + label("placement_size", strconv.Itoa(p.Size))
	}
	return text
}

func factLabels(f device.Facts) string {
	number := func(name string, n int) string {
		if n < 0 {
			return ""
		}
		return label(name, strconv.Itoa(n))
	}
	text := known("serial", f.Serial) + known("brand", f.Brand) + known("architecture", f.Architecture) +
		known("compute_capability", f.ComputeCapability) + known("vbios_version", f.VBIOS) + known("inforom_version", f.InfoROM) +
		known("part_number", f.BoardPart)
	if text == "" && f.Cores <= 0 {
		return "" // nothing was read
	}
	text += number("minor", f.Minor)
	if f.SharedMemory {
		text += label("memory", "host") // what is shown as the GPU's is the host's, which both use
	}
	if f.MemoryBusBits > 0 {
		text += number("memory_bus_bits", f.MemoryBusBits)
	}
	if f.Cores > 0 {
		text += number("cores", f.Cores)
	}
	return text
}

// appendSampled writes when the groups were measured.
func (e *Exporter) appendSampled(dst []byte, f *snapshot.Frame) []byte {
	if f.Sampled == nil {
		return dst
	}
	if e.layout.sampled == nil {
		e.layout.sampled = seriesHeader(sampleTimestamp, kindGauge)
		for g := range device.NumGroups {
			e.layout.groups[g] = []byte(sampleTimestamp + "{" + nodeLabels(e.o.Node) + label("group", g.String()) + "} ")
		}
	}
	started := false
	for g := range device.NumGroups {
		at := f.Sampled[g]
		if at.IsZero() {
			continue
		}
		if !started {
			dst, started = append(dst, e.layout.sampled...), true
		}
		dst = append(dst, e.layout.groups[g]...)
		dst = append(strconv.AppendFloat(dst, float64(at.UnixMilli())/1000, 'f', -1, 64), '\n')
	}
	return dst
}
