// Package sku is the table of what GPU models can do by their data sheets: peaks, bandwidths, links, and limits of
// temperature. It is data, in skus.yaml; a model that is not in it has no limits, and judgements say so.
package sku

import (
	"bytes"
	_ "embed" // for the table
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// SKU is one model. A zero means that the data sheet names no value, or that the model has no such thing.
type SKU struct {
	// Words are those that a model's name must have, in any order and any case: "H100", "PCIe".
	Words        []string `yaml:"words"`
	Architecture string   `yaml:"architecture"` // "Hopper"

	MemoryBytes             float64 `yaml:"memory_bytes"`
	MemoryBytesPerSecond    float64 `yaml:"memory_bytes_per_second"`
	BF16FlopsPerSecond      float64 `yaml:"bf16_flops_per_second"`      // dense; FP16 where there is no BF16
	FP8FlopsPerSecond       float64 `yaml:"fp8_flops_per_second"`       // dense
	ReachableFlopsPerSecond float64 `yaml:"reachable_flops_per_second"` // largest BF16 matmul rate that anybody measured
	PowerWatts              float64 `yaml:"power_watts"`

	PCIeGeneration       int     `yaml:"pcie_generation"`
	PCIeWidth            int     `yaml:"pcie_width"`
	NVLinks              int     `yaml:"nvlinks"`
	NVLinkBytesPerSecond float64 `yaml:"nvlink_bytes_per_second"` // of all links, both directions together

	MemoryWarnCelsius     float64 `yaml:"memory_warn_celsius"`
	MemoryCriticalCelsius float64 `yaml:"memory_critical_celsius"`
	// Margin reports whether the model tells how far it is from its temperature limit.
	Margin bool `yaml:"margin"`

	ComputeSlices int `yaml:"compute_slices"` // of MIG; 0 without it
	MemorySlices  int `yaml:"memory_slices"`
}

// Name is the words together.
func (s SKU) Name() string { return strings.Join(s.Words, " ") }

//go:embed skus.yaml
var source []byte

// table is read when it is first asked for. A test reads it, so there is no error to return here.
var table = sync.OnceValue(func() []SKU {
	skus, err := parse(source)
	if err != nil {
		panic("insight/sku: the built-in table is broken: " + err.Error())
	}
	return skus
})

func parse(raw []byte) ([]SKU, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true)
	var skus []SKU
	if err := decoder.Decode(&skus); err != nil {
		return nil, fmt.Errorf("read table of models: %w", err)
	}
	for i, s := range skus {
		if len(s.Words) == 0 {
			return nil, fmt.Errorf("read table of models: row %d has no words", i+1)
		}
	}
	return skus, nil
}

// Lookup finds the row whose words are all in a model's name, the one with the most words. It is false for a model that
// is not in the table. Names are those of NVML and of Kubernetes' labels alike, with or without the vendor's words.
func Lookup(model string) (SKU, bool) {
	words := strings.Fields(strings.ToLower(gpu.ShortModel(model)))
	var best SKU
	for _, s := range table() {
		if len(s.Words) > len(best.Words) && s.matches(words) {
			best = s
		}
	}
	return best, len(best.Words) > 0
}

func (s SKU) matches(words []string) bool {
	for _, w := range s.Words {
		if !slices.Contains(words, strings.ToLower(w)) {
			return false
		}
	}
	return true
}

// All are the rows of the table.
func All() []SKU { return slices.Clone(table()) }
