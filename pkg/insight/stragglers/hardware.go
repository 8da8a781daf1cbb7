package stragglers

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// hardware is what comparing a job's GPUs came to.
type hardware struct {
	suspects  []Suspect // of now; by clock and power, or by activity alone
	weak      bool      // by activity alone
	uneven    bool      // clocks differ between so many that nobody can be named
	compared  int       // GPUs
	profiled  bool
	clockLost []float64 // by step, the share of clock that the slowest lacks
	byDevice  map[int]*Suspect
	past      []Suspect // slow for long enough and not any more, by clock
}

// kind is what must be the same for two devices to be peers.
type kind struct{ model, profile string }

// signal is one thing by which GPUs are compared.
type signal struct {
	metric string
	low    bool
	limit  float64
	strong bool
	what   string
}

// compareDevices holds the GPUs of a job against each other, those of one model each.
func (c *trial) compareDevices() *hardware {
	h := &hardware{byDevice: make(map[int]*Suspect), clockLost: make([]float64, c.steps)}
	if len(c.team.devices) < 2 {
		return h
	}
	busy, metric := c.activity()
	if busy == nil {
		c.need(smActive)
		return h
	}
	if h.profiled = metric != utilization; metric != smActive {
		c.need(smActive)
	}
	kinds := make(map[kind][]int)
	var order []kind
	for i, d := range c.team.devices {
		s := c.pass.devices.Subjects[d]
		k := kind{gpu.ShortModel(s.Model), s.MIGProfile}
		if kinds[k] == nil {
			order = append(order, k)
		}
		if busy[i] != nil {
			kinds[k] = append(kinds[k], i)
		}
	}
	for _, k := range order {
		if members := c.taking(kinds[k], busy); len(members) >= 2 {
			c.comparePeers(h, members, busy, metric)
		}
	}
	slices.Sort(c.job.Idle)
	strong := make([]Suspect, 0, len(h.byDevice))
	var weak []Suspect
	for _, d := range c.team.devices {
		if s := h.byDevice[d]; s != nil && s.hardware {
			strong = append(strong, *s)
		} else if s != nil {
			weak = append(weak, *s)
		}
	}
	if h.suspects = strong; len(strong) == 0 {
		h.suspects, h.weak = weak, len(weak) > 0
	}
	nodes := make([]string, len(c.team.devices))
	for i, d := range c.team.devices {
		nodes[i] = c.pass.devices.Subjects[d].Node
	}
	h.suspects, h.past = c.collapse(h.suspects, nodes), c.collapse(h.past, nodes)
	return h
}

// activity is what says whether a job's GPUs work: the best metric that all of them have, or that some have.
func (c *trial) activity() (rows [][]float64, metric string) {
	for _, m := range [...]string{smActive, graphicsActive, utilization} {
		these := c.gpus.rows(insight.Field{Metric: m}, c.team.devices)
		if n := measured(these); n == len(c.team.devices) || n > measured(rows) {
			rows, metric = these, m
			if n == len(c.team.devices) {
				break
			}
		}
	}
	return rows, metric
}

// taking leaves out the GPUs that do nothing while the others work.
func (c *trial) taking(members []int, busy [][]float64) []int {
	means := make([]float64, 0, len(members))
	for _, m := range members {
		means = append(means, meanOf(busy[m]))
	}
	sorted := slices.DeleteFunc(slices.Clone(means), math.IsNaN)
	slices.Sort(sorted)
	if len(sorted) == 0 || medianOf(sorted) < c.limits.Busy {
		return members
	}
	var taking []int
	for i, m := range members {
		if means[i] < c.limits.NoActive {
			c.job.Idle = append(c.job.Idle, c.team.devices[m])
		} else {
			taking = append(taking, m)
		}
	}
	return taking
}

// comparePeers compares devices of one model by all signals.
func (c *trial) comparePeers(h *hardware, members []int, busy [][]float64, metric string) {
	h.compared += len(members)
	works := c.working(members, busy)
	devices := make([]int, len(members))
	for i, m := range members {
		devices[i] = c.team.devices[m]
	}
	for _, s := range [...]signal{
		{smClock, true, c.limits.ClockRatio, true, "the median clock is %.2f times its own"},
		{power, true, c.limits.PowerRatio, true, "the median power is %.2f times its own"},
		{power, false, c.limits.PowerAbove, true, "its power is %.2f times the median: it works while others wait"},
		{metric, true, c.limits.ActivityRatio, false, "the median activity is %.2f times its own; stages of a pipeline differ as well"},
	} {
		rows := c.gpus.rows(insight.Field{Metric: s.metric}, devices)
		for i, d := range devices {
			if s.metric == power && rows != nil && c.pass.devices.Subjects[d].IsMIG() {
				rows[i] = nil // the power is that of the whole GPU
			}
		}
		if measured(rows) < 2 {
			if s.metric == smClock || s.metric == power && !c.pass.devices.Subjects[devices[0]].IsMIG() {
				c.need(s.metric)
			}
			continue
		}
		compared := c.compare(comparison{rows: rows, low: s.low, limit: s.limit, skip: func(i, t int) bool {
			return !works[t] || s.metric == smClock && !(busy[members[i]][t] >= c.limits.Busy)
		}})
		if s.metric == smClock {
			for t, lost := range compared.lost {
				h.clockLost[t] = max(h.clockLost[t], lost)
			}
			h.uneven = h.uneven || c.sustained(compared.uneven) && compared.ongoing(compared.uneven)
		}
		for i := range compared.members {
			m := compared.members[i]
			switch {
			case c.sustained(m.now) && compared.ongoing(m.now):
				c.suspectDevice(h.byDevice, devices[i], s, m.now, compared.present)
			case m.last.count > 0 && s.metric == smClock:
				was := make(map[int]*Suspect, 1)
				c.suspectDevice(was, devices[i], s, m.last, compared.present)
				was[devices[i]].Until = c.time(m.last.to) + c.step.Milliseconds()
				h.past = append(h.past, *was[devices[i]])
			}
		}
	}
}

// working says, by step, whether most of the members work.
func (c *trial) working(members []int, busy [][]float64) []bool {
	works := make([]bool, c.steps)
	for t := range works {
		n, busyOnes := 0, 0
		for _, m := range members {
			if v := busy[m][t]; plausible(v) {
				n++
				if v >= c.limits.Busy {
					busyOnes++
				}
			}
		}
		works[t] = n >= 2 && 2*busyOnes > n
	}
	return works
}

// suspectDevice adds what a signal says of a device.
func (c *trial) suspectDevice(byDevice map[int]*Suspect, device int, s signal, r run, present int) {
	subject := c.pass.devices.Subjects[device]
	found := byDevice[device]
	if found == nil {
		found = &Suspect{
			Kind: "gpu", Node: subject.Node, Workload: -1, Device: device, Members: 1, Ratio: r.ratio(), Score: 1 / r.ratio(), Z: r.z,
			Since: c.time(r.from), deviceRows: []int{device},
		}
		if present == 2 {
			found.Z = 0
		}
		byDevice[device] = found
	}
	found.Since = min(found.Since, c.time(r.from))
	found.hardware = found.hardware || s.strong
	found.slowClock = found.slowClock || s.metric == smClock
	found.Evidence = append(found.Evidence, insight.Evidence{
		Metric: s.metric, Value: r.ratio(), Unit: gpu.Ratio, Limit: s.limit, Above: true,
		Text: fmt.Sprintf("%s: "+s.what+", limit %.2f", subject.Name(), r.ratio(), s.limit),
	})
}

// collapse names nodes instead of their members where nearly all of these are slow.
func (c *trial) collapse(suspects []Suspect, nodeOf []string) []Suspect {
	members, slow := make(map[string]int), make(map[string][]int)
	for _, n := range nodeOf {
		members[n]++
	}
	for i, s := range suspects {
		slow[s.Node] = append(slow[s.Node], i)
	}
	var out []Suspect
	for i, s := range suspects {
		these := slow[s.Node]
		whole := s.Node != "" && len(members) > 1 && len(these) >= 2 && float64(len(these)) >= c.limits.WholeNode*float64(members[s.Node])
		if !whole {
			out = append(out, s)
			continue
		}
		if these[0] != i {
			continue
		}
		out = append(out, nodeSuspect(suspects, these, members[s.Node]))
	}
	slices.SortStableFunc(out, func(a, b Suspect) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return out
}

// nodeSuspect is several members of one node together.
func nodeSuspect(suspects []Suspect, these []int, members int) Suspect {
	first := suspects[these[0]]
	node := Suspect{Kind: "node", Node: first.Node, Workload: -1, Device: -1, Members: len(these), Since: first.Since, Until: first.Until}
	for _, i := range these {
		s := suspects[i]
		node.Ratio += s.Ratio / float64(len(these))
		node.Z = max(node.Z, s.Z)
		node.Since, node.Until = min(node.Since, s.Since), max(node.Until, s.Until)
		node.hardware, node.slowClock = node.hardware || s.hardware, node.slowClock || s.slowClock
		node.deviceRows = append(node.deviceRows, s.deviceRows...)
	}
	node.Score = 1 / node.Ratio
	node.Evidence = append(node.Evidence, insight.Evidence{
		Metric: first.Evidence[0].Metric, Value: float64(len(these)), Unit: gpu.Count, Limit: math.NaN(),
		Text: fmt.Sprintf("%d of %d on node %s are slow", len(these), members, first.Node),
	})
	node.Evidence = append(node.Evidence, first.Evidence...)
	return node
}

func meanOf(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if plausible(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}
