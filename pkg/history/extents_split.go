package history

import "time"

const (
	day = 24 * 60 * 60 * 1000 // milliseconds
	// maxPieces bounds the requests that one range becomes.
	maxPieces = 16
	// piecesAtOnce is how many of them are under way at the same time.
	piecesAtOnce = 4
)

// span is a range of ticks, both included.
type span struct{ from, to int64 }

// missing are the spans between two ticks that the stretches leave out, at most one more than there are stretches.
func missing(have []stretch, from, to int64) []span {
	var spans []span
	for _, s := range have {
		if from < s.low {
			spans = append(spans, span{from, s.low - 1})
		}
		from = s.high + 1
	}
	if from <= to {
		spans = append(spans, span{from, to})
	}
	return spans
}

// pieces cuts what is long at the days of UTC, or every few days where there would be too many pieces. Where a piece
// begins does not depend on when it is asked for, so that callers ask for the same ones.
func pieces(spans []span, g axis) []span {
	var total int64
	for _, s := range spans {
		total += (s.to - s.from + 1) * g.step
	}
	length := int64(day)
	for total > length*(maxPieces-int64(len(spans))) && length < total {
		length += day
	}
	var cut []span
	for _, s := range spans {
		for s.from <= s.to {
			// The last tick before the next border.
			border := (floorDiv(g.time(s.from), length) + 1) * length
			end := min(g.tick(border-1), s.to)
			cut = append(cut, span{s.from, end})
			s.from = end + 1
		}
	}
	return cut
}

// trust is how long something is taken to be complete that was so old when it was asked for. Whatever arrives later than
// the freshness allows, after an outage for one, is seen after as long as it was late.
func trust(age time.Duration) time.Duration { return min(max(age, leastTrust), mostTrust) }

const (
	leastTrust = 15 * time.Minute
	mostTrust  = 6 * time.Hour
	// emptyTrust is for nothing at all: a server that was just set up may yet be filled.
	emptyTrust = time.Minute
)
