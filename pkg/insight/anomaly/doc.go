// Package anomaly finds values that are not as they were, or not as those of the peers.
//
// # Own history
//
// A [Baseline] holds 16 days of one metric of one device and class of work, hour by hour, in bounded memory (about 20 kB): the
// values themselves while an hour has at most 12, as at steps of 5 minutes; beyond that its lowest, its highest, and ten
// quantiles in between, which are right to a tenth of the hour's values while they come every 15 seconds or less often. It is
// added to, never computed anew; baselines of several devices can be merged, stored and read again.
//
// What is expected at a time comes from the same hour of the week, and the hours around it, one and two weeks before: p1, p50,
// p99 and the median absolute deviation (MAD). Nothing younger than 23 hours takes part: what is odd now does not make itself
// normal. Before there is a week, the same hour of the days before stands in, and the answer says so; before there is a day,
// there is no band. A value is flagged when 0.6745 (x − median) / MAD is beyond 3.5, it is outside of p1 to p99, it differs by
// at least 5 % (of a ratio 0.05), and that lasts for 10 minutes. The MAD is at least the typical one of the device's hours, as
// few values may be alike by chance.
//
// # Peers
//
// GPUs of the same job at the same time, or of the same model in the same cluster, need no history. Each is held against the
// median and MAD of the others that are in the same state: where half of the peers or more are off, those that work are
// compared with each other, and nobody is blamed for working. Where fewer are off, they are what is odd.
//
// # Thresholds
//
// [Learn] reads thresholds for an alert rule from history: the lowest that would have been crossed, for as long as the rule
// waits, no more than so often a week, with how often that would have been.
//
// # Options
//
// [Options] is the query's "options" object: {"metric": "gpu_power_watts", "value": ""|"max"|"min"|"rise", "against":
// "history"|"job"|"model", "hours": 24}. [Fields] says what to fetch: for "history" at least one, better two weeks and the
// hours that are looked at, in steps of 5 minutes to an hour; for peers the hours alone. With a [Set] that the caller keeps,
// only the newest steps are needed.
package anomaly
