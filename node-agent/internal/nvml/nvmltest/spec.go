package nvmltest

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

//go:embed testdata/machines testdata/boards testdata/symbols testdata/fixtures
var testdata embed.FS

// Spec describes a machine.
type Spec struct {
	About  string `yaml:"about"`
	Driver string `yaml:"driver"`
	NVML   string `yaml:"nvml"`
	CUDA   int    `yaml:"cuda"` // 13010 is 13.1
	// Only names a file of symbols: the library has those and no others. Without, it has all but Missing.
	Only    string    `yaml:"only"`
	Missing []string  `yaml:"missing"`
	GPUs    []GPUSpec `yaml:"gpus"`
	Script  []Step    `yaml:"script"`
	// Fixture names a file of testdata/fixtures whose script and data are added.
	Fixture string  `yaml:"fixture"`
	Latency Latency `yaml:"latency"`

	uses []use
}

// GPUSpec describes some equal GPUs. Everything but Board and Count is put over what the board says.
type GPUSpec struct {
	Board     string                      `yaml:"board"` // a file of testdata/boards
	Count     int                         `yaml:"count"` // 1 when 0
	Answers   map[string]Answer           `yaml:"answers"`
	Fields    map[uint32]Value            `yaml:"fields"`
	GPM       map[uint32]Value            `yaml:"gpm"`
	MIG       []InstanceSpec              `yaml:"mig"`
	Processes []ProcessSpec               `yaml:"processes"`
	Samples   map[string]SamplesSpec      `yaml:"samples"`
	Links     map[string]map[string]Value `yaml:"links"` // per NVLink: "0": {state: 1}
}

// InstanceSpec is a compute instance with the GPU instance that it lies in.
type InstanceSpec struct {
	GI        int               `yaml:"gi"`
	CI        int               `yaml:"ci"`
	Profile   string            `yaml:"profile"`
	Placement [2]uint32         `yaml:"placement"`
	Answers   map[string]Answer `yaml:"answers"`
	GPM       map[uint32]Value  `yaml:"gpm"`
	Nameless  bool              `yaml:"nameless"` // the driver is too old to say the profile in the name
}

// ProcessSpec is a process with a context on the GPU.
type ProcessSpec struct {
	PID    uint32 `yaml:"pid"`
	Kind   string `yaml:"kind"` // "compute" when empty, "graphics" or "mps"
	Name   string `yaml:"name"`
	Memory uint64 `yaml:"memory"`
	GI     *int   `yaml:"gi"`
	CI     *int   `yaml:"ci"`
	SM     uint32 `yaml:"sm"`
	Mem    uint32 `yaml:"mem"`
	Enc    uint32 `yaml:"enc"`
	Dec    uint32 `yaml:"dec"`
	Idle   bool   `yaml:"idle"` // has no samples of its use
}

// SamplesSpec is one of the driver's sample buffers.
type SamplesSpec struct {
	Value Value   `yaml:"value"`
	Every float64 `yaml:"every"` // seconds between samples
	Keep  int     `yaml:"keep"`  // 120 when 0, as drivers do
}

// Latency is how long calls take, by name; "*" for those not named.
type Latency map[string]time.Duration

// Machines are the names of all machines of testdata.
func Machines() ([]string, error) {
	entries, err := fs.ReadDir(testdata, "testdata/machines")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names, nil
}

// Load reads a machine of testdata/machines.
func Load(name string) (*Spec, error) {
	var s Spec
	if err := decode("machines/"+name+".yaml", &s); err != nil {
		return nil, err
	}
	if err := s.complete(); err != nil {
		return nil, fmt.Errorf("machine %s: %w", name, err)
	}
	return &s, nil
}

// Parse reads a machine from YAML.
func Parse(text string) (*Spec, error) {
	var s Spec
	if err := strict([]byte(text), &s); err != nil {
		return nil, err
	}
	return &s, s.complete()
}

func decode(file string, into any) error {
	text, err := testdata.ReadFile(path.Join("testdata", file))
	if err != nil {
		return err
	}
	if err := strict(text, into); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

func strict(text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// complete puts each GPU over its board, and adds the fixture.
func (s *Spec) complete() error {
	var all []GPUSpec
	for _, g := range s.GPUs {
		board := GPUSpec{}
		if g.Board != "" {
			if err := decode("boards/"+g.Board+".yaml", &board); err != nil {
				return err
			}
		}
		for range max(g.Count, 1) {
			all = append(all, over(board, g))
		}
	}
	s.GPUs = all
	if s.Driver == "" {
		s.Driver = "590.48.01"
	}
	if s.NVML == "" {
		s.NVML = "13." + s.Driver
	}
	if s.CUDA == 0 {
		s.CUDA = 13010
	}
	if s.Fixture == "" {
		return nil
	}
	return s.addFixture()
}

func over(board, g GPUSpec) GPUSpec {
	out := GPUSpec{
		Board: g.Board, Count: 1, Answers: merged(board.Answers, g.Answers), Fields: merged(board.Fields, g.Fields),
		GPM: merged(board.GPM, g.GPM), Samples: merged(board.Samples, g.Samples), Links: merged(board.Links, g.Links),
		MIG: g.MIG, Processes: g.Processes,
	}
	if out.MIG == nil {
		out.MIG = board.MIG
	}
	if out.Processes == nil {
		out.Processes = board.Processes
	}
	return out
}

func merged[K comparable, V any](below, above map[K]V) map[K]V {
	out := make(map[K]V, len(below)+len(above))
	for _, m := range []map[K]V{below, above} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}
