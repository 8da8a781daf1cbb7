// Package insight says which GPU needs a person, why, and what to do.
//
// Each kind of judgement is a package of its own below this one. They share the vocabulary here: what they look at
// ([Grid]), why they say what they say ([Reason], [Evidence]), how sure they are ([Confidence]) and what is to be done
// ([Action]). They are pure: no clock, no I/O, nothing kept between calls but what the caller holds. The same input gives
// the same answer, whether it came from history, from live streams or from both.
//
// Absent is never zero: a value that was not measured is NaN in a grid and never decides anything. What a judgement
// would have needed and did not have is in its list of missing metrics, and lowers its confidence.
package insight
