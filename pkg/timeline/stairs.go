package timeline

import (
	"math"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const (
	// leastSteps is how many whole steps a line must have to be called stairs: fewer may look alike by chance.
	leastSteps = 4
	// looked is how many lines are looked at for stairs. Those of one exporter are all alike.
	looked = 16
)

// Stairs tells whether lines repeat each value for a while, all for equally long, as an exporter does that is asked more
// often than it measures. Refresh is how long. A value that happens to stay for a while does not stay for equally long.
func Stairs(series []gpu.Series) (refresh time.Duration, ok bool) {
	for _, s := range series[:min(looked, len(series))] {
		if found, is := stairs(s); is {
			refresh, ok = max(refresh, found), true
		}
	}
	return refresh, ok
}

// stairs looks at the steps between the first change and the last, which are whole.
func stairs(s gpu.Series) (time.Duration, bool) {
	var begun int64
	steps, shortest, longest := 0, math.MaxInt, 0
	length, changed := 0, false
	var total int64
	for i, v := range s.Values {
		switch {
		case math.IsNaN(v):
			length, changed = 0, false // what is around a gap is not whole
			continue
		case i == 0 || math.IsNaN(s.Values[i-1]):
			length = 1
			continue
		case v == s.Values[i-1]:
			length++
			continue
		}
		if changed {
			steps++
			shortest, longest = min(shortest, length), max(longest, length)
			total += s.Times[i] - begun
		}
		length, changed, begun = 1, true, s.Times[i]
	}
	if steps < leastSteps || shortest < 2 || longest > shortest+1 {
		return 0, false
	}
	return time.Duration(total/int64(steps)) * time.Millisecond, true
}
