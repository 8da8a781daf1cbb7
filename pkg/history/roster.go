package history

import (
	"cmp"
	"slices"
	"strings"
	"unique"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// deviceKey is what all exporters agree on about a device. Node names are no part of it: each exporter has its own idea
// of them. Compute instances are not told apart, because series are of GPU instances.
//
// It is as small as a pointer, because maps by it are what most of an answer's time would go into.
type deviceKey struct{ unique.Handle[keyTexts] }

type keyTexts struct{ cluster, uuid, instance string }

func keyFor(cluster, uuid, instance string) deviceKey {
	return deviceKey{unique.Make(keyTexts{cluster, uuid, instance})}
}

func keyOf(d gpu.Device) deviceKey { return keyFor(d.Cluster, d.UUID, d.GPUInstance) }

func (k deviceKey) uuid() string     { return k.Value().uuid }
func (k deviceKey) instance() string { return k.Value().instance }

// parent is the physical GPU of a MIG instance, or the key itself.
func (k deviceKey) parent() deviceKey {
	texts := k.Value()
	if texts.instance == "" {
		return k
	}
	return keyFor(texts.cluster, texts.uuid, "")
}

// compareKeys is the order of the texts.
func compareKeys(a, b deviceKey) int {
	if a == b {
		return 0
	}
	x, y := a.Value(), b.Value()
	return cmp.Or(strings.Compare(x.cluster, y.cluster), strings.Compare(x.uuid, y.uuid), strings.Compare(x.instance, y.instance))
}

// hostLabel is a label that holds a node's name on some series, and the name as it stands there.
type hostLabel struct{ label, value string }

// resident is a device with what was found out about it so far.
type resident struct {
	device gpu.Device
	rank   int // of the dialect that named the node
	hosts  []hostLabel
}

// roster is the devices seen, each once however many exporters and servers report it.
type roster map[deviceKey]*resident

// add takes in what one series says about a device. Facts of a better rank win; others fill what is missing.
func (r roster) add(id catalog.Identified, rank int) {
	key := keyOf(id.Device)
	known, ok := r[key]
	if !ok {
		known = &resident{}
		r[key] = known
	}
	known.hear(ok, id, rank)
}

// comesFirst decides between two that are as good, whatever order they come in: names must not change from one answer to the
// next.
func comesFirst(a, b gpu.Device) bool {
	return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Model, b.Model), strings.Compare(a.Driver, b.Driver), a.Index-b.Index) < 0
}

// merged is a with what it lacks from b, or the other way round when b is better.
func merged(a, b gpu.Device, better bool) gpu.Device {
	if better {
		a, b = b, a
	}
	fill := func(into *string, from string) {
		if *into == "" {
			*into = from
		}
	}
	fill(&a.Node, b.Node)
	fill(&a.Model, b.Model)
	fill(&a.PCIBusID, b.PCIBusID)
	fill(&a.MIGProfile, b.MIGProfile)
	fill(&a.MIGUUID, b.MIGUUID)
	fill(&a.Driver, b.Driver)
	if a.Index < 0 {
		a.Index = b.Index
	}
	a.MIGEnabled = a.MIGEnabled || b.MIGEnabled
	return a
}

// take adds all of another roster.
func (r roster) take(other roster) {
	for key, theirs := range other {
		ours, ok := r[key]
		if !ok {
			copied := *theirs
			copied.hosts = slices.Clone(theirs.hosts)
			r[key] = &copied
			continue
		}
		ours.join(theirs.device, theirs.rank)
		for _, host := range theirs.hosts {
			if !slices.Contains(ours.hosts, host) {
				ours.hosts = append(ours.hosts, host)
			}
		}
	}
}

// complete lets instances and their boards know of each other: a board that only its instances tell of is there too, and
// both are on the same node, have one model and one driver.
func (r roster) complete() { (&roll{own: r}).complete() }

// devices are sorted by cluster, node, index and instance.
func (r roster) devices() []gpu.Device {
	list := make([]gpu.Device, 0, len(r))
	for _, known := range r {
		list = append(list, known.device)
	}
	slices.SortFunc(list, compareDevices)
	return list
}

func compareDevices(a, b gpu.Device) int { return comparePlaces(&a, &b) }

// comparePlaces is compareDevices without copies.
func comparePlaces(a, b *gpu.Device) int {
	if c := cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node), cmp.Compare(a.Index, b.Index)); c != 0 {
		return c
	}
	return a.Identity.Compare(b.Identity)
}
