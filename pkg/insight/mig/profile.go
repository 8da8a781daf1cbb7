package mig

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Shape is what the name of a profile says: "1c.3g.40gb+me".
type Shape struct {
	Compute int // slices of the GPU instance: the 3 of 3g
	// Instance is how many of them the compute instance has: the 1 of 1c, Compute where the name has none.
	Instance  int
	Gigabytes int    // of memory, as the name says it; NVIDIA rounds
	Suffix    string // "me": with the media engines; "gfx", "me.all", "-me"; "" without
}

// maxNumber bounds the numbers in a profile's name.
const maxNumber = 4096

// Parse reads the name of a profile, with or without "MIG " in front of it.
func Parse(name string) (Shape, error) {
	fail := func() (Shape, error) {
		return Shape{}, fmt.Errorf("MIG profile %q must be like 3g.40gb, 1g.10gb+me or 1c.3g.40gb", name)
	}
	text := strings.TrimSpace(name)
	if cut, ok := strings.CutPrefix(text, "MIG "); ok {
		text = cut
	}
	var s Shape
	if at := strings.IndexAny(text, "+-"); at >= 0 {
		s.Suffix = strings.TrimPrefix(text[at:], "+")
		text = text[:at]
		if strings.Trim(s.Suffix, "-") == "" {
			return fail()
		}
	}
	parts := strings.Split(text, ".")
	if len(parts) == 3 {
		n, ok := counted(parts[0], "c")
		if !ok {
			return fail()
		}
		s.Instance, parts = n, parts[1:]
	}
	if len(parts) != 2 {
		return fail()
	}
	var ok bool
	if s.Compute, ok = counted(parts[0], "g"); !ok {
		return fail()
	}
	if s.Gigabytes, ok = counted(parts[1], "gb"); !ok {
		return fail()
	}
	if s.Instance == 0 {
		s.Instance = s.Compute
	}
	if s.Instance > s.Compute {
		return fail()
	}
	return s, nil
}

func counted(text, unit string) (int, bool) {
	digits, ok := strings.CutSuffix(text, unit)
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0 && n <= maxNumber && digits[0] != '+'
}

// Part is which part of its GPU an instance is.
type Part struct {
	// Weight is the larger of the instance's shares of compute and of memory slices, what others cannot have because of it.
	// Weights of all instances of a GPU may come to a little more than 1: 4g.40gb and 3g.40gb are 4/7 and 4/8.
	Weight float64
	// Compute is the share of compute slices alone, Memory that of memory slices.
	Compute, Memory float64
	// Known is false where the profile is not known: the part is then that of the smallest profile.
	Known bool
}

// PartOf says which part of its GPU a device is. A whole GPU is all of it; a compute instance that is a part of its GPU
// instance has its share of it. The compute slices are those of the model, 7 for one that is not known.
func PartOf(d gpu.Device) Part {
	if !d.IsMIG() {
		return Part{Weight: 1, Compute: 1, Memory: 1, Known: true}
	}
	table, _ := Lookup(d.Model)
	shape, err := Parse(d.MIGProfile)
	if err != nil || shape.Compute > table.ComputeSlices {
		return Part{
			Weight:  max(1/float64(table.ComputeSlices), 1/float64(table.MemorySlices)),
			Compute: 1 / float64(table.ComputeSlices), Memory: 1 / float64(table.MemorySlices),
		}
	}
	memory := float64(table.memoryOf(shape)) / float64(table.MemorySlices)
	compute := float64(shape.Compute) / float64(table.ComputeSlices)
	share := float64(shape.Instance) / float64(shape.Compute)
	return Part{Weight: max(compute, memory) * share, Compute: compute * share, Memory: memory * share, Known: true}
}
