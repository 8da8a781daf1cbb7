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
	XID                          uint64 // for EventXID
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
	EventXID                   EventKind = iota // the driver reported an XID error
	EventLayoutChanged                          // MIG instances were created, destroyed or given another profile
	EventECCCorrected                           // a single-bit error was corrected
	EventECCUncorrected                         // a double-bit error
	EventECCStorm                               // many corrected errors in a short time
	EventPageRetired                            // a page of device memory was retired, or a row remapped
	EventPageRetirementFailed                   // there was no spare left for it
	EventPoisonContained                        // poisoned data was consumed, and the damage contained
	EventPoisonUncontained                      // poisoned data was consumed, and all work on the GPU is suspect
	EventClocksChanged                          // the clocks that may be used changed
	EventPowerSourceChanged                     // from the mains to a battery or back
	EventRecoveryActionChanged                  // what NVIDIA says must be done to recover the GPU
	EventUnavailable                            // the driver gave the GPU up
	EventLost                                   // the GPU does not answer any more
	EventReturned                               // it answers again
	EventLogMatched                             // a rule matched a line of a log
	EventForgotten                              // it was lost for so long that it is not shown any more
	NumEventKinds
)

var eventKindNames = [NumEventKinds]string{
	EventXID: "xid", EventLayoutChanged: "mig_layout_changed", EventECCCorrected: "ecc_corrected", EventECCUncorrected: "ecc_uncorrected",
	EventECCStorm: "ecc_storm", EventPageRetired: "page_retired", EventPageRetirementFailed: "page_retirement_failed",
	EventPoisonContained: "poison_contained", EventPoisonUncontained: "poison_uncontained", EventClocksChanged: "clocks_changed",
	EventPowerSourceChanged: "power_source_changed", EventRecoveryActionChanged: "recovery_action_changed", EventUnavailable: "unavailable",
	EventLost: "lost", EventReturned: "returned", EventLogMatched: "log_matched",
	EventForgotten: "forgotten",
}

// String is the kind as labels and messages show it.
func (k EventKind) String() string {
	if k >= NumEventKinds {
		return "unknown"
	}
	return eventKindNames[k]
}
