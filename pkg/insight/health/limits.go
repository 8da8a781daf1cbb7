package health

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight/sku"
)

// Limits are what values are held against. A limit with minutes beside it must have been passed without a break for as long.
// Where DCGM or NVIDIA has a limit it is theirs.
type Limits struct {
	// Busy is the activity (SM, graphics engine or GPU utilization, whichever is measured first) from which a GPU works.
	Busy float64 `json:"busy"`

	// CorrectedPerHour is how many corrected memory errors an hour may have, in every hour of CorrectedMinutes.
	CorrectedPerHour float64 `json:"correctedPerHour"`
	CorrectedMinutes float64 `json:"correctedMinutes"`
	// UncorrectedMinutes is how long an uncorrectable error counts.
	UncorrectedMinutes  float64 `json:"uncorrectedMinutes"`
	RemapPendingMinutes float64 `json:"remapPendingMinutes"`
	RemappedRows        float64 `json:"remappedRows"` // after uncorrectable errors, Ampere and newer
	RetiredPages        float64 `json:"retiredPages"` // before Ampere, of both kinds
	// RetiredDoubleBit pages are too many when more than one of them was retired within the range.
	RetiredDoubleBit float64 `json:"retiredDoubleBit"`

	PCIeReplayMinutes float64 `json:"pcieReplayMinutes"`
	PCIeLinkMinutes   float64 `json:"pcieLinkMinutes"`

	NVLinkErrors          float64 `json:"nvlinkErrors"` // replays and recoveries in NVLinkErrorMinutes
	NVLinkErrorMinutes    float64 `json:"nvlinkErrorMinutes"`
	NVLinkCRCPerSecond    float64 `json:"nvlinkCrcPerSecond"`
	NVLinkInactiveMinutes float64 `json:"nvlinkInactiveMinutes"`
	FabricMinutes         float64 `json:"fabricMinutes"` // without having joined the fabric

	MarginCelsius         float64 `json:"marginCelsius"`         // to the nearest slowdown point
	MarginCriticalCelsius float64 `json:"marginCriticalCelsius"` // below it the GPU is beyond that point
	MarginMinutes         float64 `json:"marginMinutes"`
	MemoryWarnCelsius     float64 `json:"memoryWarnCelsius"` // mean of MemoryMinutes; for models that are not in the table
	MemoryCriticalCelsius float64 `json:"memoryCriticalCelsius"`
	MemoryMinutes         float64 `json:"memoryMinutes"`

	HardwareThermalMinutes float64 `json:"hardwareThermalMinutes"`
	SoftwareThermalMinutes float64 `json:"softwareThermalMinutes"`
	PowerBrakeMinutes      float64 `json:"powerBrakeMinutes"`
	SlowdownMinutes        float64 `json:"slowdownMinutes"` // of the bit that clock changes set in passing as well
	ThermalShare           float64 `json:"thermalShare"`    // of time throttled by heat, mean of ten minutes
	ThermalShareMinutes    float64 `json:"thermalShareMinutes"`
	PowerCapShare          float64 `json:"powerCapShare"` // of the range, from which it is worth knowing

	MissingMinutes         float64 `json:"missingMinutes"`
	StaleMinutes           float64 `json:"staleMinutes"`
	ProfilingLostMinutes   float64 `json:"profilingLostMinutes"`
	ProfilingLostBusyRatio float64 `json:"profilingLostBusyRatio"` // GPU utilization that cannot be without activity
	ExporterMinutes        float64 `json:"exporterMinutes"`

	XIDHours         float64 `json:"xidHours"`         // how long an XID that nothing resolved counts
	XIDRepeats       int     `json:"xidRepeats"`       // faults of applications, on one GPU alone, that call for a diagnosis
	XIDFatal         int     `json:"xidFatal"`         // codes that need a reset or a reboot, that call for NVIDIA's support
	XIDFollowMinutes float64 `json:"xidFollowMinutes"` // how far behind its cause a consequence may be

	// TogetherMinutes is how far apart faults of nodes that share something may begin to be one incident.
	TogetherMinutes float64 `json:"togetherMinutes"`

	// Models are limits of single models by their name in the table of models, "H100" or "A100 80GB".
	Models map[string]ModelLimits `json:"models,omitempty"`
}

// ModelLimits are the limits that differ by model. What is nil is that of the table of models, or the general one.
type ModelLimits struct {
	MarginCelsius         *float64 `json:"marginCelsius,omitempty"`
	MarginCriticalCelsius *float64 `json:"marginCriticalCelsius,omitempty"`
	MemoryWarnCelsius     *float64 `json:"memoryWarnCelsius,omitempty"`
	MemoryCriticalCelsius *float64 `json:"memoryCriticalCelsius,omitempty"`
	NVLinks               *float64 `json:"nvlinks,omitempty"` // that should be active
}

// DefaultLimits are the limits when none are set. The caller may change the answer.
func DefaultLimits() Limits {
	beyondOfB200 := -3.0
	return Limits{
		Busy:             0.2,
		CorrectedPerHour: 100, CorrectedMinutes: 60,
		UncorrectedMinutes: 10, RemapPendingMinutes: 5, RemappedRows: 512, RetiredPages: 63, RetiredDoubleBit: 15,
		PCIeReplayMinutes: 5, PCIeLinkMinutes: 15,
		NVLinkErrors: 1, NVLinkErrorMinutes: 10, NVLinkCRCPerSecond: 100, NVLinkInactiveMinutes: 5, FabricMinutes: 5,
		MarginCelsius: 3, MarginCriticalCelsius: -2, MarginMinutes: 5,
		MemoryWarnCelsius: 95, MemoryCriticalCelsius: 105, MemoryMinutes: 10,
		HardwareThermalMinutes: 5, SoftwareThermalMinutes: 15, PowerBrakeMinutes: 5, SlowdownMinutes: 5,
		ThermalShare: 0.05, ThermalShareMinutes: 5, PowerCapShare: 0.5,
		MissingMinutes: 10, StaleMinutes: 15, ProfilingLostMinutes: 15, ProfilingLostBusyRatio: 0.9, ExporterMinutes: 5,
		XIDHours: 24, XIDRepeats: 2, XIDFatal: 5, XIDFollowMinutes: 5, TogetherMinutes: 10,
		Models: map[string]ModelLimits{"B200": {MarginCriticalCelsius: &beyondOfB200}},
	}
}

// Validate says which limits make no sense, by their keys.
func (l Limits) Validate() error {
	var errs []error
	check := func(key string, value, low, high float64) {
		if math.IsNaN(value) || value < low || value > high {
			errs = append(errs, fmt.Errorf("%s: %g must be from %g to %g", key, value, low, high))
		}
	}
	const week = 7 * 24 * 60
	for key, minutes := range map[string]float64{
		"correctedMinutes": l.CorrectedMinutes, "uncorrectedMinutes": l.UncorrectedMinutes, "remapPendingMinutes": l.RemapPendingMinutes,
		"pcieReplayMinutes": l.PCIeReplayMinutes, "pcieLinkMinutes": l.PCIeLinkMinutes, "nvlinkErrorMinutes": l.NVLinkErrorMinutes,
		"nvlinkInactiveMinutes": l.NVLinkInactiveMinutes, "fabricMinutes": l.FabricMinutes, "marginMinutes": l.MarginMinutes,
		"memoryMinutes": l.MemoryMinutes, "hardwareThermalMinutes": l.HardwareThermalMinutes,
		"softwareThermalMinutes": l.SoftwareThermalMinutes, "powerBrakeMinutes": l.PowerBrakeMinutes, "slowdownMinutes": l.SlowdownMinutes,
		"thermalShareMinutes": l.ThermalShareMinutes, "missingMinutes": l.MissingMinutes, "staleMinutes": l.StaleMinutes,
		"profilingLostMinutes": l.ProfilingLostMinutes, "exporterMinutes": l.ExporterMinutes, "xidFollowMinutes": l.XIDFollowMinutes,
		"togetherMinutes": l.TogetherMinutes,
	} {
		check(key, minutes, 0, week)
	}
	for key, share := range map[string]float64{
		"busy": l.Busy, "thermalShare": l.ThermalShare, "powerCapShare": l.PowerCapShare, "profilingLostBusyRatio": l.ProfilingLostBusyRatio,
	} {
		check(key, share, 0, 1)
	}
	for key, count := range map[string]float64{
		"correctedPerHour": l.CorrectedPerHour, "remappedRows": l.RemappedRows, "retiredPages": l.RetiredPages,
		"retiredDoubleBit": l.RetiredDoubleBit, "nvlinkErrors": l.NVLinkErrors, "nvlinkCrcPerSecond": l.NVLinkCRCPerSecond,
		"xidHours": l.XIDHours, "xidRepeats": float64(l.XIDRepeats), "xidFatal": float64(l.XIDFatal),
	} {
		check(key, count, 1, 1e9)
	}
	errs = append(errs, temperatures("", l.MarginCelsius, l.MarginCriticalCelsius, l.MemoryWarnCelsius, l.MemoryCriticalCelsius)...)
	for name, m := range l.Models {
		if !known(name) {
			errs = append(errs, fmt.Errorf("models.%s: the table of models has no such model", name))
			continue
		}
		of := l.of(name)
		errs = append(errs, temperatures("models."+name+".", of.margin, of.marginCritical, of.memoryWarn, of.memoryCritical)...)
		if m.NVLinks != nil {
			check("models."+name+".nvlinks", *m.NVLinks, 0, 1024)
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return compareText(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func temperatures(path string, margin, marginCritical, warn, critical float64) []error {
	var errs []error
	if !(marginCritical <= margin && margin < 100 && marginCritical > -100) {
		errs = append(errs, fmt.Errorf("%smarginCelsius: %g must be below 100 and not below marginCriticalCelsius, %g", path, margin, marginCritical))
	}
	if !(warn <= critical && warn >= 0 && critical < 200) {
		errs = append(errs, fmt.Errorf("%smemoryWarnCelsius: %g must be from 0 to memoryCriticalCelsius, %g, which must be below 200", path, warn, critical))
	}
	return errs
}

func known(name string) bool {
	return slices.ContainsFunc(sku.All(), func(s sku.SKU) bool { return s.Name() == name })
}

// ofModel are the limits of one model.
type ofModel struct {
	known                  bool
	name                   string
	margin, marginCritical float64
	hasMargin              bool // the value means what it says
	memoryWarn             float64
	memoryCritical         float64
	hasMemory              bool
	nvlinks                float64 // that should be active; 0 where nobody knows
	bridged                bool    // by bridges between boards, which a server may lack
	generation, width      float64
}

// of finds the limits of a model, whose name may be that of NVML or of the table.
func (l Limits) of(model string) ofModel {
	m := ofModel{
		margin: l.MarginCelsius, marginCritical: l.MarginCriticalCelsius, hasMargin: true,
		memoryWarn: l.MemoryWarnCelsius, memoryCritical: l.MemoryCriticalCelsius, hasMemory: true,
	}
	s, found := sku.Lookup(model)
	if !found {
		return m
	}
	m.known, m.name, m.hasMargin, m.hasMemory = true, s.Name(), s.Margin, s.MemoryWarnCelsius > 0
	if m.hasMemory {
		m.memoryWarn, m.memoryCritical = s.MemoryWarnCelsius, s.MemoryCriticalCelsius
	}
	m.nvlinks, m.generation, m.width = float64(s.NVLinks), float64(s.PCIeGeneration), float64(s.PCIeWidth)
	m.bridged = slices.ContainsFunc(s.Words, func(w string) bool { return w == "PCIe" || w == "PCIE" || w == "NVL" }) ||
		(s.NVLinks > 0 && s.NVLinks < 6)
	for to, from := range map[*float64]*float64{
		&m.margin: l.Models[m.name].MarginCelsius, &m.marginCritical: l.Models[m.name].MarginCriticalCelsius,
		&m.memoryWarn: l.Models[m.name].MemoryWarnCelsius, &m.memoryCritical: l.Models[m.name].MemoryCriticalCelsius,
		&m.nvlinks: l.Models[m.name].NVLinks,
	} {
		if from != nil {
			*to = *from
		}
	}
	if l.Models[m.name].NVLinks != nil {
		m.bridged = false
	}
	return m
}

// virtual reports whether a model is a vGPU: "GRID A100-10C", "NVIDIA L40S-48Q". Only they need a licence.
func virtual(model string) bool {
	last := len(model) - 1
	if len(model) >= 5 && model[:5] == "GRID " {
		return true
	}
	if last < 2 || (model[last] != 'Q' && model[last] != 'C' && model[last] != 'A' && model[last] != 'B') {
		return false
	}
	digits := last
	for digits > 0 && model[digits-1] >= '0' && model[digits-1] <= '9' {
		digits--
	}
	return digits < last && digits > 0 && model[digits-1] == '-' && gpu.ShortModel(model) != ""
}
