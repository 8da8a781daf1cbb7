// Package memory judges how much of a GPU's memory is left, and what becomes of it: the peak of a range and what fits beside
// it, growth that will fill it, allocators that thrash or waste it, memory that nobody uses.
//
// Usable is used + free: what the driver reserves can never be had. A peak is the highest value of any step, not the highest
// mean, where the highest values are there. Servers of language models take their memory once and keep it, so for them "used"
// says nothing: they are judged by how full their cache of keys and values is, by requests put back for want of it, and by
// those that wait. The memory of a GPU that is split is judged in its MIG instances alone; what compute instances share is
// counted once.
//
// A query's "options" are those of [Options]: limits, and for the estimate of the batch size the batch there is now.
//
// What cannot be known from counters is not guessed: which tensors live how long (a snapshot of the framework tells), and
// the host's memory and swap.
package memory
