package bottleneck

import (
	"bytes"
	_ "embed" // for the table
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/sku"
)

// Limit names one number of the table. Shares and activities are ratios.
type Limit string

// bounds are what a limit may be.
type bounds struct{ low, high float64 }

// position of each limit in a row of numbers.
type position int

const (
	windowSeconds position = iota
	holdSeconds
	samples
	stick
	idleActivity
	idlePCIe
	lostUtilization
	thermalShare
	thermalSamples
	thermalDeficit
	brakeShare
	capShare
	capDeficit
	memoryUsed
	memorySwing
	kvCache
	inputActivity
	inputPCIe
	inputData
	commShare
	dipLow
	dipHigh
	dipGPUs
	linkShare
	waitTensor
	waitPower
	waitActivity
	waitOthers
	waitSpread
	bandwidth
	computeTensor
	computeActivity
	computeAlone
	launchUtilization
	launchActivity
	launchResident
	launchOccupancy
	powerBusy
	powerSlack
	jobShare
	positions
)

// names gives each limit its key and what it may be; the remarks say what it is held against.
func names() [positions]struct {
	name string
	bounds
} {
	type row = struct {
		name string
		bounds
	}
	share := bounds{0, 1}
	return [positions]row{
		windowSeconds:     {"windowSeconds", bounds{1, 86400}}, // what a verdict is taken from
		holdSeconds:       {"holdSeconds", bounds{0, 86400}},   // how long another verdict must hold before it takes over
		samples:           {"samples", bounds{1, 1000}},        // that a window needs; fewer where steps are longer than the window
		stick:             {"stick", bounds{0, 0.9}},           // how far limits are relaxed for the present verdict
		idleActivity:      {"idle", share},                     // SM, tensor and DRAM below it
		idlePCIe:          {"idlePcieBytesPerSecond", bounds{0, 1e13}},
		lostUtilization:   {"lostUtilization", share},      // GPU utilization that cannot be without graphics engine activity
		thermalShare:      {"thermalShare", share},         // of time held down by heat, as the driver counts it
		thermalSamples:    {"thermalSamples", share},       // of samples with a bit of heat set
		thermalDeficit:    {"thermalDeficit", share},       // of clock
		brakeShare:        {"powerBrakeShare", share},      // of time or samples
		capShare:          {"powerCapShare", share},        // of time or samples
		capDeficit:        {"powerCapDeficit", share},      // of clock
		memoryUsed:        {"memoryUsed", share},           // of what can be used
		memorySwing:       {"memorySwing", bounds{0, 100}}, // coefficient of variation of SM activity
		kvCache:           {"kvCache", share},              // of a server that takes all memory at its start
		inputActivity:     {"inputActivity", share},        // SM below it
		inputPCIe:         {"inputPcieShare", share},       // of what the link can carry towards the GPU
		inputData:         {"inputDataShare", share},       // of a step
		commShare:         {"commShare", share},            // of a step, of the rank that waits least
		dipLow:            {"dipLow", share},               // SM activity in a dip
		dipHigh:           {"dipHigh", share},              // and between dips
		dipGPUs:           {"dipGpus", share},              // of the job that dip at once
		linkShare:         {"linkShare", share},            // of what NVLink can carry
		waitTensor:        {"waitTensor", share},           // tensor activity below it
		waitPower:         {"waitPowerShare", share},       // of the power limit, below it
		waitActivity:      {"waitActivity", share},         // graphics engine above it: kernels are resident
		waitOthers:        {"waitOthers", share},           // of the job that may do otherwise; one GPU always may
		waitSpread:        {"waitSpread", share},           // of a step that most wait longer in collectives than one rank
		bandwidth:         {"memoryBandwidth", share},      // DRAM activity; 0.8 is all that can be had
		computeTensor:     {"computeTensor", share},        // with computeActivity
		computeActivity:   {"computeActivity", share},      // SM, with computeTensor
		computeAlone:      {"computeAlone", share},         // SM, whatever the tensor cores do
		launchUtilization: {"launchUtilization", share},    // GPU utilization or graphics engine, with launchActivity
		launchActivity:    {"launchActivity", share},       // SM below it
		launchResident:    {"launchResident", share},       // SM, with launchOccupancy
		launchOccupancy:   {"launchOccupancy", share},      // warps below it
		powerBusy:         {"powerBusy", share},            // share of the power limit that makes utilization alone credible
		powerSlack:        {"powerSlack", share},           // share of it below which utilization alone is not
		jobShare:          {"jobShare", share},             // of a job's GPUs that have a verdict for the job to have it
	}
}

// numbers are the limits that hold for one subject.
type numbers [positions]float64

// Limits is the table of limits: those of everything, and what differs by class of work and by model.
type Limits struct {
	// Default must have all of them.
	Default map[Limit]float64 `json:"default"`
	// Classes are what differs for a class of work.
	Classes map[insight.Class]map[Limit]float64 `json:"classes,omitempty"`
	// Models are what differs for a model, by its name in the table of models, or as the driver calls it without the
	// vendor's words. A model goes before a class.
	Models map[string]map[Limit]float64 `json:"models,omitempty"`
}

//go:embed limits.json
var table []byte

// DefaultLimits is the built-in table. It is the caller's to change.
func DefaultLimits() Limits {
	var limits Limits
	// A test reads the table, so there is no error to return here.
	if err := strict(table, &limits); err != nil {
		panic("insight/bottleneck: the built-in table is broken: " + err.Error())
	}
	return limits
}

func strict(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into) //nolint:wrapcheck // The caller says what was read.
}

// Merge puts limits that are given in part over these, which it does not change.
func (l Limits) Merge(part json.RawMessage) (Limits, error) {
	merged := Limits{Default: maps.Clone(l.Default), Classes: maps.Clone(l.Classes), Models: maps.Clone(l.Models)}
	if len(part) == 0 {
		return merged, merged.Validate()
	}
	var over Limits
	if err := strict(part, &over); err != nil {
		return l, fmt.Errorf("read limits: %w", err)
	}
	if merged.Default == nil {
		merged.Default = map[Limit]float64{}
	}
	maps.Copy(merged.Default, over.Default)
	merged.Classes = mergeMaps(merged.Classes, over.Classes)
	merged.Models = mergeMaps(merged.Models, over.Models)
	return merged, merged.Validate()
}

func mergeMaps[K comparable](base, over map[K]map[Limit]float64) map[K]map[Limit]float64 {
	for key, values := range over {
		if base == nil {
			base = map[K]map[Limit]float64{}
		}
		both := maps.Clone(base[key])
		if both == nil {
			both = map[Limit]float64{}
		}
		maps.Copy(both, values)
		base[key] = both
	}
	return base
}

// Validate says everything that is wrong with the table, by key.
func (l Limits) Validate() error {
	known := map[Limit]bounds{}
	var wrong []error
	for _, n := range names() {
		known[Limit(n.name)] = n.bounds
		if _, has := l.Default[Limit(n.name)]; !has {
			wrong = append(wrong, fmt.Errorf("default.%s is missing", n.name))
		}
	}
	check := func(path string, values map[Limit]float64) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			b, isKnown := known[name]
			switch v := values[name]; {
			case !isKnown:
				wrong = append(wrong, fmt.Errorf("%s.%s is no limit; there are %v", path, name, slices.Sorted(maps.Keys(known))))
			case math.IsNaN(v) || v < b.low || v > b.high:
				wrong = append(wrong, fmt.Errorf("%s.%s: %v must be from %v to %v", path, name, v, b.low, b.high))
			case path != "default" && slices.Contains([]Limit{"windowSeconds", "holdSeconds", "samples", "jobShare"}, name):
				wrong = append(wrong, fmt.Errorf("%s.%s cannot differ by class or model", path, name))
			}
		}
	}
	check("default", l.Default)
	for _, class := range slices.Sorted(maps.Keys(l.Classes)) {
		if class != insight.Training && class != insight.Inference {
			wrong = append(wrong, fmt.Errorf("classes.%s: must be training or inference", class))
		}
		check("classes."+string(class), l.Classes[class])
	}
	for _, model := range slices.Sorted(maps.Keys(l.Models)) {
		if model == "" {
			wrong = append(wrong, errors.New("models: a model without a name"))
		}
		check("models."+model, l.Models[model])
	}
	return errors.Join(wrong...)
}

// limitsOf finds the limits and the data sheet of subjects, and keeps them by class and model.
type limitsOf struct {
	limits Limits
	base   numbers
	known  map[limitsKey]*ofModel
	last   *ofModel
	lastOf limitsKey
}

type limitsKey struct {
	class insight.Class
	model string
}

// ofModel is what holds for all subjects of one model and class.
type ofModel struct {
	numbers
	sku     sku.SKU
	hasSKU  bool
	pcie    float64 // bytes per second towards the GPU by the data sheet, NaN when not known
	nvlink  float64 // bytes per second of all links in both directions; 0 when it has none, NaN when not known
	watts   float64 // NaN when not known
	byModel string
}

func newLimitsOf(limits Limits) *limitsOf {
	l := &limitsOf{limits: limits, known: map[limitsKey]*ofModel{}}
	l.base.put(limits.Default)
	return l
}

func (n *numbers) put(values map[Limit]float64) {
	if len(values) == 0 {
		return
	}
	for at, row := range names() {
		if v, has := values[Limit(row.name)]; has {
			n[at] = v
		}
	}
}

func (l *limitsOf) of(class insight.Class, model string) *ofModel {
	key := limitsKey{class, model}
	if l.last != nil && l.lastOf == key {
		return l.last
	}
	m, known := l.known[key]
	if !known {
		m = &ofModel{numbers: l.base, pcie: math.NaN(), nvlink: math.NaN(), watts: math.NaN()}
		m.put(l.limits.Classes[class])
		m.byModel = gpu.ShortModel(model)
		if m.sku, m.hasSKU = sku.Lookup(model); m.hasSKU {
			m.byModel = m.sku.Name()
			m.pcie = pcieBytes(m.sku.PCIeGeneration, m.sku.PCIeWidth)
			m.nvlink = m.sku.NVLinkBytesPerSecond
			if m.sku.PowerWatts > 0 {
				m.watts = m.sku.PowerWatts
			}
		}
		m.put(l.limits.Models[m.byModel])
		l.known[key] = m
	}
	l.last, l.lastOf = m, key
	return m
}

// pcieBytes is what a link carries in one direction, bytes per second; NaN for a link that nobody knows.
func pcieBytes(generation, width int) float64 {
	perLane := [...]float64{0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9}
	if generation < 1 || generation >= len(perLane) || width < 1 || width > 32 {
		return math.NaN()
	}
	return perLane[generation] * float64(width)
}
