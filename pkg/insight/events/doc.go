// Package events puts events that belong together into one line, under the one that is most likely behind them: what happened to
// one GPU, node, job or NVLink fabric within a window of each other.
//
// On one GPU and on one node everything within the window is related. Over the nodes of a job only what stops work is: a GPU that
// fails ends the processes of the others, and each of them reports that. The root is chosen by what causes what (an error of the
// hardware before a GPU that is lost, that before processes that end, and alerts, which only tell of others, last); among equals
// the first one is. It is the likeliest, and no proof.
package events
