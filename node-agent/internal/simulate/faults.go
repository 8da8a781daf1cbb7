package simulate

import "slices"

const (
	week          = 7 * cellsADay
	maintenance   = 8 * 60 / cellSeconds // nothing runs so long after a reboot
	crashBlock    = 6 * cellsAnHour      // one application crash in each
	crashLasts    = 3 * 60 / cellSeconds // the work starts again after it
	thermalBlock  = 6 * cellsAnHour      // one blocked airflow in each
	thermalLasts  = 80 * 60 / cellSeconds
	thermalRamp   = 6 * 60 / cellSeconds
	offBusLasts   = 30 * 60 / cellSeconds
	hotResistance = 3.0 // a straggler's cooling is so much worse
)

// Codes of XID errors that the simulator reports.
const (
	xidOffBus            = 79
	xidContained         = 94
	xidRowRemapped       = 63
	noCell         int64 = -1 << 62
)

// crashCodes are what applications cause: graphics exceptions, page faults, channels reset.
var crashCodes = [...]uint64{31, 13, 43, 31}

// faults is what goes wrong with one board, as a function of the cell.
type faults struct {
	board, boards int

	straggles, blocked, weak, falls, crashes bool

	boot, airflow, dbe, sbe, replay, lost, crashed uint64 // keys
}

// newFaults deals out the faults of a node: each but the crashes has one victim.
func newFaults(node uint64, board, boards int, trains bool, kinds []Fault) faults {
	victim := func(kind Fault) bool {
		return slices.Contains(kinds, kind) && int(mixText(node, string(kind))%uint64(boards)) == board
	}
	return faults{
		board: board, boards: boards,
		straggles: trains && victim(Straggler), blocked: victim(Thermal), weak: victim(ECC), falls: victim(Lost),
		crashes: slices.Contains(kinds, XIDs),
		boot:    mixText(node, "boot"), airflow: mixText(node, "airflow"), dbe: mixText(node, "dbe"),
		sbe: mix(mixText(node, "sbe"), uint64(board)), replay: mix(mixText(node, "replay"), uint64(board)),
		lost: mixText(node, "lost"), crashed: mixText(node, "crash"),
	}
}

// booted is the cell at which the node was last started. Nodes are rebooted once a week, each at its own time.
func (f faults) booted(cell int64) int64 {
	offset := int64(f.boot % week)
	return floorDiv(cell-offset, week)*week + offset
}

// resistance is by how much the board is worse cooled than it should be in a cell.
func (f faults) resistance(cell int64) float64 {
	r := 1.0
	if f.straggles {
		r = hotResistance
	}
	if f.blocked {
		block := floorDiv(cell, thermalBlock)
		start := block*thermalBlock + int64(uniform(f.airflow, block)*float64(thermalBlock-thermalLasts))
		if x := cell - start; x >= 0 && x < thermalLasts {
			ramp := clamp(float64(min(x, thermalLasts-x))/thermalRamp, 0, 1)
			r += (hotResistance + 0.3 - r) * ramp
		}
	}
	return r
}

// crash is the cell of the application crash in the block around a cell, and its code; noCell when it hits another board.
func (f faults) crash(cell int64) (int64, uint64) {
	if !f.crashes {
		return noCell, 0
	}
	block := floorDiv(cell, crashBlock)
	key := mix(f.crashed, uint64(block))
	if int(mix(key, 1)%uint64(f.boards)) != f.board {
		return noCell, 0
	}
	at := block*crashBlock + int64(uniform(key, 2)*(crashBlock-crashLasts))
	return at, crashCodes[mix(key, 3)%uint64(len(crashCodes))]
}

// uncorrectable is the cell of the memory error that cannot be corrected, after a reboot; noCell for none.
func (f faults) uncorrectable(booted int64) int64 {
	if !f.weak {
		return noCell
	}
	return booted + cellsADay + int64(uniform(f.dbe, booted)*5*cellsADay)
}

// corrected is how many memory errors are corrected in a cell.
func (f faults) corrected(cell int64) int {
	rate := 2e-5
	if f.weak {
		rate = 0.006
	}
	if uniform(f.sbe, cell) < rate {
		return 1 + int(uniform(f.sbe+1, cell)*3)
	}
	return 0
}

// replays is how many PCIe packets are sent again in a cell.
func (f faults) replays(cell int64) int {
	if uniform(f.replay, cell) < 3e-4 {
		return 1
	}
	return 0
}

// offBus is the cell at which the board falls off the bus, after a reboot; noCell for never.
func (f faults) offBus(booted int64) int64 {
	if !f.falls {
		return noCell
	}
	return booted + cellsADay/2 + int64(uniform(f.lost, booted)*6*cellsADay)
}

// xids are the errors that the driver reports at the start of a cell.
func (f faults) xids(cell int64) []uint64 {
	var codes []uint64
	booted := f.booted(cell)
	if cell == f.uncorrectable(booted) {
		codes = append(codes, xidContained, xidRowRemapped)
	}
	if at, code := f.crash(cell); cell == at && cell-booted >= maintenance {
		codes = append(codes, code)
	}
	if cell == f.offBus(booted) {
		codes = append(codes, xidOffBus)
	}
	return codes
}
