// Package efficiency says what became of the time of GPUs, and what it cost.
//
// Every GPU-hour of a range is in exactly one part ([Parts]): used, idle, or of unmeasured use while somebody has the GPU;
// unallocated; broken; or absent, when nothing is known. The parts of a group add up to its GPU-hours. A MIG instance counts
// by the larger of its shares of compute and memory slices, what its GPU has left over is a pool that nobody has, and a GPU
// that several workloads share is divided among them, so no hour is counted twice.
//
// Idle is judged in windows that start at whole multiples of their length since 1970, so ranges that are cut there add up.
// Owners are those that the caller gives for each stretch of time ([Tenure]); without them those of the end of the range
// count for all of it, and the answer says so.
//
// What the query may ask is in [Options], what the administrator sets in [Limits] and [Tariff]. Money, carbon and energy that
// are not known are NaN or left out, never zero: a model without a price is in [Result.Unpriced].
package efficiency
