package topology

import (
	"fmt"
	"math"
	"strings"
)

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func rate(what string, v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strings.TrimSpace(what + " " + bytesPerSecond(v))
}

// bytesPerSecond is a rate as people read it.
func bytesPerSecond(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.3g %s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f B/s", v)
}
