// Package forecast looks ahead: what a series will be, within which interval, and when it reaches a limit.
//
// # How
//
// A series is cleaned of what cannot be a measurement and brought to a step at which it has at most 720 values. Then several
// methods compete on its own past: each is given the first part, up to each of a dozen or more times, and held against what
// came next (a rolling-origin back-test). The plainest that nothing beats clearly makes the forecast:
//
//   - the last value, or the last day or week again: naive, and the measure of all others
//   - level: exponential smoothing towards a level
//   - linear: a Theil–Sen line, on top of the seasons where there are any. Only when there is a trend: Mann–Kendall's test,
//     its variance corrected for values that resemble the ones before them, finds it at 0.5 %
//   - seasonal: Holt-Winters, additive, with a daily and a weekly season; steps without a value only move it on
//
// The interval is made of quantiles of the winner's own back-test residuals, by how far ahead they were; beyond what was
// tried it widens as it widened before, and by what the slope may be wrong. A series without trend is said to have none. One
// that is too short gets no line at all, but the number of values that are missing.
//
// Theil–Sen takes a fixed sample of pairs of long series, so that it is linear in the length; the answer for the same series
// is always the same. A series of 14 days in steps of 5 minutes takes a few milliseconds.
//
// # Options
//
// [Options] is the query's "options" object: {"of": "metric"|"capacity"|"memory"|"temperature"|"errors", "metric": …,
// "value": ""|"max"|"min"|"rise", "horizonHours": …, "limit": …, "below": …, "coverage": 0.9}. [Fields] and [WorkloadFields]
// say what to fetch. Steps of an hour over 14 days (better 28, for the weekly season) suit capacity and errors; memory looks
// at half an hour and wants steps of a minute. [Judge] answers; [Days] does for pools whose use the caller knows; [Project]
// is the forecast of any one series.
package forecast
