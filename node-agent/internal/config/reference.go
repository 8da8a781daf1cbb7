package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// Key is a key of the file, as the documentation lists it.
type Key struct {
	Path    string // "owners.slurm.folder"; "[]" stands for an entry of a list, "<group>" for a name
	Type    string
	Default string
	Restart bool // a change needs a restart
	Help    string
}

// Keys are all keys of the file, in its order.
func Keys() []Key {
	help, restart := helpTexts(), restartKeys()
	var keys []Key
	walk(reflect.ValueOf(Defaults()), "", func(path string, v reflect.Value) {
		k := Key{Path: path, Type: kindOf(v.Type()), Help: help[path]}
		if !strings.ContainsAny(path, "[<") {
			k.Default = defaultText(v)
		}
		for _, prefix := range restart {
			k.Restart = k.Restart || path == prefix || strings.HasPrefix(path, prefix+".")
		}
		keys = append(keys, k)
	})
	return keys
}

// restartKeys are those that cannot change while the agent runs, with all below them.
func restartKeys() []string {
	return []string{
		"source", "node_name", "cluster", "ring", "web.listen_addresses", "web.config_file", "web.bearer_token_file",
		"web.advertise_address", "web.max_subscribers", "events", "workload.otlp",
	}
}

// walk visits the keys of a value that have no keys below them.
func walk(v reflect.Value, path string, visit func(string, reflect.Value)) {
	t := v.Type()
	switch {
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		walk(reflect.Zero(t.Elem()), path, visit)
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
			if path != "" {
				name = path + "." + name
			}
			walk(v.Field(i), name, visit)
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		walk(reflect.Zero(t.Elem()), path+"[]", visit)
	case t.Kind() == reflect.Map && t.Elem().Kind() == reflect.Struct:
		walk(reflect.Zero(t.Elem()), path+".<group>", visit)
	case t == reflect.TypeFor[map[device.Class]time.Duration]():
		for _, class := range device.Classes() {
			visit(path+"."+string(class), reflect.Zero(reflect.TypeFor[time.Duration]()))
		}
	default:
		visit(path, v)
	}
}

func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t.Kind() == reflect.Pointer:
		return kindOf(t.Elem())
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Map:
		return "mapping"
	case t.Kind() == reflect.String:
		return "text"
	default:
		return "number"
	}
}

// defaultText is a default as one would write it, "" for none.
func defaultText(v reflect.Value) string {
	if v.Kind() != reflect.Bool && v.IsZero() {
		return ""
	}
	text, err := yaml.Marshal(v.Interface())
	if err != nil {
		return ""
	}
	lines := strings.Fields(strings.ReplaceAll(string(text), "- ", ""))
	return strings.Join(lines, ", ")
}

// helpTexts say what each key is for, by its path.
func helpTexts() map[string]string {
	return map[string]string{
		"source":    "Where readings come from: `nvml` or `simulate`.",
		"node_name": "Name of the node; the host's when not given. The variable `NODE_NAME` wins over it.",
		"cluster":   "Name of the cluster, as a label on everything; leave it out where Prometheus adds one.",
		"profile":   "Which groups are measured: `lean`, `standard` or `deep`.",

		"classes.fast":   "How often fast groups are measured, 100ms to 1m. It is also how often anything is published. 1s when not given.",
		"classes.normal": "How often normal groups are measured: 5s when not given, or as often as the class before when that is longer.",
		"classes.slow":   "How often slow groups are measured: 30s when not given, or as above.",
		"classes.static": "How often static groups are measured: 1h when not given, or as above. All are measured at once when a GPU appears or is split differently.",

		"groups.<group>.enabled":  "Whether the group is measured, whatever the profile says. The groups are listed above.",
		"groups.<group>.class":    "The class that it is timed with.",
		"groups.<group>.interval": "Its own interval instead of a class: whole milliseconds, `classes.fast` or more.",

		"window": "Over how long `/metrics` shows the minimum, mean and maximum of fast metrics, at most 10m; `0s` shows none. The scrape interval or a little more.",
		"ring":   "How much of the past is kept for the live stream, at most 1h and 18000 samples, and 8 MiB: half an hour of eight GPUs at ten samples a second. `warpwatch_agent_ring_seconds` says how much it is.",

		"forget_after": "After how long a GPU that is lost, and that the driver does not list any more, is no longer shown, 1m or more; `0s` is never.",

		"live.min_interval": "How often fast groups are measured at most because a reader of the live stream wishes it, while it is there and 15 seconds longer: 100ms to 1m. `0s` hears no wishes.",

		"web.listen_addresses":  "Where to listen.",
		"web.config_file":       "File that sets up TLS and basic authentication, in the format of Prometheus' exporters.",
		"web.bearer_token_file": "File with a token that readers must send. The file's content may change at any time.",
		"web.advertise_address": "host:port at which the live stream is reached, where it is not the address that is scraped.",
		"web.max_subscribers":   "How many readers of the live stream are served at once.",

		"web.sample_timestamps": "Whether `/metrics` says of each reading when it was taken. Prometheus then does not mark what ends as stale at once.",

		"processes.enabled": "Whether the processes on the GPUs are listed, at the interval of the group `processes`.",
		"processes.names":   "Whether they are listed with name, user and owner. The agent must share the host's process ids for that.",

		"processes.max_series": "Of how many processes of a GPU `/metrics` has series, at most 1000; 0 for none, because each new process makes new series.",

		"events.kernel_log":     "Where the kernel's messages are read: `/dev/kmsg`, or a file of syslog. `\"\"` reads none.",
		"events.kernel_history": "How far back the kernel log is read at the start. What is found there is shown, and counts for nothing.",
		"events.keep":           "How many events are kept.",

		"owners.enabled":                "Whether the agent finds out who was given the GPUs. What is not on this node costs nothing.",
		"owners.interval":               "How often.",
		"owners.passwd":                 "File with the names of the host's users; without it they are numbers. Not a container's own file.",
		"owners.kubelet.enabled":        "Whether the kubelet is asked.",
		"owners.kubelet.socket":         "The kubelet's socket for pod resources.",
		"owners.kubelet.resources":      "Further resources that are GPUs, beside `nvidia.com/gpu`, `nvidia.com/gpu.shared` and `nvidia.com/mig-…`.",
		"owners.kubelet.pod_logs":       "Folder whose entries name pods. `\"\"` looks at none.",
		"owners.kubelet.container_logs": "Folder whose entries name containers. `\"\"` looks at none.",
		"owners.slurm.enabled":          "Whether Slurm's jobs are looked for.",
		"owners.slurm.folder":           "Folder that the prolog fills, which comes with the agent.",
		"owners.slurm.mapping_folder":   "Folder in the format of dcgm-exporter's `--hpc-job-mapping-dir`.",

		"workload.textfile.folder":    "Folder of `*.prom` files in Prometheus' text format, shown beside the agent's own metrics. `\"\"` is none.",
		"workload.textfile.interval":  "How often the folder is read.",
		"workload.textfile.max_bytes": "How long a file may be.",
		"workload.textfile.max_files": "How many files are read.",
		"workload.otlp.enabled":       "Whether jobs may send metrics over OTLP/HTTP to `/v1/metrics` on the agent's own port.",
		"workload.otlp.lifetime":      "After how long a series that is not sent again is gone.",

		"log_rules[].name":                  "Name of the metric or event. Prefixes of the agent and of other exporters are refused.",
		"log_rules[].help":                  "What the metric is.",
		"log_rules[].type":                  "`counter`, `gauge` or `event`.",
		"log_rules[].files":                 "Patterns of absolute paths.",
		"log_rules[].journal.unit":          "Units of the systemd journal, instead of files.",
		"log_rules[].journal.identifier":    "Identifiers of the systemd journal.",
		"log_rules[].match":                 "Regular expression (RE2) with named groups.",
		"log_rules[].value":                 "Name of a group, or a number: what a gauge is set to, or by how much a counter grows; 1 when not given.",
		"log_rules[].labels":                "Labels: texts, or `$group`.",
		"log_rules[].max_series":            "How many series the rule may have; 100 when not given.",
		"log_rules[].max_line":              "Longer lines are skipped; 16 KiB when not given.",
		"log_rules[].max_age":               "A gauge that is not set for so long is gone; 15m when not given.",
		"log_rules[].max_events_per_minute": "60 when not given.",

		"redfish[].endpoint":             "A Redfish service whose cooling is read: `https://bmc-1`.",
		"redfish[].interval":             "How often, 10s to 1h; 1m when not given.",
		"redfish[].timeout":              "How long one request may take, at most 1m; 10s when not given.",
		"redfish[].auth":                 "`session`, or `basic`; session when not given.",
		"redfish[].credentials_file":     "File with a line `user:password`.",
		"redfish[].username_file":        "Instead of that: a file with the user,",
		"redfish[].password_file":        "and one with the password.",
		"redfish[].ca_file":              "Certificate of the authority that signed the service's.",
		"redfish[].insecure_skip_verify": "Trust whoever answers, and send them the credentials.",

		"otlp_export.endpoint":             "Where metrics are sent over OTLP/HTTP: `https://collector:4318/v1/metrics`. `\"\"` sends none.",
		"otlp_export.interval":             "How often, 1s to 1h; 1m when not given.",
		"otlp_export.timeout":              "How long one export may take with its retries; 10s when not given.",
		"otlp_export.headers_file":         "File with a `Name: value` on each line, for authentication.",
		"otlp_export.ca_file":              "Certificate of the authority that signed the collector's.",
		"otlp_export.cert_file":            "The agent's own certificate.",
		"otlp_export.key_file":             "Its key.",
		"otlp_export.insecure_skip_verify": "Trust whoever answers.",
		"otlp_export.compression":          "`gzip`, or `none`; gzip when not given.",
	}
}

// FlagTable is the flags of the agent proper as Markdown.
func FlagTable() string {
	var s Serve
	app := kingpin.New("warpwatch-agent", "")
	cmd := app.Command(string(ServeCommand), "")
	s.declare(cmd)
	var b strings.Builder
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range cmd.Model().Flags {
		fmt.Fprintf(&b, "| `--%s` | %s | %s |\n", f.Name, code(strings.Join(f.Default, ", ")), f.Help)
	}
	return b.String()
}

// KeyTable is the keys of the file as Markdown.
func KeyTable() string {
	var b strings.Builder
	b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
	for _, k := range Keys() {
		help := k.Help
		if k.Restart {
			help += " *Restart.*"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, k.Type, code(k.Default), strings.ReplaceAll(help, "|", `\|`))
	}
	return b.String()
}

// GroupTable is the field groups as Markdown.
func GroupTable() string {
	metrics := make([][]string, device.NumGroups)
	for m := range device.NumMetrics {
		list := &metrics[m.Group()]
		if name := "`" + m.String() + "`"; len(*list) == 0 || (*list)[len(*list)-1] != name {
			*list = append(*list, name)
		}
	}
	var b strings.Builder
	b.WriteString("| group | class | from profile | metrics |\n|---|---|---|---|\n")
	for g := range device.NumGroups {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", g, g.Class(), g.Profile(), strings.Join(metrics[g], ", "))
	}
	return b.String()
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
