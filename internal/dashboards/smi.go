package dashboards

import (
	"regexp"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// description is a panel's help in Markdown.
func (p Panel) description(known *catalog.Catalog) string {
	smi := p.Help.SMI
	if smi == "" {
		smi = smiOf(p.Queries, known)
	}
	return "**Shows** " + p.Help.Shows + "\n\n**Matters** " + p.Help.Matters + "\n\n**Do** " + p.Help.Do + "\n\n**nvidia-smi:** " + smi
}

// queried is a field of nvidia-smi --query-gpu.
var queried = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)*$`)

// smiOf is how a node shows the metrics of some queries, from the catalogue.
func smiOf(all []Query, known *catalog.Catalog) string {
	var fields, others []string
	for _, name := range metricsOf(all) {
		m, found := known.Metric(name)
		if !found {
			continue
		}
		for field := range strings.SplitSeq(m.NvidiaSMI, " / ") {
			if text := command(name, field); queried.MatchString(field) {
				fields = append(fields, field)
			} else if !strings.Contains(strings.Join(others, "\n"), text) {
				others = append(others, text)
			}
		}
	}
	if len(fields) > 0 {
		others = append([]string{"`nvidia-smi --query-gpu=" + strings.Join(fields, ",") + " --format=csv`"}, others...)
	}
	if len(others) == 0 {
		return "none"
	}
	return strings.Join(others, "; ")
}

// command is how a node shows one metric that is no field of a query, by what the catalogue notes.
func command(metric, note string) string {
	bare, about, _ := strings.Cut(note, " (")
	switch {
	case note == "":
		return "none: it is a number of the workload, not of the GPU"
	case note == "(kernel log)":
		return "none; `dmesg -T | grep -i xid`"
	case strings.HasPrefix(note, "("):
		return "none; NVML alone has it"
	case strings.HasPrefix(note, "gpm "):
		return "none; `dcgmi dmon -e " + profilingField(metric) + "`"
	case strings.HasPrefix(note, "dcgmi "):
		return "none; `" + note + "`"
	}
	text := "`nvidia-smi " + bare + "`"
	if about != "" {
		text += " (" + strings.TrimSuffix(about, ")") + ")"
	}
	return text
}

// profilingField is DCGM's number of a profiling metric.
func profilingField(metric string) string {
	number := map[string]string{
		"gpu_graphics_engine_active_ratio": "1001", "gpu_sm_active_ratio": "1002", "gpu_sm_occupancy_ratio": "1003", "gpu_tensor_active_ratio": "1004",
		"gpu_dram_active_ratio": "1005", "gpu_fp64_active_ratio": "1006", "gpu_fp32_active_ratio": "1007", "gpu_fp16_active_ratio": "1008",
	}[metric]
	if number == "" {
		return "1001,1002,1004"
	}
	return number
}
