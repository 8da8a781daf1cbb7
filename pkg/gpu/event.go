package gpu

import "time"

// Event is something that happened to a GPU or to its node, at a time or over one.
type Event struct {
	Time  time.Time
	Until time.Time // end of what lasted or lasts: a throttling, a silence; zero for what happened at once
	Kind  string    // one of the kinds below, or one that a newer agent made up
	// Origin is who reported it: "nvml", "kernel", "agent", "log", "simulate", "history" or "alertmanager".
	Origin string
	Device Device // only Cluster and Node when nobody knows the GPU
	XID    uint64 // of KindXID
	Detail string // one line for people; of an alert it begins with its name, a colon and a blank
	// Seq numbers the events of one agent since it started; 0 for those from elsewhere.
	Seq uint64
}

// Kinds of events. The first ones are those of agents.
const (
	KindXID                  = "xid"
	KindMIGLayoutChanged     = "mig_layout_changed"
	KindECCCorrected         = "ecc_corrected"
	KindECCUncorrected       = "ecc_uncorrected"
	KindECCStorm             = "ecc_storm"
	KindPageRetired          = "page_retired"
	KindPageRetirementFailed = "page_retirement_failed"
	KindPoisonContained      = "poison_contained"
	KindPoisonUncontained    = "poison_uncontained"
	KindLost                 = "lost"
	KindReturned             = "returned"
	KindUnavailable          = "unavailable"
	KindRecoveryAction       = "recovery_action_changed"
	KindClocksChanged        = "clocks_changed"
	KindPowerSourceChanged   = "power_source_changed"
	KindLogMatched           = "log_matched"
	KindThrottle             = "throttle"
	KindOwnerChanged         = "owner_changed"
	KindAlert                = "alert"
	KindSilence              = "silence"
)
