package nvmltest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// extensions answers which symbols there are.
type extensions struct {
	mock.ExtendedInterface

	m *Machine
}

// LookupSymbol implements nvml.ExtendedInterface.
func (e *extensions) LookupSymbol(name string) error {
	if !e.m.has(name) {
		return fmt.Errorf("libnvidia-ml.so.1: undefined symbol: %s", name)
	}
	return nil
}

// Extensions implements nvml.Interface.
func (m *Machine) Extensions() nvml.ExtendedInterface { return &extensions{m: m} }

// Init implements nvml.Interface.
func (m *Machine) Init() nvml.Return {
	if ret, _ := m.enter("Init", nil, ""); ret != nvml.SUCCESS {
		return ret
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened++
	return nvml.SUCCESS
}

// InitWithFlags implements nvml.Interface.
func (m *Machine) InitWithFlags(uint32) nvml.Return { return m.Init() }

// Shutdown implements nvml.Interface. Every handle is void afterwards.
func (m *Machine) Shutdown() nvml.Return {
	if ret, _ := m.enter("Shutdown", nil, ""); ret != nvml.SUCCESS {
		return ret
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opened == 0 {
		return nvml.ERROR_UNINITIALIZED
	}
	if m.opened--; m.opened == 0 {
		m.generation++
		m.wake()
	}
	return nvml.SUCCESS
}

func (m *Machine) text(call, text string) (string, nvml.Return) {
	ret, out := m.enter(call, nil, "")
	if out != nil {
		text = out.Text
	}
	if ret != nvml.SUCCESS {
		return "", ret
	}
	return text, ret
}

// SystemGetDriverVersion implements nvml.Interface.
func (m *Machine) SystemGetDriverVersion() (string, nvml.Return) {
	return m.text("SystemGetDriverVersion", m.spec.Driver)
}

// SystemGetNVMLVersion implements nvml.Interface.
func (m *Machine) SystemGetNVMLVersion() (string, nvml.Return) {
	return m.text("SystemGetNVMLVersion", m.spec.NVML)
}

// SystemGetCudaDriverVersion implements nvml.Interface.
func (m *Machine) SystemGetCudaDriverVersion() (int, nvml.Return) {
	ret, _ := m.enter("SystemGetCudaDriverVersion", nil, "")
	return m.spec.CUDA, ret
}

// SystemGetCudaDriverVersion_v2 implements nvml.Interface.
func (m *Machine) SystemGetCudaDriverVersion_v2() (int, nvml.Return) {
	ret, _ := m.enter("SystemGetCudaDriverVersion_v2", nil, "")
	return m.spec.CUDA, ret
}

// SystemGetProcessName implements nvml.Interface.
func (m *Machine) SystemGetProcessName(pid int) (string, nvml.Return) {
	if ret, _ := m.enter("SystemGetProcessName", nil, strconv.Itoa(pid)); ret != nvml.SUCCESS {
		return "", ret
	}
	for _, g := range m.gpus {
		for _, p := range g.spec.Processes {
			if p.PID == uint32(pid) && p.Name != "" {
				return p.Name, nvml.SUCCESS
			}
		}
	}
	return "", nvml.ERROR_NOT_FOUND
}

// SystemGetConfComputeState implements nvml.Interface: it is off.
func (m *Machine) SystemGetConfComputeState() (nvml.ConfComputeSystemState, nvml.Return) {
	ret, _ := m.enter("SystemGetConfComputeState", nil, "")
	return nvml.ConfComputeSystemState{}, ret
}

// present are the GPUs that are counted now: a script takes one out by making it fail to open by its PCI bus id.
func (m *Machine) present() []*boardState {
	t := m.seconds()
	m.mu.Lock()
	defer m.mu.Unlock()
	var there []*boardState
	for _, g := range m.gpus {
		gone, _ := m.scripted("DeviceGetHandleByPciBusId", nil, g.spec.Answers["GetPciInfo"].busID(g.index), t)
		if gone == nvml.SUCCESS {
			there = append(there, g)
		}
	}
	return there
}

// DeviceGetCount implements nvml.Interface.
func (m *Machine) DeviceGetCount() (int, nvml.Return) {
	ret, out := m.enter("DeviceGetCount", nil, "")
	if ret != nvml.SUCCESS {
		return 0, ret
	}
	n := len(m.present())
	if out != nil {
		n = min(int(out.Base), n)
	}
	return n, nvml.SUCCESS
}

// DeviceGetHandleByIndex implements nvml.Interface.
func (m *Machine) DeviceGetHandleByIndex(i int) (nvml.Device, nvml.Return) {
	ret, _ := m.enter("DeviceGetHandleByIndex", nil, strconv.Itoa(i))
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	there := m.present()
	if i < 0 || i >= len(there) {
		return nil, nvml.ERROR_INVALID_ARGUMENT
	}
	return m.open(there[i])
}

// open is a handle of a GPU: the same each time, as NVML's are.
func (m *Machine) open(g *boardState) (nvml.Device, nvml.Return) {
	m.mu.Lock()
	d := &Device{m: m, gpu: g, generation: m.generation}
	m.mu.Unlock()
	// A GPU that answers nothing cannot be opened either.
	t := m.seconds()
	m.mu.Lock()
	ret, _ := m.scripted("*", d, "", t)
	m.mu.Unlock()
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	return m.handle(d), nvml.SUCCESS
}

// DeviceGetHandleByUUID implements nvml.Interface.
func (m *Machine) DeviceGetHandleByUUID(uuid string) (nvml.Device, nvml.Return) {
	ret, _ := m.enter("DeviceGetHandleByUUID", nil, uuid)
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	for _, g := range m.present() {
		if g.spec.Answers["GetUUID"].uuid(g.index) == uuid {
			return m.open(g)
		}
	}
	return nil, nvml.ERROR_NOT_FOUND
}

// DeviceGetHandleByPciBusId implements nvml.Interface.
func (m *Machine) DeviceGetHandleByPciBusId(id string) (nvml.Device, nvml.Return) {
	ret, _ := m.enter("DeviceGetHandleByPciBusId", nil, id)
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	for _, g := range m.present() {
		if strings.EqualFold(g.spec.Answers["GetPciInfo"].busID(g.index), id) {
			return m.open(g)
		}
	}
	return nil, nvml.ERROR_NOT_FOUND
}

// buses are where the GPUs of a DGX or HGX machine sit.
var buses = [...]string{"1A", "40", "53", "66", "9C", "BA", "CE", "E4"}

func (a Answer) busID(index int) string {
	if a.Text != "" {
		return a.Text
	}
	return fmt.Sprintf("%08X:%s:00.0", index/len(buses), buses[index%len(buses)])
}

func (a Answer) uuid(index int) string {
	if a.Text != "" {
		return a.Text
	}
	return fmt.Sprintf("GPU-5eed0000-0000-4000-8000-%012d", index)
}
