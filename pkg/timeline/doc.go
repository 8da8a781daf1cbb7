// Package timeline puts the past and the present of a measurement on one line per device: it joins what Prometheus
// remembers with what agents stream, turns counters into rates, bins onto a grid, and aggregates over devices. The
// same rules are there twice, for series that are complete ([Plan.Build]) and for ticks as they arrive ([Rows]), so
// that a panel that is refreshed shows what it had streamed.
//
// Everything here is pure: no I/O, no clock of its own, no goroutines. Times are Unix milliseconds, a NaN is a gap,
// and nothing is interpolated or smoothed.
package timeline
