package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/logrule"
	"github.com/warpwatch/warpwatch/node-agent/internal/otlpexport"
	"github.com/warpwatch/warpwatch/node-agent/internal/redfish"
)

// File is the agent's configuration file. What it does not say is as Defaults has it.
type File struct {
	Source   string `yaml:"source"`
	NodeName string `yaml:"node_name"`
	Cluster  string `yaml:"cluster"`

	Profile device.Profile                 `yaml:"profile"`
	Classes map[device.Class]time.Duration `yaml:"classes"`
	Groups  map[string]Group               `yaml:"groups"`
	Window  time.Duration                  `yaml:"window"`
	Ring    time.Duration                  `yaml:"ring"`
	// ForgetAfter is after how long a GPU that is lost, and not listed any more, is no longer shown. 0 is never.
	ForgetAfter time.Duration `yaml:"forget_after"`

	Live       Live              `yaml:"live"`
	Web        Web               `yaml:"web"`
	Processes  Processes         `yaml:"processes"`
	Events     Events            `yaml:"events"`
	Owners     Owners            `yaml:"owners"`
	Workload   Workload          `yaml:"workload"`
	LogRules   []logrule.Rule    `yaml:"log_rules"`
	Redfish    []redfish.Config  `yaml:"redfish"`
	OTLPExport otlpexport.Config `yaml:"otlp_export"`
}

// Group is what is different for a field group.
type Group struct {
	Enabled  *bool         `yaml:"enabled,omitempty"` // nil leaves it to the profile
	Class    device.Class  `yaml:"class,omitempty"`
	Interval time.Duration `yaml:"interval,omitempty"` // instead of a class
}

// Live is what readers of the live stream may bring about.
type Live struct {
	// MinInterval is how often fast groups are measured at most because a reader wishes it; 0 hears no wishes.
	MinInterval time.Duration `yaml:"min_interval"`
}

// Web is where and to whom the agent answers.
type Web struct {
	ListenAddresses  []string `yaml:"listen_addresses"`
	ConfigFile       string   `yaml:"config_file"`
	BearerTokenFile  string   `yaml:"bearer_token_file"`
	AdvertiseAddress string   `yaml:"advertise_address"`
	MaxSubscribers   int      `yaml:"max_subscribers"`
	SampleTimestamps bool     `yaml:"sample_timestamps"`
}

// Processes are those that use the GPUs.
type Processes struct {
	Enabled bool `yaml:"enabled"`
	Names   bool `yaml:"names"`
	// MaxSeries is how many processes of a GPU have series on /metrics.
	MaxSeries int `yaml:"max_series"`
}

// Events are where they come from besides the driver, and how many are kept.
type Events struct {
	KernelLog     string        `yaml:"kernel_log"`     // path, "" for none
	KernelHistory time.Duration `yaml:"kernel_history"` // how far back the log is read at the start
	Keep          int           `yaml:"keep"`
}

// Owners are who was given the GPUs.
type Owners struct {
	Enabled  bool          `yaml:"enabled"`
	Interval time.Duration `yaml:"interval"`
	Passwd   string        `yaml:"passwd"` // names of the host's users, "" for none
	Kubelet  Kubelet       `yaml:"kubelet"`
	Slurm    Slurm         `yaml:"slurm"`
}

// Kubelet is how Kubernetes is asked.
type Kubelet struct {
	Enabled       bool     `yaml:"enabled"`
	Socket        string   `yaml:"socket"`
	Resources     []string `yaml:"resources"`
	PodLogs       string   `yaml:"pod_logs"`
	ContainerLogs string   `yaml:"container_logs"`
}

// Slurm is how Slurm's jobs are found.
type Slurm struct {
	Enabled       bool   `yaml:"enabled"`
	Folder        string `yaml:"folder"`
	MappingFolder string `yaml:"mapping_folder"`
}

// Workload is what jobs and scripts tell of themselves.
type Workload struct {
	Textfile Textfile     `yaml:"textfile"`
	OTLP     OTLPReceiver `yaml:"otlp"`
}

// Textfile is a folder of files in Prometheus' text format.
type Textfile struct {
	Folder   string        `yaml:"folder"` // "" for none
	Interval time.Duration `yaml:"interval"`
	MaxBytes int64         `yaml:"max_bytes"`
	MaxFiles int           `yaml:"max_files"`
}

// OTLPReceiver takes metrics over OTLP/HTTP on the agent's own port.
type OTLPReceiver struct {
	Enabled  bool          `yaml:"enabled"`
	Lifetime time.Duration `yaml:"lifetime"`
}

// Defaults is what an empty file means. The classes' defaults depend on the fast one.
func Defaults() File {
	return File{
		Source: SourceNVML, Profile: device.Standard, Window: 30 * time.Second, Ring: 5 * time.Minute,
		ForgetAfter: 24 * time.Hour, Live: Live{MinInterval: minInterval},
		Web:       Web{ListenAddresses: []string{"127.0.0.1:9847"}, MaxSubscribers: 32},
		Processes: Processes{Enabled: true, Names: true},
		Events:    Events{KernelLog: "/dev/kmsg", KernelHistory: 24 * time.Hour, Keep: 1000},
		Owners: Owners{
			Enabled: true, Interval: 10 * time.Second,
			Kubelet: Kubelet{
				Enabled: true, Socket: "/var/lib/kubelet/pod-resources/kubelet.sock", PodLogs: "/var/log/pods", ContainerLogs: "/var/log/containers",
			},
			Slurm: Slurm{Enabled: true, Folder: "/run/warpwatch/slurm"},
		},
		Workload: Workload{
			Textfile: Textfile{Interval: 15 * time.Second, MaxBytes: 1 << 20, MaxFiles: 256},
			OTLP:     OTLPReceiver{Lifetime: 5 * time.Minute},
		},
	}
}

// maxFile bounds the file: nobody writes more by hand.
const maxFile = 1 << 20

// ReadFile reads a configuration file over the defaults. The error names the line, and what it may say.
func ReadFile(path string) (File, error) {
	// A pipe would make the agent wait for whoever writes to it.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return File{}, fmt.Errorf("--config.file: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return File{}, errors.Join(fmt.Errorf("--config.file: %s must be a file", path), err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return File{}, fmt.Errorf("--config.file: %w", err)
	}
	if len(text) > maxFile {
		return File{}, fmt.Errorf("--config.file: %s is longer than %d bytes", path, maxFile)
	}
	file, err := ParseFile(text)
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// ParseFile is what a file says, over the defaults. It checks the form only: see Serve for the rest.
func ParseFile(text []byte) (File, error) {
	file := Defaults()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return File{}, plain(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return File{}, errors.New("there must be one document in the file, without a line of --- in it")
	}
	return file, nil
}

// plain says what the YAML decoder says without the names of Go's types.
func plain(err error) error {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	lines := make([]string, len(wrong.Errors))
	for i, text := range wrong.Errors {
		text = unknownKey.ReplaceAllString(text, `"$1" is no key here`)
		text = twice.ReplaceAllString(text, `$1 is there twice, first in line $2`)
		if m := mistyped.FindStringSubmatch(text); m != nil {
			text = m[1] + ": " + value(m[2]) + " must be " + typeName(m[3])
		}
		lines[i] = text
	}
	return errors.New(strings.Join(lines, "; "))
}

var (
	unknownKey = regexp.MustCompile(`(?s)field (.*) not found in type \S+`)
	twice      = regexp.MustCompile(`mapping key (".*") already defined at line (\d+)`)
	mistyped   = regexp.MustCompile(`(?s)^(line \d+): cannot unmarshal (.*) into (.*)$`)
	tagged     = regexp.MustCompile("(?s)^!+\\w* ?`(.*)`$")
)

func value(text string) string {
	if m := tagged.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	switch text {
	case "!!seq":
		return "a list"
	case "!!map":
		return "a mapping"
	}
	return text
}

// typeName is what is expected, for people.
func typeName(goType string) string {
	switch {
	case goType == "time.Duration":
		return "a duration like 500ms, 10s or 1h"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "uint"):
		return "a whole number"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case goType == "string", goType == "device.Profile", goType == "device.Class", goType == "logrule.Type":
		return "text"
	default:
		return "a mapping of keys and values"
	}
}
