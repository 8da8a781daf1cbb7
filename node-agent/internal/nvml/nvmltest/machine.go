// Package nvmltest is an NVML without a driver: a machine described by data, behind go-nvml's interfaces. It keeps NVML's
// rules, counts calls, takes time as drivers do, and fails as they were seen to fail. Calls it does not know panic with
// their name.
package nvmltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// Options are how a machine passes time.
type Options struct {
	// Now is the clock. Without one the machine has its own, which stands still but for Advance.
	Now func() time.Time
	// Slow makes calls take as long as the machine says.
	Slow bool
	// Before is called at the start of every call, and may hang. The GPU is -1 for calls of the library as a whole.
	Before func(call string, gpu int)
}

// start is when the machine's own clock begins.
var start = time.Unix(1_800_000_000, 0)

// Machine is the fake. It implements nvml.Interface, and is safe for concurrent use.
type Machine struct {
	mock.Interface // what is not implemented panics with its name

	spec    *Spec
	slow    bool
	before  func(call string, gpu int)
	now     func() time.Time
	began   time.Time
	symbols map[string]bool // nil when the library has all but Missing

	mu         sync.Mutex
	own        time.Time // the machine's own clock
	opened     int
	generation int // of handles: those of before Shutdown are void
	changed    chan struct{}
	calls      map[string]int
	violations []string
	gpus       []*boardState
	events     []queued
	sent       map[int]bool // steps whose event was queued
	handles    map[handleKey]*Device

	gpm   atomic.Int32 // GPM calls that run now
	spent atomic.Int64 // nanoseconds
}

// boardState is one GPU.
type boardState struct {
	index int
	spec  GPUSpec
	mig   []*instanceState
}

type instanceState struct {
	place int
	spec  InstanceSpec
	held  int // generation whose handle may still be used, 0 for none
}

// handleKey names a handle: NVML gives the same one each time.
type handleKey struct {
	gpu        *boardState
	mig        *instanceState
	generation int
}

// handle is the handle that d is, or the equal one that was given before.
func (m *Machine) handle(d *Device) *Device {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := handleKey{d.gpu, d.mig, d.generation}
	if known, ok := m.handles[key]; ok {
		return known
	}
	m.handles[key] = d
	return d
}

// New makes a machine.
func New(spec *Spec, o Options) (*Machine, error) {
	m := &Machine{
		spec: spec, slow: o.Slow, before: o.Before, now: o.Now, own: start, calls: map[string]int{}, changed: make(chan struct{}),
		sent: map[int]bool{}, generation: 1, handles: map[handleKey]*Device{},
	}
	if m.now == nil {
		m.now = m.ownClock
	}
	m.began = m.now()
	if spec.Only != "" {
		text, err := testdata.ReadFile("testdata/symbols/" + spec.Only + ".txt")
		if err != nil {
			return nil, err
		}
		m.symbols = map[string]bool{}
		for name := range strings.FieldsSeq(string(text)) {
			m.symbols[name] = true
		}
	}
	for i := range spec.Script {
		if err := spec.Script[i].prepare(); err != nil {
			return nil, err
		}
	}
	for i, g := range spec.GPUs {
		s := &boardState{index: i, spec: g}
		for place, in := range g.MIG {
			s.mig = append(s.mig, &instanceState{place: place, spec: in})
		}
		m.gpus = append(m.gpus, s)
	}
	return m, nil
}

func (m *Machine) ownClock() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own
}

// Clock is the machine's time.
func (m *Machine) Clock() time.Time { return m.now() }

// Advance lets time pass on the machine's own clock, and returns the new time.
func (m *Machine) Advance(d time.Duration) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = m.own.Add(d)
	m.wake()
	return m.own
}

// seconds is how long the machine exists.
func (m *Machine) seconds() float64 { return m.now().Sub(m.began).Seconds() }

func (m *Machine) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Calls is how often each call was made.
func (m *Machine) Calls() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.calls)
}

// Violations are the rules of NVML that were broken.
func (m *Machine) Violations() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.violations)
}

// violate notes a broken rule.
func (m *Machine) violate(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.violations) < 1000 {
		m.violations = append(m.violations, fmt.Sprintf(format, args...))
	}
}

// Put changes what a call of GPU i answers from now on; every whole GPU's when i is negative.
func (m *Machine) Put(i int, call string, a Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.gpus {
		if i < 0 || g.index == i {
			g.spec.Answers = merged(g.spec.Answers, map[string]Answer{call: a})
		}
	}
}

// Split gives GPU i other MIG instances. What is in use cannot be destroyed: the answer is then ERROR_IN_USE, and nothing
// changes.
func (m *Machine) Split(i int, instances []InstanceSpec) nvml.Return {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.gpus[i]
	for _, in := range g.mig {
		stays := slices.ContainsFunc(instances, func(s InstanceSpec) bool { return s.GI == in.spec.GI && s.Profile == in.spec.Profile })
		if !stays && in.held == m.generation && m.opened > 0 {
			return nvml.ERROR_IN_USE
		}
	}
	g.mig = nil
	for place, in := range instances {
		g.mig = append(g.mig, &instanceState{place: place, spec: in})
	}
	m.events = append(m.events, queued{gpu: i, kind: nvml.EventMigConfigChange})
	m.wake()
	return nvml.SUCCESS
}

// symbol is the library's name for a call.
func symbol(call string, d *Device) string {
	switch {
	case d == nil || strings.HasPrefix(call, "Gpm"):
		return "nvml" + call
	case call == "RegisterEvents":
		return "nvmlDeviceRegisterEvents"
	}
	return "nvmlDevice" + call
}

// has reports whether the library exports a symbol.
func (m *Machine) has(name string) bool {
	if m.symbols != nil && !m.symbols[name] {
		return false
	}
	return !slices.Contains(m.spec.Missing, name)
}

// enter counts a call, lets it take its time, and says what a rule or the script answers: SUCCESS when neither does. out
// is then what a step puts in place of the answer.
func (m *Machine) enter(call string, d *Device, arg string) (ret nvml.Return, out *Answer) {
	if name := symbol(call, d); !m.has(name) {
		m.violate("%s was called, which this library lacks: the process would end", name)
		return nvml.ERROR_FUNCTION_NOT_FOUND, nil
	}
	defer m.account()()
	m.spend(call)
	if m.before != nil {
		gpu := -1
		if d != nil {
			gpu = d.gpu.index
		}
		m.before(call, gpu)
	}
	t := m.seconds()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[call]++
	if call != "Init" && call != "Shutdown" {
		if m.opened == 0 {
			m.breach("%s was called while NVML is closed", call)
			return nvml.ERROR_UNINITIALIZED, nil
		}
		if d != nil && d.generation != m.generation {
			m.breach("%s was called with a handle from before NVML was closed", call)
			return nvml.ERROR_INVALID_ARGUMENT, nil
		}
	}
	if d != nil && d.mig != nil && !slices.Contains(d.gpu.mig, d.mig) {
		return nvml.ERROR_INVALID_ARGUMENT, nil // destroyed
	}
	return m.scripted(call, d, arg, t)
}

// breach is violate for who holds the lock.
func (m *Machine) breach(format string, args ...any) {
	if len(m.violations) < 1000 {
		m.violations = append(m.violations, fmt.Sprintf(format, args...))
	}
}

func (m *Machine) scripted(call string, d *Device, arg string, t float64) (ret nvml.Return, out *Answer) {
	newest := -1.0
	for i := range m.spec.Script {
		s := &m.spec.Script[i]
		if s.T <= t && s.T >= newest && s.matches(call, d, arg) {
			newest, ret, out = s.T, s.Ret.Ret, s.out
		}
	}
	return ret, out
}
