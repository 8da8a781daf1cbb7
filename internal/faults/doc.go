// Package faults holds no code: its tests start agents as they are shipped, put what goes wrong in a data centre between
// them and the plugin's live side, and look whether every sample arrives once, in order, and whether the trouble is told.
//
// Processes are killed, paused and replaced; a proxy cuts, resets, delays and swallows what goes over TCP; a relay
// changes what a simulated node cannot do by itself: its clock, its GPUs, their layout.
package faults
