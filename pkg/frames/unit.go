package frames

import "github.com/warpwatch/warpwatch/pkg/gpu"

// grafanaUnit is the id of a unit in Grafana's unit picker, "" when the unit is not known.
func grafanaUnit(u gpu.Unit, rate bool) string {
	switch u {
	case gpu.Bytes:
		return "bytes"
	case gpu.BytesPerSecond:
		return "Bps"
	case gpu.Seconds:
		return "s"
	case gpu.Watts:
		return "watt"
	case gpu.Joules:
		return "joule"
	case gpu.Hertz:
		return "hertz"
	case gpu.Celsius:
		return "celsius"
	case gpu.Ratio:
		return "percentunit"
	case gpu.Count:
		if rate {
			return "cps"
		}
		return "short"
	case gpu.Code:
		return "none"
	}
	return ""
}
