package nvmltest

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"go.yaml.in/yaml/v3"
)

// Step is something that changes at a time. The newest step that matches a call decides what it answers.
type Step struct {
	T    float64   `yaml:"t"`    // seconds after the machine was made
	Call string    `yaml:"call"` // "Init", "DeviceGetCount", "GetTemperature" or "DeviceGetTemperature", "*" for all
	Arg  yaml.Node `yaml:"arg"`  // index or PCI bus id, for calls that open a device
	// Device is the index of a GPU, "parent" for any whole one, "mig0" for the first instance of any. Empty is all.
	Device yaml.Node `yaml:"device"`
	Ret    Value     `yaml:"ret"`
	Out    yaml.Node `yaml:"out"` // an Answer that replaces what the call gives, when ret is SUCCESS
	// Event happens once: "XID" with a code, or NVML's number of another kind.
	Event string `yaml:"event"`
	Code  uint64 `yaml:"code"`
	Note  string `yaml:"note"` // for readers

	out *Answer
}

// prepare reads the answer. Lists of processes are no answers: they are the GPU's Processes.
func (s *Step) prepare() error {
	if s.Out.Kind == 0 || s.Out.Kind == yaml.SequenceNode {
		return nil
	}
	s.out = &Answer{}
	if err := s.Out.Decode(s.out); err != nil {
		return fmt.Errorf("answer of %s at %v s: %w", s.Call, s.T, err)
	}
	return nil
}

// method is the call's name as nvml.Interface or nvml.Device has it.
func (s *Step) method() string {
	name, _, _ := strings.Cut(s.Call, " (")
	if short, ok := strings.CutPrefix(name, "Device"); ok && name != "DeviceGetCount" && !strings.HasPrefix(name, "DeviceGetHandle") {
		return short
	}
	return name
}

// matches reports whether the step concerns a call.
func (s *Step) matches(call string, d *Device, arg string) bool {
	method := s.method()
	switch {
	case method == "" || method != "*" && method != call || method == "*" && call == "Shutdown":
		return false
	case s.Arg.Value != "":
		return strings.EqualFold(s.Arg.Value, arg)
	case s.Device.Value == "":
		return true
	case d == nil:
		return false
	case s.Device.Value == "parent":
		return d.mig == nil
	case strings.HasPrefix(s.Device.Value, "mig"):
		return d.mig != nil && s.Device.Value == fmt.Sprintf("mig%d", d.mig.place)
	}
	return s.Device.Value == fmt.Sprint(d.gpu.index)
}

// fixture is a file of testdata/fixtures: a script, or data for the first GPU.
type fixture struct {
	FakeNVML string `yaml:"fake_nvml"`
	Right    string `yaml:"right"`
	Script   []Step `yaml:"script"`
	// Samples of the use of processes, with times in µs on a clock of their own.
	NowUS      int64        `yaml:"now_us"`
	LastSeenUS int64        `yaml:"last_seen_us"`
	Samples    []useFixture `yaml:"samples"`

	Processes []struct {
		PID  uint32 `yaml:"pid"`
		Used uint64 `yaml:"used"`
	} `yaml:"processes"`
	Device struct {
		Total uint64 `yaml:"total"`
		Used  uint64 `yaml:"used"`
	} `yaml:"device"`

	PollMS     float64   `yaml:"poll_ms"`
	EnergyMJ   []float64 `yaml:"energy_mj"`
	NaiveWatts []float64 `yaml:"naive_watts"`

	ApplicationFaults []uint64 `yaml:"application_faults"`
	Serious           []uint64 `yaml:"serious"`
	Unknown           []uint64 `yaml:"unknown"`
}

type useFixture struct {
	PID uint32 `yaml:"pid"`
	TS  int64  `yaml:"ts_us"`
	SM  uint32 `yaml:"sm"`
	Mem uint32 `yaml:"mem"`
}

// addFixture turns a fixture into answers and steps.
func (s *Spec) addFixture() error {
	var f fixture
	// JSON is YAML.
	if err := decode("fixtures/"+s.Fixture+".json", &f); err != nil {
		return err
	}
	s.Script = append(s.Script, f.Script...)
	if len(s.GPUs) == 0 {
		return nil
	}
	g := &s.GPUs[0]
	for _, p := range f.Processes {
		g.Processes = append(g.Processes, ProcessSpec{PID: p.PID, Memory: p.Used})
	}
	if f.Device.Total > 0 {
		total, used := float64(f.Device.Total), float64(f.Device.Used)
		g.Answers["GetMemoryInfo_v2"] = Answer{Parts: map[string]Value{
			"total": {Base: total}, "used": {Base: used}, "reserved": {}, "free": {Base: total - used},
		}}
	}
	if len(f.EnergyMJ) > 0 {
		g.Fields[nvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION] = Value{List: f.EnergyMJ, Each: f.PollMS / 1000, Type: "ulonglong"}
		g.Answers["GetTotalEnergyConsumption"] = Answer{Value: Value{List: f.EnergyMJ, Each: f.PollMS / 1000}}
	}
	at := 0.0
	for _, codes := range [][]uint64{f.ApplicationFaults, f.Serious, f.Unknown} {
		for _, code := range codes {
			at++
			s.Script = append(s.Script, Step{T: at, Event: "XID", Code: code, Device: yaml.Node{Kind: yaml.ScalarNode, Value: "0"}})
		}
	}
	for _, u := range f.Samples {
		s.uses = append(s.uses, use{after: float64(u.TS-f.NowUS) / 1e6, sample: nvml.ProcessUtilizationSample{
			Pid: u.PID, SmUtil: u.SM, MemUtil: u.Mem,
		}, zero: u.TS == 0})
	}
	return nil
}
