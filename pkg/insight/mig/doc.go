// Package mig is what NVIDIA allows a GPU to be split into: the profiles of each model, at which memory slices each of
// them may start, and therefore what still fits beside the instances that are there. Seven slices minus those in use is
// not the answer: behind an instance 3g.40gb at slice 0 of an H100 there is room for three 1g.10gb, although four compute
// slices are free.
//
// The tables are those of NVIDIA's MIG user guide, "Supported MIG profiles", and of `nvidia-smi mig -lgipp`.
package mig
