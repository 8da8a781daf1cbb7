package locate

import (
	"fmt"
	"strconv"
	"strings"
)

// Table finds devices by their names. It does not change.
type Table struct {
	devices []Device
	migs    map[string]*Device // by MIG UUID
}

// NewTable indexes devices, which must not change afterwards.
func NewTable(devices []Device) *Table {
	t := &Table{devices: devices, migs: map[string]*Device{}}
	for i := range devices {
		d := &devices[i]
		if !d.IsMIG() {
			continue
		}
		for _, uuid := range append([]string{d.MIGUUID}, d.Aliases...) {
			if uuid != "" {
				t.migs[uuid] = d
			}
		}
	}
	return t
}

// Empty reports whether no device is known.
func (t *Table) Empty() bool { return len(t.devices) == 0 }

// Plugin is the device of a device plugin's id: see ParseID.
//
// A whole GPU is taken by its UUID even when the table does not hold it: who owned a GPU that was lost should be told.
func (t *Table) Plugin(text string) (Target, error) {
	id, err := ParseID(text)
	if err != nil {
		return Target{}, err
	}
	target := Target{Replica: id.Replica, GPUInstance: id.GPUInstance}
	switch {
	case strings.HasPrefix(id.UUID, "MIG-"):
		d, ok := t.migs[id.UUID]
		if !ok {
			return Target{}, fmt.Errorf("device id %q: no MIG instance of this node has this UUID", text)
		}
		target.UUID, target.GPUInstance = d.UUID, d.GPUInstance
	case id.UUID != "":
		target.UUID = id.UUID
	default:
		d, note, err := t.minor(id.Minor)
		if err != nil {
			return Target{}, fmt.Errorf("device id %q: %w", text, err)
		}
		target.UUID, target.Note = d.UUID, note
	}
	return target, nil
}

// minor is the GPU of a device file. Where minor numbers are not known, the index is taken, which differs on few machines.
func (t *Table) minor(minor int) (d *Device, note string, err error) {
	var byIndex *Device
	for i := range t.devices {
		switch d := &t.devices[i]; {
		case d.IsMIG():
		case d.Minor == minor:
			return d, "", nil
		case d.Minor == Unknown && d.Index == minor:
			byIndex = d
		}
	}
	if byIndex == nil {
		return nil, "", fmt.Errorf("this node has no GPU with the device file /dev/nvidia%d", minor)
	}
	return byIndex, fmt.Sprintf("/dev/nvidia%d was taken for the GPU with index %d, because minor numbers are not known", minor, minor), nil
}

// Job is the device of an entry of a Slurm job's list of GPUs: a UUID, or a number, which Slurm takes from the names of
// device files.
func (t *Table) Job(text string) (Target, error) {
	if !isNumber(text) {
		return t.Plugin(text)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return Target{}, fmt.Errorf("GPU %q: %w", text, err)
	}
	d, note, err := t.minor(n)
	if err != nil {
		return Target{}, fmt.Errorf("GPU %q: %w", text, err)
	}
	return Target{UUID: d.UUID, Note: note}, nil
}

// Index is the device with an index as nvidia-smi prints it, "3", or a GPU instance of it, "3.7".
func (t *Table) Index(text string) (Target, error) {
	index, instance, split := strings.Cut(text, ".")
	n, err := strconv.Atoi(index)
	if err != nil || !isNumber(index) || split && !isNumber(instance) {
		return Target{}, fmt.Errorf("GPU %q: expected an index like 3, or 3.7 for GPU instance 7 of it", text)
	}
	for i := range t.devices {
		if d := &t.devices[i]; !d.IsMIG() && d.Index == n {
			return Target{UUID: d.UUID, GPUInstance: instance}, nil
		}
	}
	return Target{}, fmt.Errorf("GPU %q: this node has no GPU with index %d", text, n)
}
