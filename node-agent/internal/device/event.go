package device

import "time"

// Event is something that happened to a GPU, at a time.
type Event struct {
	Kind   EventKind
	Time   time.Time
	Origin Origin
	// UUID is the physical GPU's, "" when whoever reports does not know it.
	UUID string
	// PCIBusID names the GPU for reports that know it by its place: "00000000:1A:00.0"; "" otherwise.
	PCIBusID string
	// GPUInstance and ComputeInstance are those of a MIG instance, "" otherwise.
	GPUInstance, ComputeInstance string
	XID                          uint64 // for XID
	Detail                       string // one line for people, "" when the kind says it all
}

// Origin says who reported an event.
type Origin string

// The origins.
const (
	FromNVML      Origin = "nvml"
	FromKernel    Origin = "kernel"
	FromAgent     Origin = "agent"    // the agent saw a reading change
	FromSimulator Origin = "simulate" // nothing happened at all
	FromLog       Origin = "log"      // a rule matched a line of a log
)

// EventKind says what happened.
type EventKind uint8

// Kinds of events.
const (
	XID                   EventKind = iota // the driver reported an XID error
	LayoutChanged                          // MIG instances were created, destroyed or given another profile
	ECCCorrected                           // a single-bit error was corrected
	ECCUncorrected                         // a double-bit error
	ECCStorm                               // many corrected errors in a short time
	PageRetired                            // a page of device memory was retired, or a row remapped
	PageRetirementFailed                   // there was no spare left for it
	PoisonContained                        // poisoned data was consumed, and the damage contained
	PoisonUncontained                      // poisoned data was consumed, and all work on the GPU is suspect
	ClocksChanged                          // the clocks that may be used changed
	PowerSourceChanged                     // from the mains to a battery or back
	RecoveryActionChanged                  // what NVIDIA says must be done to recover the GPU
	Unavailable                            // the driver gave the GPU up
	Lost                                   // the GPU does not answer any more
	Returned                               // it answers again
	LogMatched                             // a rule matched a line of a log
	NumEventKinds
)

var eventKindNames = [NumEventKinds]string{
	XID: "xid", LayoutChanged: "mig_layout_changed", ECCCorrected: "ecc_corrected", ECCUncorrected: "ecc_uncorrected",
	ECCStorm: "ecc_storm", PageRetired: "page_retired", PageRetirementFailed: "page_retirement_failed",
	PoisonContained: "poison_contained", PoisonUncontained: "poison_uncontained", ClocksChanged: "clocks_changed",
	PowerSourceChanged: "power_source_changed", RecoveryActionChanged: "recovery_action_changed", Unavailable: "unavailable",
	Lost: "lost", Returned: "returned", LogMatched: "log_matched",
}

// String is the kind as labels and messages show it.
func (k EventKind) String() string {
	if k >= NumEventKinds {
		return "unknown"
	}
	return eventKindNames[k]
}
