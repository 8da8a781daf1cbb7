package timeline

import (
	"fmt"
	"math"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// By says which devices make one line.
type By uint8

// The ways to group devices.
const (
	ByIdentity By = iota // each GPU and MIG instance its own
	ByNode
	ByCluster
	ByModel
)

// ParseBy reads the name used in queries; the empty string is "identity".
func ParseBy(name string) (By, error) {
	switch name {
	case "", "identity":
		return ByIdentity, nil
	case "node":
		return ByNode, nil
	case "cluster":
		return ByCluster, nil
	case "model":
		return ByModel, nil
	}
	return 0, fmt.Errorf("aggregate by %q: use identity, node, cluster or model", name)
}

// Fn makes one value of several.
type Fn uint8

// The ways to aggregate.
const (
	Avg Fn = iota
	Max
	Min
	Sum
)

// ParseFn reads the name used in queries; the empty string is "avg".
func ParseFn(name string) (Fn, error) {
	switch name {
	case "", "avg":
		return Avg, nil
	case "max":
		return Max, nil
	case "min":
		return Min, nil
	case "sum":
		return Sum, nil
	}
	return 0, fmt.Errorf("aggregate with %q: use avg, max, min or sum", name)
}

// Aggregation is how devices are put together. The zero value leaves each device on its own.
type Aggregation struct {
	By By
	Fn Fn
	// Relative values are shares of the device itself, like utilization. In an average of several devices a MIG instance
	// then counts by its part of the GPU, see [gpu.Device.Share]: 1 g that is busy does not make a GPU busy.
	Relative bool
}

// weight is what a device counts in an average.
func (a Aggregation) weight(d gpu.Device) float64 {
	if a.Relative {
		return d.Share()
	}
	return 1
}

// group is the labels of the line that a device is part of.
func (a Aggregation) group(d gpu.Device) map[string]string {
	labels := make(map[string]string, 2)
	set := func(name, value string) {
		if value != "" {
			labels[name] = value
		}
	}
	switch a.By {
	case ByNode:
		set("cluster", d.Cluster)
		set("node", d.Node)
	case ByCluster:
		set("cluster", d.Cluster)
	case ByModel:
		// Exporters and node labels write a model in ways of their own.
		set("model", gpu.ShortModel(d.Model))
	}
	return labels
}

// fold aggregates the values of one point in time. Its zero value has none.
type fold struct {
	n             int
	sum, min, max float64
	weighted      float64 // sum of the values times their weights
	weight        float64 // sum of the weights
}

func (f *fold) add(v, weight float64) {
	if math.IsNaN(v) {
		return
	}
	if f.n == 0 {
		f.min, f.max = v, v
	}
	f.n++
	f.sum += v
	f.weighted += v * weight
	f.weight += weight
	f.min, f.max = min(f.min, v), max(f.max, v)
}

// value is NaN when nothing was added.
func (f *fold) value(fn Fn) float64 {
	switch {
	case f.n == 0:
		return math.NaN()
	case fn == Max:
		return f.max
	case fn == Min:
		return f.min
	case fn == Sum:
		return f.sum
	}
	return f.weighted / f.weight
}
