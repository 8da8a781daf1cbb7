package plugin

import "time"

const (
	// refillQuiet is how long no late samples come before viewers are told to ask: what an agent remembers comes in one go.
	refillQuiet = 500 * time.Millisecond
	// refillSoon is how long they are waited for at most.
	refillSoon = 5 * time.Second
	// refillEvery is how far apart viewers are told at least. Of an agent that is always late they see the rest that often.
	refillEvery = 30 * time.Second
)

// refill decides when viewers are to ask for an answer again, because samples came too late for rows that were sent: of an agent
// that was away and brings what it remembers, while the rows of the others went on.
type refill struct {
	late        uint64    // samples that came too late, so far
	first, last time.Time // when some came that viewers were not told of
	told        time.Time // when viewers were told last: answers of then and later have everything
}

// begin leaves out what was late so far.
func (r *refill) begin(late uint64) { r.late = late }

// due takes note of how many samples were late by now, and reports whether viewers are to be told anew.
func (r *refill) due(late uint64, now time.Time) bool {
	if late > r.late {
		if r.first.IsZero() {
			r.first = now
		}
		r.late, r.last = late, now
	}
	switch {
	case r.first.IsZero(), now.Sub(r.told) < refillEvery:
		return false
	case now.Sub(r.last) < refillQuiet && now.Sub(r.first) < refillSoon:
		return false
	}
	r.first, r.told = time.Time{}, now
	return true
}

// custom is what a schema says about it, nil as long as nothing was late.
func (r *refill) custom() any {
	if r.told.IsZero() {
		return nil
	}
	return map[string]any{"refill": r.told.UnixMilli()}
}
