package timeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// key is what makes two series the same line: the device, and for a group or a PromQL result its labels.
type key struct {
	id     gpu.Identity
	labels string
}

func keyOf(device gpu.Device, labels map[string]string) key {
	return key{id: device.Identity, labels: flatten(labels)}
}

// flatten is the labels in the order of their names. 0xff never occurs in valid UTF-8, so no two sets are alike.
func flatten(labels map[string]string) string {
	if len(labels) == 0 {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString(name)
		b.WriteByte(0xff)
		b.WriteString(labels[name])
		b.WriteByte(0xff)
	}
	return b.String()
}

func (k key) compare(other key) int {
	if c := k.id.Compare(other.id); c != 0 {
		return c
	}
	return cmp.Compare(k.labels, other.labels)
}

// board is the part of an identity that every source agrees on. Exporters disagree on how a node is written
// ("GPU01" and "gpu01.example.com") and on whether a MIG instance names its compute instance; UUIDs are unique.
type board struct {
	cluster, uuid, instance, labels string
}

// board returns false for a series that has no UUID to go by.
func (k key) board() (board, bool) {
	return board{k.id.Cluster, k.id.UUID, k.id.GPUInstance, k.labels}, k.id.UUID != ""
}

// sortSeries puts series in the order of their devices, then of their labels.
func sortSeries(series []gpu.Series) {
	slices.SortStableFunc(series, func(a, b gpu.Series) int {
		return keyOf(a.Device, a.Labels).compare(keyOf(b.Device, b.Labels))
	})
}
