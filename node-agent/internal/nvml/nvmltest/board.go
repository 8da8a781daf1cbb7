package nvmltest

import (
	"strconv"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// Device is a GPU's or a MIG instance's handle. It implements nvml.Device.
type Device struct {
	*mock.Device // nil: what is not implemented panics with its name

	m          *Machine
	gpu        *boardState
	mig        *instanceState // nil for a whole GPU
	generation int
}

// answers are what the device says.
func (d *Device) answers() map[string]Answer {
	if d.mig != nil {
		return d.mig.spec.Answers
	}
	return d.gpu.spec.Answers
}

// find looks a value up by "Call" or "Call/part".
func (d *Device) find(name string) *Value {
	for i := range len(name) {
		if name[i] == '/' {
			v := d.gpu.spec.Answers[name[:i]].Parts[name[i+1:]]
			return &v
		}
	}
	v := d.gpu.spec.Answers[name].Value
	return &v
}

// ask makes a call of which nothing but its answer is known. What no data describes is not supported.
func (d *Device) ask(call, arg string) (Answer, nvml.Return) {
	ret, out := d.m.enter(call, d, arg)
	if ret != nvml.SUCCESS {
		return Answer{}, ret
	}
	if out != nil {
		return *out, nvml.SUCCESS
	}
	d.m.mu.Lock()
	a, ok := d.answers()[call]
	d.m.mu.Unlock()
	switch {
	case !ok:
		return Answer{}, nvml.ERROR_NOT_SUPPORTED
	case a.Ret != nvml.SUCCESS:
		return Answer{}, a.Ret
	}
	return a, nvml.SUCCESS
}

// number is one number, or the one of an argument. An argument that is not described is not supported.
func (d *Device) number(call, part string) (float64, nvml.Return) {
	a, ret := d.ask(call, part)
	if ret != nvml.SUCCESS {
		return 0, ret
	}
	v := a.Value
	if len(a.Parts) > 0 {
		p, ok := a.Parts[part]
		if !ok {
			return 0, nvml.ERROR_NOT_SUPPORTED
		}
		v = p
	}
	return d.value(&v), v.Ret
}

func (d *Device) value(v *Value) float64 { return v.at(d.m.seconds(), d.find) }

// parts are several numbers of one call; those that are not described are 0.
func (d *Device) parts(call string, names ...string) ([]float64, nvml.Return) {
	a, ret := d.ask(call, "")
	numbers := make([]float64, len(names))
	if ret != nvml.SUCCESS {
		return numbers, ret
	}
	t := d.m.seconds()
	for i, name := range names {
		v := a.Parts[name]
		if v.Ret != nvml.SUCCESS {
			return numbers, v.Ret
		}
		numbers[i] = v.at(t, d.find)
	}
	return numbers, nvml.SUCCESS
}

func (d *Device) u32(call, part string) (uint32, nvml.Return) {
	n, ret := d.number(call, part)
	return uint32(int64(n)), ret
}

func (d *Device) u64(call, part string) (uint64, nvml.Return) {
	n, ret := d.number(call, part)
	return uint64(n), ret
}

func (d *Device) integer(call, part string) (int, nvml.Return) {
	n, ret := d.number(call, part)
	return int(n), ret
}

func (d *Device) words(call string) (string, nvml.Return) {
	a, ret := d.ask(call, "")
	return a.Text, ret
}

// named is the name of an argument in data, its number when it has none.
func named[T ~int32 | ~uint32 | ~int](names []string, i T) string {
	if i >= 0 && int(i) < len(names) {
		return names[i]
	}
	return strconv.Itoa(int(i))
}

var (
	clockNames     = []string{"graphics", "sm", "memory", "video"}
	thresholdNames = []string{"shutdown", "slowdown", "memory_max", "gpu_max", "acoustic_min", "acoustic_current", "acoustic_max", "gps"}
	directionNames = []string{"tx", "rx"}
	errorNames     = []string{"corrected", "uncorrected"}
	counterNames   = []string{"volatile", "aggregate"}
	policyNames    = []string{"power", "thermal", "sync_boost", "board_limit", "low_utilization", "reliability"}
)
