package gpu

// Unit is the base unit of a canonical metric. It is also the suffix of the metric's name.
type Unit string

// The units that canonical metrics use.
const (
	Bytes          Unit = "bytes"
	BytesPerSecond Unit = "bytes_per_second"
	Seconds        Unit = "seconds"
	Watts          Unit = "watts"
	Joules         Unit = "joules"
	Hertz          Unit = "hertz"
	Celsius        Unit = "celsius"
	Ratio          Unit = "ratio" // 0 to 1
	Count          Unit = "count"
	Code           Unit = "code" // an enumeration or a bit mask
)

// Valid reports whether u is one of the units above.
func (u Unit) Valid() bool {
	switch u {
	case Bytes, BytesPerSecond, Seconds, Watts, Joules, Hertz, Celsius, Ratio, Count, Code:
		return true
	}
	return false
}

// PerSecond is the unit of a counter's rate: joules per second are watts, seconds per second a ratio.
func (u Unit) PerSecond() Unit {
	switch u {
	case Bytes:
		return BytesPerSecond
	case Joules:
		return Watts
	case Seconds:
		return Ratio
	default:
		return u
	}
}
