package topology

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/insight/sku"
)

// State is how a link, a GPU or an instance is.
type State string

// The states.
const (
	OK        State = "ok"
	Idle      State = "idle"      // slowed down while nothing is to be done
	Saturated State = "saturated" // it carries nearly all that it can
	Degraded  State = "degraded"  // slower than it should be, or with errors
	Down      State = "down"
	Unknown   State = "unknown" // not measured, or too little to tell
)

// Link is what is known of a link. Numbers are NaN where they were not measured.
type Link struct {
	State State
	// Is says what the link is: "Gen5 ×16", "18 of 18 links".
	Is string
	// Receive and Transmit are bytes per second as the GPU sees them; Both is their sum where that alone was measured.
	Receive, Transmit, Both float64
	// Capacity is bytes per second in both directions together.
	Capacity float64
	// Assumed says what is concluded and not measured, "" for nothing.
	Assumed string
	Why     string // of a state that is not OK
}

// Carries is bytes per second in both directions together, NaN where that is not known.
func (l Link) Carries() float64 {
	switch {
	case !math.IsNaN(l.Receive) && !math.IsNaN(l.Transmit):
		return l.Receive + l.Transmit
	case !math.IsNaN(l.Both):
		return l.Both
	}
	return math.NaN()
}

// Share is how much of what the link can carry it does carry, NaN where that is not known.
func (l Link) Share() float64 {
	if !(l.Capacity > 0) {
		return math.NaN()
	}
	return l.Carries() / l.Capacity
}

// saturated changes the state of a link that is well and full.
func (l Link) saturated(limit float64) Link {
	if share := l.Share(); l.State == OK && limit > 0 && share >= limit {
		l.State, l.Why = Saturated, fmt.Sprintf("It carries %.0f %% of what it can.", min(share, 1)*100)
	}
	return l
}

// pcieBytes is what a lane carries in each direction, by generation, in bytes per second.
func pcieBytes(generation float64) float64 {
	perLane := [...]float64{0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9}
	if !(generation >= 1 && generation < float64(len(perLane))) {
		return math.NaN()
	}
	return perLane[int(generation)]
}

// pcie is a board's link to its host. The first of its rows has what is measured on the board.
func (r reader) pcie(rows []int, model sku.SKU, limits Limits) Link {
	board := rows[0]
	l := Link{Receive: r.mean(board, pcieReceive()), Transmit: r.mean(board, pcieTransmit()), Both: math.NaN(), State: Unknown}
	full, lanes := r.last(board, generationMax()), r.last(board, widthMax())
	dataSheet := false
	if math.IsNaN(full) && model.PCIeGeneration > 0 {
		full, dataSheet = float64(model.PCIeGeneration), true
	}
	if math.IsNaN(lanes) && model.PCIeWidth > 0 {
		lanes, dataSheet = float64(model.PCIeWidth), true
	}
	if dataSheet {
		l.Assumed = "What slot and board agree on is not measured; it is compared with the data sheet."
	}
	now, wide := r.last(board, generation()), r.last(board, width())
	l.Is = pcieName(now, wide)
	if math.IsNaN(now) && math.IsNaN(wide) {
		l.Is = "PCIe, not measured"
		l.Assumed = ""
		if !dataSheet && !math.IsNaN(full) {
			l.Is = "up to " + pcieName(full, lanes)
		}
		l.Capacity = math.NaN()
		l.Why = "Generation and width of the link are not measured."
		return l
	}
	best, worked := r.bestWhileBusy(rows, limits.Busy)
	able := now
	if !math.IsNaN(full) {
		able = full
	}
	l.Capacity = 2 * pcieBytes(able) * wide
	l.State = OK
	switch {
	case wide < lanes:
		l.State, l.Why = Degraded, fmt.Sprintf("%g lanes of %g.", wide, lanes)
	case !(now < full):
	case worked && best < full:
		l.State, l.Why = Degraded, fmt.Sprintf("Gen%g of Gen%g while the GPU works.", best, full)
	case worked:
	case !slices.ContainsFunc(rows, func(row int) bool { return r.tail(row, activity()) != nil }):
		l.State, l.Why = Unknown, fmt.Sprintf("Gen%g of Gen%g, and nobody knows whether the GPU works: a link is slowed down at idle.", now, full)
	default:
		l.State, l.Why = Idle, fmt.Sprintf("Gen%g of Gen%g: slowed down at idle.", now, full)
	}
	return l.saturated(limits.Saturated)
}

func pcieName(generation, width float64) string {
	var parts []string
	if generation > 0 {
		parts = append(parts, fmt.Sprintf("Gen%g", generation))
	}
	if width > 0 {
		parts = append(parts, fmt.Sprintf("×%g", width))
	}
	return strings.Join(parts, " ")
}

// bestWhileBusy is the highest generation of steps in which the board, or one of its instances, worked.
func (r reader) bestWhileBusy(rows []int, busy float64) (best float64, worked bool) {
	generations := r.tail(rows[0], generation())
	for _, row := range rows {
		active := r.tail(row, activity())
		for i := range min(len(active), len(generations)) {
			if active[i] > busy && generations[i] > 0 {
				worked, best = true, max(best, generations[i])
			}
		}
	}
	return best, worked
}

// nvlink is a board's links to other boards; false when it has none, as far as anybody knows. Boards with MIG do not use theirs.
func (r reader) nvlink(board int, model sku.SKU, split bool, limits Limits) (Link, bool) {
	l := Link{
		Receive: r.mean(board, nvlinkReceive()), Transmit: r.mean(board, nvlinkTransmit()), Both: r.mean(board, nvlinkBoth()),
		Capacity: math.NaN(), State: Unknown,
	}
	has, up, state := r.last(board, links()), r.last(board, linksActive()), r.last(board, fabricState())
	if model.NVLinkBytesPerSecond > 0 {
		l.Capacity = model.NVLinkBytesPerSecond
	}
	measured := up > 0 || has > 0 || state == fabricJoined || l.Carries() > 0
	if !measured && (model.NVLinks == 0 || math.IsNaN(up) && math.IsNaN(state) && math.IsNaN(l.Carries())) {
		return l, false
	}
	if !measured && bridged(model) {
		return l, false // a bridge that nobody bought is no fault
	}
	if math.IsNaN(has) && model.NVLinks > 0 && !bridged(model) {
		has = float64(model.NVLinks)
		l.Assumed = "How many links the board has is of the data sheet."
	}
	switch {
	case math.IsNaN(up) && l.Carries() > 0:
		l.Is, l.State = "NVLink, links not counted", OK
	case math.IsNaN(up):
		l.Is = "NVLink, not measured"
	case math.IsNaN(has):
		l.Is, l.State = fmt.Sprintf("%g links up", up), OK
	default:
		l.Is, l.State = fmt.Sprintf("%g of %g links", up, has), OK
	}
	joining := state == 1 || state == 2 || state == 4
	switch rose := r.sum(board, errorRises()); {
	case split:
		l.Assumed, l.State, l.Why = "", Idle, "A GPU that is split into instances does not use its NVLinks."
	case up == 0:
		l.State, l.Why = Down, "No link is up."
	case joining:
		l.State, l.Why = Down, fmt.Sprintf("The GPU has not joined the NVLink fabric (state %g).", state)
	case state == fabricJoined && r.last(board, fabricStatus()) > 0:
		l.State, l.Why = Degraded, fmt.Sprintf("Joining the NVLink fabric ended with error %g.", r.last(board, fabricStatus()))
	case up < has:
		l.State, l.Why = Degraded, fmt.Sprintf("%g of %g links are up.", up, has)
	case rose >= 1:
		l.State, l.Why = Degraded, counted(int(min(rose, 1e9)), "error")+" in the last minutes."
	case state == fabricJoined && l.State == Unknown:
		l.State = OK
	}
	return l.saturated(limits.Saturated), true
}

// fabricJoined is the state of a board that has joined the fabric of NVSwitches.
const fabricJoined = 3

// bridged reports whether a model has its links by bridges that may be absent.
func bridged(model sku.SKU) bool {
	for _, w := range model.Words {
		if strings.EqualFold(w, "PCIe") || strings.EqualFold(w, "NVL") {
			return true
		}
	}
	return false
}

// c2c is a board's link to the CPU of its superchip; false where it has none.
func (r reader) c2c(board int, limits Limits) (Link, bool) {
	has, up := r.last(board, c2cLinks()), r.last(board, c2cActive())
	if !(has > 0) {
		return Link{}, false
	}
	l := Link{State: OK, Receive: math.NaN(), Transmit: math.NaN(), Both: math.NaN(), Capacity: 2 * r.last(board, c2cMost())}
	l.Is = fmt.Sprintf("C2C, %g links", has)
	switch {
	case math.IsNaN(up):
		l.State, l.Why = Unknown, "Whether the links are up is not measured."
	case up == 0:
		l.State, l.Why = Down, "No link to the CPU is up."
	case up < has:
		l.State, l.Why = Degraded, fmt.Sprintf("%g of %g links to the CPU are up.", up, has)
	}
	return l.saturated(limits.Saturated), true
}
