// Package gpu is the vocabulary shared by the agent and the plugin: what a GPU is called, what it is,
// in which unit it is measured, and why a measurement may be absent. It imports the standard library only.
package gpu

import "strconv"

// Identity names one GPU or one MIG instance for its whole life. The index that nvidia-smi prints is
// not part of it: indices are reused and renumbered.
//
// Ids of MIG instances are kept as text, because 0 is a valid id and the empty string means "whole GPU".
type Identity struct {
	Cluster         string
	Node            string
	UUID            string // of the physical GPU, also for a MIG instance
	GPUInstance     string // NVML GPU instance id, "" for a whole GPU
	ComputeInstance string // NVML compute instance id, "" when the GPU instance is meant as a whole
}

// IsMIG reports whether the identity is a MIG instance.
func (id Identity) IsMIG() bool { return id.GPUInstance != "" }

// Parent is the physical GPU of a MIG instance, or id itself.
func (id Identity) Parent() Identity {
	id.GPUInstance, id.ComputeInstance = "", ""
	return id
}

// Compare orders identities by cluster, node, UUID and instance, instances by number.
func (id Identity) Compare(other Identity) int {
	for _, pair := range [][2]string{
		{id.Cluster, other.Cluster}, {id.Node, other.Node}, {id.UUID, other.UUID},
	} {
		if c := compareText(pair[0], pair[1]); c != 0 {
			return c
		}
	}
	if c := compareNumber(id.GPUInstance, other.GPUInstance); c != 0 {
		return c
	}
	return compareNumber(id.ComputeInstance, other.ComputeInstance)
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

// compareNumber orders "" < "2" < "10" < "text".
func compareNumber(a, b string) int {
	if a == b {
		return 0
	}
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	if errX == nil && errY == nil {
		return x - y
	}
	return compareText(a, b)
}
