package insighttest

import "strings"

// anyLines in an expectation stands for any number of lines.
const anyLines = "..."

// difference compares what was expected with what was answered, line by line. It is the shortest list of lines to take out
// (-) and put in (+), with the lines that fit between them.
func difference(want, got []string) (text string, same bool) {
	for i, line := range got {
		got[i] = strings.Join(strings.Fields(line), " ")
	}
	// cost[i][j] is the number of lines that differ between want[i:] and got[j:].
	cost := make([][]int, len(want)+1)
	for i := range cost {
		cost[i] = make([]int, len(got)+1)
	}
	for i := len(want); i >= 0; i-- {
		for j := len(got); j >= 0; j-- {
			_, cost[i][j] = next(want, got, cost, i, j)
		}
	}
	if cost[0][0] == 0 {
		return "", true
	}
	var b strings.Builder
	for i, j := 0, 0; i < len(want) || j < len(got); {
		move, _ := next(want, got, cost, i, j)
		switch move {
		case fits:
			b.WriteString("    " + got[j] + "\n")
			i, j = i+1, j+1
		case skips:
			i++
		case swallows:
			b.WriteString("    " + got[j] + "\n")
			j++
		case missing:
			b.WriteString("  - " + want[i] + "\n")
			i++
		case extra:
			b.WriteString("  + " + got[j] + "\n")
			j++
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), false
}

type move int

const (
	fits     move = iota // the lines are the same
	skips                // "..." is over
	swallows             // "..." takes one more line
	missing              // a line that was expected is not there
	extra                // a line is there that was not expected
)

// next is the cheapest step from (i, j), and what remains to be paid with it.
func next(want, got []string, cost [][]int, i, j int) (move, int) {
	best, least := fits, -1
	try := func(m move, c int) {
		if least < 0 || c < least {
			best, least = m, c
		}
	}
	if i < len(want) && want[i] == anyLines {
		try(skips, cost[i+1][j])
		if j < len(got) {
			try(swallows, cost[i][j+1])
		}
		return best, least
	}
	if i < len(want) && j < len(got) && matches(want[i], got[j]) {
		try(fits, cost[i+1][j+1])
	}
	if i < len(want) {
		try(missing, cost[i+1][j]+1)
	}
	if j < len(got) {
		try(extra, cost[i][j+1]+1)
	}
	return best, max(least, 0)
}

func matches(want, got string) bool {
	if part, contains := strings.CutPrefix(want, "~"); contains {
		return strings.Contains(got, strings.TrimSpace(part))
	}
	return want == got
}
