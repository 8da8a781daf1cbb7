package sku

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTableIsConsistent(t *testing.T) {
	skus, err := parse(source)
	require.NoError(t, err)
	seen := make(map[string]bool)
	for _, s := range skus {
		assert.False(t, seen[s.Name()], "%s stands there twice", s.Name())
		seen[s.Name()] = true
		assert.Positive(t, s.MemoryBytes, s.Name())
		assert.Positive(t, s.MemoryBytesPerSecond, s.Name())
		assert.Positive(t, s.BF16FlopsPerSecond, s.Name())
		assert.Less(t, s.ReachableFlopsPerSecond, s.BF16FlopsPerSecond, s.Name())
		assert.Equal(t, s.NVLinks > 0, s.NVLinkBytesPerSecond > 0, s.Name())
		assert.Equal(t, s.ComputeSlices > 0, s.MemorySlices > 0, s.Name())
		assert.LessOrEqual(t, s.MemoryWarnCelsius, s.MemoryCriticalCelsius, s.Name())
		found, ok := Lookup("NVIDIA " + s.Name())
		assert.True(t, ok, s.Name())
		assert.Equal(t, s.Name(), found.Name())
	}
}

func TestLookup(t *testing.T) {
	for model, want := range map[string]string{
		"NVIDIA H100 80GB HBM3":          "H100",
		"NVIDIA-H100-80GB-HBM3":          "H100",
		"NVIDIA H100 PCIe":               "H100 PCIe",
		"NVIDIA H100 NVL":                "H100 NVL",
		"NVIDIA H200":                    "H200",
		"NVIDIA A100-SXM4-80GB":          "A100 80GB",
		"NVIDIA A100-SXM4-40GB":          "A100",
		"A100-PCIE-40GB":                 "A100 PCIE 40GB",
		"NVIDIA A100 80GB PCIe":          "A100 80GB PCIe",
		"Tesla V100-SXM2-32GB":           "V100 SXM2",
		"Tesla T4":                       "T4",
		"NVIDIA GH200 480GB":             "GH200",
		"NVIDIA GB200":                   "GB200",
		"NVIDIA L40S":                    "L40S",
		"NVIDIA B200":                    "B200",
		"NVIDIA GeForce RTX 4090":        "",
		"AMD Instinct MI300X":            "",
		"":                               "",
		"NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada",
	} {
		got, ok := Lookup(model)
		assert.Equal(t, want, got.Name(), model)
		assert.Equal(t, want != "", ok, model)
	}
}

func TestUnknownKeysAreRefused(t *testing.T) {
	_, err := parse([]byte("- words: [X]\n  memory: 3\n"))
	require.ErrorContains(t, err, "memory")
	_, err = parse([]byte("- architecture: X\n"))
	require.ErrorContains(t, err, "no words")
}
