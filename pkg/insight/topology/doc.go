// Package topology is how the GPUs of nodes hang together, as a graph: nodes, GPUs, what they are joined by, and on GPUs that are
// split their instances with what still fits beside them.
//
// Edges say what was measured of a link: how fast it is, what it carries, and in which state it is. A PCIe link is slowed down
// at idle on purpose, so that its generation says something only while the GPU works. What is concluded and not measured says
// so: that GPUs share a switch is taken from the state of the fabric, and which GPU is wired to which by NVLink nobody reports.
// Network cards are not measured at all; nodes of one job are joined by an edge that says so.
//
// What fits on a GPU that is split follows from where its instances may stand ([mig.Table.Layout]), not from sums of slices.
// Exporters do not tell where they stand, so that there is a number that fits surely, and one that fits if they stand well.
//
// A query's "options" are those of [Options].
package topology
