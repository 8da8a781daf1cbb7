// Package locate says which of the node's GPUs an id means: ids as the kubelet's device plugins, DRA drivers, CDI and
// Slurm write them.
package locate

import "github.com/warpwatch/warpwatch/pkg/gpu"

// Unknown is a number that nobody told.
const Unknown = -1

// Device is a GPU or MIG instance with the further names that schedulers know it by.
type Device struct {
	gpu.Device

	Minor   int      // N of /dev/nvidiaN, or Unknown
	Start   int      // first memory slice of a MIG instance, or Unknown
	Aliases []string // further MIG UUIDs that mean it: those of its compute instances
}

// Devices are devices of which no further name is known.
func Devices(plain []gpu.Device) []Device {
	devices := make([]Device, len(plain))
	for i, d := range plain {
		devices[i] = Device{Device: d, Minor: Unknown, Start: Unknown}
	}
	return devices
}

// Target is what an id means.
type Target struct {
	UUID        string // of the physical GPU
	GPUInstance string // "" for a whole GPU
	Replica     string // of a GPU that several containers share, "" otherwise
	Note        string // what had to be assumed, as a sentence; "" when nothing was
}
