// Package agentbench measures the whole agent: what it costs its node, and how well it keeps its time. The goals are in
// tools/bench/benchmarks.yaml, under agent-.
//
// GPUs are those of package nvmltest, whose calls wait as long as drivers were seen to take; the memory is that of the built
// agent, which loads a library of a few lines.
package agentbench
