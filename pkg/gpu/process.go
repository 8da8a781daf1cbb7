package gpu

// Process is one process on one device. A reading that is absent was not measured.
type Process struct {
	Device Device
	PID    uint32 // of the host
	Name   string
	User   string
	Kind   string // "compute", "mps" or "graphics"
	Owner  Owner  // zero when not known

	MemoryBytes Reading
	// Shares of a second's time, 0–1.
	SMRatio, MemoryActivityRatio, EncoderRatio, DecoderRatio Reading
}
