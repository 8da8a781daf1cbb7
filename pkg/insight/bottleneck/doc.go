// Package bottleneck says what holds a GPU, a MIG instance or a job back: an ordered procedure of gates over five minutes of
// measurements. The first gate that is passed is the primary verdict, later ones are secondary. Capacity of memory and its
// bandwidth are two verdicts, a power cap that costs no clock is a note and no fault.
//
// [Judge] slides the window over the grid of [Fields] and [WorkloadFields], a verdict for each step from the window that ends
// with it, and merges steps into intervals. Two things keep a verdict from flapping: another one must hold for a while
// (holdSeconds) before it takes over, and the gate of the present verdict is held against limits that are a little relaxed
// (stick). Fetch a window more than is shown: the first steps have no full window, they share the first one that has enough.
//
// Options of a query: {"of": "gpus", "jobs" or "" for both, "limits": {…}}; limits are those of [Limits], given in part.
//
// Confidence: high when profiling and the application's own times agree and nothing that was wanted is missing, medium with
// profiling (SM activity) or the hardware's own reasons of throttling, low from GPU utilization and graphics engine alone, as
// default fields of dcgm-exporter have it. More missing data never gives more confidence in a verdict. A job's collectives decide only when all of its ranks that report at all
// report them: the one that says nothing may be the one that is waited for.
//
// What misleads is met so: ranks that wait in NCCL spin and look busy, so a busy GPU without tensor activity at low power is
// never called compute-bound with confidence, and in a job where all but a few do so they wait on the others. GPU utilization
// says that some kernel ran, not that the GPU was full, so alone it needs the power to agree. Links are held against what
// they can do, not against their present speed, which falls at idle. Values that cannot be are absent. GPU utilization
// without graphics engine activity is profiling that was lost, and nothing can be said.
//
// PCIe, NVLink and power are of the whole board, so they decide nothing for a MIG instance; clocks and reasons of throttling
// hold for all instances of a board.
package bottleneck
