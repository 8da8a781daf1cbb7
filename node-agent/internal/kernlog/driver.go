package kernlog

import (
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

const (
	// sameFall is how far apart the driver may say twice that one GPU fell off the bus.
	sameFall = 5 * time.Second
	// maxGPUs bounds what is remembered of GPUs. No node has as many.
	maxGPUs = 256
	// continued is how many more lines of the driver may come before the end of a sentence.
	continued = 4
)

// driver understands what the NVIDIA driver writes, message by message.
type driver struct {
	uuids map[string]string // by address
	falls map[string]fall   // by address

	begun string // a sentence about a lost GPU whose end has not come
	left  int    // in how many more lines it may
}

// fall is when a GPU was last said to have fallen off the bus.
type fall struct {
	at time.Time
	// open: the event stands for a sentence without an Xid, whose Xid line may still come.
	open bool
}

func newDriver() *driver {
	return &driver{uuids: map[string]string{}, falls: map[string]fall{}}
}

// event is what a message means; false for one that is not worth an event, or the second about the same.
func (d *driver) event(text string, at time.Time) (device.Event, messageKind, bool) {
	m := parseMessage(d.sentence(text))
	e := device.Event{
		Kind: device.EventXID, Time: at, Origin: device.FromKernel, UUID: d.uuids[m.address], PCIBusID: m.address,
		GPUInstance: m.gpuInstance, ComputeInstance: m.computeInstance, XID: m.code,
	}
	switch m.kind {
	case xidMessage, fallenMessage:
		if m.code == fallenOffTheBus && d.knows(m, at) {
			return device.Event{}, m.kind, false
		}
	case switchMessage:
		// It is no GPU, and its codes are no XIDs.
		e = device.Event{Kind: device.EventLogMatched, Time: at, Origin: device.FromKernel}
	case nameMessage:
		if len(d.uuids) < maxGPUs {
			d.uuids[m.address] = m.uuid
		}
		return device.Event{}, m.kind, false
	default:
		return device.Event{}, m.kind, false
	}
	e.Detail = m.detail()
	return e, m.kind, true
}

// sentence joins the lines of the one message about a lost GPU that has several, where they come one by one.
func (d *driver) sentence(text string) string {
	const begin, end = "NVRM: The NVIDIA GPU ", "fallen off the bus and is not responding to commands"
	ends := strings.Contains(text, end)
	switch {
	case !strings.HasPrefix(text, "NVRM: "):
	case strings.HasPrefix(text, begin) && !ends:
		d.begun, d.left = text, continued
	case d.begun != "" && ends:
		text, d.begun = d.begun+"\n"+text, ""
	case d.begun != "":
		if d.left--; d.left == 0 {
			d.begun = ""
		}
	}
	return text
}

// knows reports whether the fall of a GPU was reported before. The driver writes an Xid line, a sentence without one, or
// both, in either order; and it repeats the sentence for as long as anything tries to open the GPU.
func (d *driver) knows(m message, at time.Time) bool {
	before, found := d.falls[m.address]
	recent := found && at.Sub(before.at).Abs() < sameFall
	isXID := m.kind == xidMessage
	known := recent && (!isXID || before.open)
	if !found && len(d.falls) >= maxGPUs {
		return false
	}
	d.falls[m.address] = fall{at: at, open: !isXID && (!recent || before.open)}
	return known
}
