package simulate

import "math"

const (
	clockExponent = 2.2  // how power falls with the clock, voltage following it
	dieTau        = 5.0  // seconds
	sinkTau       = 70.0 // seconds
	dieShare      = 0.25 // of the thermal resistance
	slowestClock  = 0.3  // share of the maximum below which no throttling goes
	slowdownGain  = 0.08 // share of the clock taken for each °C above where slowing down begins
	noticeable    = 0.995
)

// thermal is the heat in a board, as the power that would hold it: of the die, which follows within seconds, and of
// everything behind it, which takes minutes.
type thermal struct{ die, sink float64 }

// after is the state once power was drawn for dt seconds, exactly.
func (h thermal) after(power, dt float64) thermal {
	return h.afterShares(power, 1-math.Exp(-dt/dieTau), 1-math.Exp(-dt/sinkTau))
}

func (h thermal) afterShares(power, die, sink float64) thermal {
	return thermal{die: h.die + (power-h.die)*die, sink: h.sink + (power-h.sink)*sink}
}

// watts is the power that would hold the board at its present temperature.
func (h thermal) watts() float64 { return dieShare*h.die + (1-dieShare)*h.sink }

// slowdown is the clock, as a share of the maximum, that the board allows itself at a temperature.
func slowdown(temperature, limit float64) float64 {
	return clamp(1-slowdownGain*(temperature-(limit-1)), slowestClock, 1)
}

// settle finds the clock for a cell that fits the temperature at its end, so that a control loop far faster than a cell
// stays stable: heat(clock) is that temperature, rising with the clock.
func settle(ceiling, limit float64, heat func(clock float64) float64) float64 {
	if slowdown(heat(ceiling), limit) >= ceiling {
		return ceiling
	}
	low, high := slowestClock, ceiling
	for range 14 {
		mid := (low + high) / 2
		if slowdown(heat(mid), limit) >= mid {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
