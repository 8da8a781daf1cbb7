// Package health says which GPUs are not well, the worst first and never averaged.
//
// [Judge] takes a grid, the events, and what is known of nodes, and answers with a [Verdict] for each GPU and MIG instance:
// its severity at the end of the grid, the reasons with what was measured and the limit that it passed, who has to do what,
// the runbook, and since when. A MIG instance has the reasons of its board. What was not measured is listed; a GPU of which
// nothing is known is Unknown, never OK, and comes before those about which there is only something worth knowing.
//
// # Time
//
// A reason lasts: it must have been so in every step that was measured, without a break, for as long as its limit says. When
// the range is shorter than that, and it was so all the time, it is one degree less severe. Counters that must not rise look
// back ten minutes, XIDs a day unless something says that the GPU recovered: an event, the driver's recovery action that was
// set and is 0 again, or values that come again after a gap. [Limits.Ranges] says how much of both full answers need, two hours and a day by default.
// A step of five minutes or less keeps short faults apart.
//
// # What is no fault
//
// A link that is slow at idle; the power limit under load; the clock event bit 0x8 in passing; margins on models that do not
// tell them; memory temperatures of 0; a licence that a physical board does not need; bridges that a server does not have;
// the last XID of a GPU whose time nobody knows; applications' faults, unless one GPU alone has them again and again; the
// versions that an upgrade brings.
//
// # Incidents
//
// Faults that belong together are one [Incident] under what is behind them: all that a GPU has; an exporter that is down with
// all GPUs of its node; heat or power of most GPUs of a node, or of a rack whose coolant or power has an alarm; and faults that
// nodes which share something began to have within ten minutes: of NVLink in an NVLink domain, of power at a feed, of heat in a rack,
// nothing received from behind a switch. Where a domain, a feed or a switch is not known the rack stands for it. XIDs 45 and 43 go with the one before them, 63 with the 64
// behind it, 171 and 172 with 48, 154 with what made the driver ask; 79 and a GPU that is gone silence the rest of it.
//
// What is in maintenance has its verdict, and says that nobody has to act on it: it is neither a fault to page for nor healthy.
//
// [Risk] counts precursors. It is called risk because it is no prediction.
//
// What a query may say is in [Options].
package health
