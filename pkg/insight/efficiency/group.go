package efficiency

import (
	"cmp"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// grouping finds the groups that hours belong to.
type grouping struct {
	by    []By
	total *Group
	at    map[key]*Group
	order []*Group
}

// key has the value of each dimension of By in its place.
type key [7]string

func (g *grouping) init(by []By) {
	g.total, g.at = newGroup(nil), make(map[key]*Group)
	for _, b := range by {
		if slices.Contains(Dimensions(), b) && !slices.Contains(g.by, b) {
			g.by = append(g.by, b)
		}
	}
}

// of is the group of a device and a holder; nil when nothing is split. The owner is nil for what nobody has, and one that
// names nobody for a holder that nobody names.
func (g *grouping) of(device gpu.Device, model string, owner *gpu.Owner) *Group {
	if len(g.by) == 0 {
		return nil
	}
	var k key
	for i, by := range g.by {
		switch by {
		case ByCluster:
			k[i] = device.Cluster
		case ByNode:
			k[i] = device.Node
		case ByModel:
			k[i] = model
		case ByNamespace:
			k[i] = named(owner, func(o *gpu.Owner) string { return o.Namespace })
		case ByPod:
			k[i] = named(owner, func(o *gpu.Owner) string { return o.Pod })
		case ByJob:
			k[i] = named(owner, func(o *gpu.Owner) string { return o.SlurmJob })
		case ByUser:
			k[i] = named(owner, func(o *gpu.Owner) string { return o.User })
		}
	}
	group, known := g.at[k]
	if !known {
		group = newGroup(slices.Clone(k[:len(g.by)]))
		g.at[k] = group
		g.order = append(g.order, group)
	}
	return group
}

func named(owner *gpu.Owner, name func(*gpu.Owner) string) string {
	switch {
	case owner == nil:
		return NotOwned
	case !owner.Known():
		return Unattributed
	}
	if n := name(owner); n != "" {
		return n
	}
	return Unnamed
}

// each calls for every holder of a tenancy with its share of it.
func (t tenancy) each(do func(owner *gpu.Owner, factor float64)) {
	if len(t.shares) == 0 {
		do(&gpu.Owner{}, 1)
		return
	}
	for i := range t.shares {
		do(&t.shares[i], 1/float64(len(t.shares)))
	}
}

// fold gives what one holder had, and what nobody had, to their groups.
func (g *grouping) fold(r *run, device gpu.Device, t tenancy, owned, nobody *account) {
	p := r.price(device)
	if v := owned.hours.Total(); v > 0 {
		r.seen.owners = r.seen.owners || len(t.shares) > 0
		r.seen.unattributed = r.seen.unattributed || len(t.shares) == 0
		r.seen.shared = r.seen.shared || len(t.shares) > 1
		r.seen.estimated = r.seen.estimated || owned.estimated > 0
		r.give(g.total, owned, 1, p)
		if len(g.by) > 0 {
			t.each(func(owner *gpu.Owner, factor float64) { r.give(g.of(device, p.short, owner), owned, factor, p) })
		}
	}
	if nobody.hours.Total() > 0 {
		r.give(g.total, nobody, 1, p)
		if group := g.of(device, p.short, nil); group != nil {
			r.give(group, nobody, 1, p)
		}
	}
	if !p.known {
		r.result.unpriced(device, p.short, owned.hours.Total()+nobody.hours.Total())
	}
}

// give adds an account, or a share of it, to a group.
func (r *run) give(g *Group, a *account, factor float64, p price) {
	g.sums.add(a, factor)
	if !p.known {
		g.Unpriced += a.hours.Total() * factor
		return
	}
	c := g.cost(p.currency)
	c.Priced += a.hours.Total() * factor
	c.Parts.add(a.hours, factor*p.perHour)
	c.Charge += r.result.Charge.hours(a) * factor * p.perHour
}

// hours are those that a mode takes the price of a GPU-hour for.
func (m Mode) hours(a *account) float64 {
	switch m {
	case ChargeActive:
		return a.active
	case ChargeMemory:
		return a.memoryShare
	case ChargeMost:
		return a.most
	case ChargeEnergy:
		return 0 // has a price of its own
	default:
		return a.hours.Allocated()
	}
}

func (g *Group) cost(currency string) *Cost {
	for i := range g.Costs {
		if g.Costs[i].Currency == currency {
			return &g.Costs[i]
		}
	}
	g.Costs = append(g.Costs, Cost{Currency: currency})
	return &g.Costs[len(g.Costs)-1]
}

func (a *account) add(b *account, factor float64) {
	a.hours.add(b.hours, factor)
	a.joules.add(b.joules, factor)
	a.pool += b.pool * factor
	a.active += b.active * factor
	a.activeKnown += b.activeKnown * factor
	a.ceiling += b.ceiling * factor
	a.ceilingKnown += b.ceilingKnown * factor
	a.memory += b.memory * factor
	a.memoryShare += b.memoryShare * factor
	a.memoryKnown += b.memoryKnown * factor
	a.energyKnown += b.energyKnown * factor
	a.counted += b.counted * factor
	a.estimated += b.estimated * factor
	a.most += b.most * factor
	a.chargeKnown += b.chargeKnown * factor
}

const joulesPerKWh = 3.6e6

// settle computes what a group shows from its sums.
func (r *run) settle(g *Group) {
	a := &g.sums
	g.Hours, g.Pool = a.hours, a.pool
	g.GPUs = a.hours.Total() / (r.hours * float64(len(r.times)))
	g.ActiveHours, g.ActivityKnown = a.active, a.activeKnown
	g.MemoryGiBHours, g.MemoryKnown = a.memory, a.memoryKnown
	if a.memoryKnown == 0 && a.hours.Allocated() > 0 {
		g.MemoryGiBHours = math.NaN()
	}
	g.Ceiling = ratio(a.ceiling, a.ceilingKnown)
	e := &g.Energy
	e.KWh.add(a.joules, 1/joulesPerKWh)
	e.Known = ratio(min(a.energyKnown, a.hours.Total()-a.hours.Absent), a.hours.Total()-a.hours.Absent)
	e.Estimated = ratio(a.estimated, a.energyKnown)
	switch {
	case a.energyKnown == 0:
	case a.counted == a.energyKnown:
		e.Source = "energy counter"
	case a.counted == 0:
		e.Source = "power × time"
	default:
		e.Source = "energy counter and power × time"
	}
	if a.energyKnown == 0 {
		nan := math.NaN()
		e.KWh = Parts{nan, nan, nan, nan, nan, nan}
	}
	spent := e.KWh.Total()
	if r.tariff.PUE > 0 {
		spent *= r.tariff.PUE
		e.SiteKWh = spent
	}
	if r.tariff.CarbonKgPerKWh > 0 {
		e.CarbonKg = spent * r.tariff.CarbonKgPerKWh
	}
	r.charge(g)
	slices.SortFunc(g.Charged, func(a, b Charged) int { return cmp.Compare(a.Currency, b.Currency) })
	slices.SortFunc(g.Costs, func(a, b Cost) int { return cmp.Compare(a.Currency, b.Currency) })
}

// charge fills in what the mode counts.
func (r *run) charge(g *Group) {
	a := &g.sums
	g.ChargeUnit = "GPU h"
	switch r.result.Charge {
	case ChargeMemory:
		g.ChargeQuantity, g.ChargeUnit = a.memory, "GiB h"
	case ChargeEnergy:
		g.ChargeQuantity, g.ChargeUnit = a.joules.Allocated()/joulesPerKWh, "kWh"
		if r.tariff.PUE > 0 {
			g.ChargeQuantity *= r.tariff.PUE
		}
		if r.tariff.EnergyPerKWh > 0 {
			g.cost(r.tariff.Currency).Charge += g.ChargeQuantity * r.tariff.EnergyPerKWh
		}
	default:
		g.ChargeQuantity = r.result.Charge.hours(a)
	}
	g.ChargeKnown = ratio(a.chargeKnown, a.hours.Allocated())
	if g.ChargeKnown == 0 { // nothing was measured that could be charged: that is not for free
		g.ChargeQuantity = math.NaN()
		for i := range g.Costs {
			g.Costs[i].Charge = math.NaN()
		}
	}
}

func (r *Result) unpriced(device gpu.Device, model string, hours float64) {
	if hours == 0 {
		return
	}
	for i := range r.Unpriced {
		if u := &r.Unpriced[i]; u.Model == model && u.Cluster == device.Cluster {
			u.Hours += hours
			return
		}
	}
	r.Unpriced = append(r.Unpriced, Unpriced{Model: model, Cluster: device.Cluster, Hours: hours})
}
