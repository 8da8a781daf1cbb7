package plugin

import (
	"fmt"
	"slices"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

// census counts the devices behind a line that stands for several.
type census struct{ boards, instances int }

func (c census) total() int { return c.boards + c.instances }

func (c census) String() string {
	switch {
	case c.instances == 0:
		return count(c.boards, "GPU")
	case c.boards == 0:
		return count(c.instances, "MIG instance")
	}
	return count(c.boards, "GPU") + " and " + count(c.instances, "MIG instance")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// absentAge is how long ago a range may have ended to be compared with the devices there are now.
const absentAge = 10 * time.Minute

// absentNotice tells which devices neither side has anything of.
func absentNotice(m catalog.Metric, absent []gpu.Device, s seam) (gpu.Notice, bool) {
	present := map[board]bool{}
	for _, side := range [][]gpu.Series{s.history, s.live, s.rest} {
		for _, series := range side {
			present[boardOf(series.Device)] = true
		}
	}
	absent = slices.DeleteFunc(slices.Clone(absent), func(d gpu.Device) bool { return present[boardOf(d)] })
	return history.AbsentNotice(m.Name, absent, len(present))
}

// averageNotices say over how many devices averages are, because exporters may leave some out, and how those of MIG
// instances are made. sides are the devices' series, of which one device may have several.
func averageNotices(a timeline.Aggregation, sides ...[]gpu.Series) []gpu.Notice {
	if a.By == timeline.ByIdentity || a.Fn != timeline.Avg {
		return nil
	}
	groups := map[string]census{}
	seen := map[board]bool{}
	instances := false
	for _, side := range sides {
		for _, s := range side {
			if seen[boardOf(s.Device)] {
				continue
			}
			seen[boardOf(s.Device)] = true
			group := groupOf(s.Device, a.By)
			c := groups[group]
			if s.Device.IsMIG() {
				c.instances++
				instances = true
			} else {
				c.boards++
			}
			groups[group] = c
		}
	}
	if len(groups) == 0 {
		return nil
	}
	var fewest, most census
	for _, c := range groups {
		if fewest.total() == 0 || c.total() < fewest.total() {
			fewest = c
		}
		if c.total() > most.total() {
			most = c
		}
	}
	text := "Averages are over " + most.String()
	switch {
	case fewest.total() != most.total():
		text = fmt.Sprintf("Averages are over %d to %d devices a line", fewest.total(), most.total())
	case len(groups) > 1:
		text += " a line"
	}
	if instances && a.Relative {
		text += "; a MIG instance's value is relative to the instance and counts by its part of the GPU's compute slices (1g of 7 counts 1/7)"
	}
	return []gpu.Notice{{Severity: gpu.Info, Text: text + "."}}
}
