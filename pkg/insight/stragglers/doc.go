// Package stragglers finds who slows a training job down: ranks, GPUs or nodes that are slower than their peers, and where
// else a job's time goes.
//
// Ranks that report times are compared by them. Where every rank waits for the slowest in a collective, all steps take equally
// long; the time a rank spends outside of collectives then tells. Without such times the job's GPUs are compared: by clock and
// power before SM activity, because ranks that wait spin, and look as busy as those that work. Peers need no warm-up and are
// immune to changes of phase, for the whole job changes at once.
//
// One rank, GPU or node stands out; many do not: where more than a third of a job is slow nobody is named, and the answer says
// so.
//
// A query's "options" are those of [Options]: limits, and the plan of a pipeline.
package stragglers
