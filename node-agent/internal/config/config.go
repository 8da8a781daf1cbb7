// Package config turns the agent's command line and its configuration file into one typed, checked value.
//
// What both say, the command line decides: the file can be shared by many nodes, and a node can still be different.
package config

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	promslogflag "github.com/prometheus/common/promslog/flag"

	"github.com/warpwatch/warpwatch/node-agent/internal/simulate"
)

// Command is what the agent is asked to do.
type Command string

// The commands.
const (
	ServeCommand   Command = "serve"
	ReplayCommand  Command = "replay"
	HistoryCommand Command = "simulate-history"
	RulesCommand   Command = "rules"
	VersionCommand Command = "version"
	// NoCommand: help was asked for, and given.
	NoCommand Command = ""
)

// Sources of readings.
const (
	SourceNVML     = "nvml"
	SourceSimulate = "simulate"
)

// Config is the whole command line. Only the part of the command is set.
type Config struct {
	Command Command
	Log     promslog.Config
	Serve   Serve
	Replay  Replay
	History History
	Rules   Rules
}

// Replay serves files.
type Replay struct {
	Path         string
	Listen       string
	AllowInvalid bool
}

// History writes a past.
type History struct {
	Cluster  string
	From, To time.Time
	Step     time.Duration
	Simulate simulate.Options
}

// Parse reads arguments, without the program's name. Help goes to output. The error says which flag is wrong and what it
// may be.
func Parse(args []string, output io.Writer) (Config, error) {
	var c Config
	app := kingpin.New("warpwatch-agent", "Samples the GPUs of this node, for Prometheus and for Warpwatch's live panels.")
	helped := false
	app.Writer(output).Terminate(func(int) { helped = true })
	app.HelpFlag.Short('h')
	promslogflag.AddFlags(app, &c.Log)
	checkServe := c.Serve.declare(app.Command(string(ServeCommand), "Sample and serve, which is what it does when no command is given. See serve --help for the flags.").Default())
	checkReplay := c.Replay.flags(app.Command(string(ReplayCommand), "Serve files of metrics as exporters would, for demonstrations and tests."))
	checkHistory := c.History.flags(app.Command(string(HistoryCommand),
		"Write what a simulated node did in the past to the standard output, as length-delimited messages of the live stream."))
	c.Rules.flags(app.Command(string(RulesCommand), "Print the recording and alert rules, for one exporter of GPUs or for all."))
	app.Command(string(VersionCommand), "Print the version.")

	command, err := app.Parse(args)
	if helped {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("%w: see warpwatch-agent --help", err)
	}
	c.Command = Command(command)
	if c.Command == ServeCommand && c.Serve.checkOnly {
		if err := checkServe(); err != nil {
			return Config{}, err
		}
		return Config{}, c.Serve.Print(output)
	}
	check := map[Command]func() error{
		ServeCommand: checkServe, ReplayCommand: checkReplay, HistoryCommand: checkHistory, VersionCommand: nothing, RulesCommand: nothing,
	}[c.Command]
	return c, check()
}

func nothing() error { return nil }

func (r *Replay) flags(cmd *kingpin.CmdClause) func() error {
	cmd.Arg("path", "A folder of files, each served at /<its name without the ending>/metrics; or one file, served at /metrics too.").
		Required().StringVar(&r.Path)
	cmd.Flag("web.listen-address", "Where to listen.").Default("127.0.0.1:9849").StringVar(&r.Listen)
	cmd.Flag("allow-invalid", "Serve files that Prometheus cannot read as they are, instead of refusing to start.").BoolVar(&r.AllowInvalid)
	return func() error { return checkAddressFlag("--web.listen-address", r.Listen, false) }
}

func (h *History) flags(cmd *kingpin.CmdClause) func() error {
	var from, to string
	cmd.Flag("from", "First moment, RFC 3339 or Unix seconds.").Required().StringVar(&from)
	cmd.Flag("to", "Last moment, RFC 3339 or Unix seconds.").Required().StringVar(&to)
	cmd.Flag("step", "Time between samples.").Default("5m").DurationVar(&h.Step)
	cmd.Flag("cluster", "Name of the cluster.").StringVar(&h.Cluster)
	node := new(string)
	nodeFlag(cmd, node)
	simulation := simulateFlags(cmd, &h.Simulate)
	return func() error {
		var errFrom, errTo, errRange error
		h.From, errFrom = parseTime("--from", from)
		h.To, errTo = parseTime("--to", to)
		if errFrom == nil && errTo == nil && !h.From.Before(h.To) {
			errRange = fmt.Errorf("--to=%s: must be after --from=%s", to, from)
		}
		var errStep error
		if h.Step < minInterval || h.Step%time.Millisecond != 0 {
			errStep = fmt.Errorf("--step=%s: must be whole milliseconds, %s or more", h.Step, minInterval)
		}
		errNode := defaultNode(node)
		h.Simulate.Window = min(h.Step.Seconds(), 1)
		return errors.Join(errFrom, errTo, errRange, errStep, errNode, simulation(*node))
	}
}

func nodeFlag(cmd *kingpin.CmdClause, into *string) {
	cmd.Flag("node-name", "Name of this node; the host's name when not given.").Envar("NODE_NAME").StringVar(into)
}

func defaultNode(name *string) error {
	if *name != "" {
		return nil
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		return errors.New("--node-name must be given: this host has no name")
	}
	*name = host
	return nil
}

// simulateFlags declares what a simulated node is like. The function that it returns fills in and checks the options.
func simulateFlags(cmd *kingpin.CmdClause, o *simulate.Options) func(node string) error {
	var model, mig, profile string
	var faults []string
	cmd.Flag("simulate.seed", "Nodes with the same seed work on the same training job.").Default("1").Uint64Var(&o.Seed)
	cmd.Flag("simulate.gpus", "How many GPUs.").Default("8").IntVar(&o.GPUs)
	cmd.Flag("simulate.model", "Which: H200, H100, A100, L40S or RTX4090.").Default("H200").StringVar(&model)
	cmd.Flag("simulate.mig", `MIG profiles to split each GPU into, "3g.71gb,2g.35gb,1g.18gb", or "default" for the usual ones.`).StringVar(&mig)
	cmd.Flag("simulate.profile", "What runs: "+strings.Join(simulate.Profiles(), ", ")+".").Default(string(simulate.Mixed)).StringVar(&profile)
	cmd.Flag("simulate.fault", "What goes wrong now and then: "+strings.Join(simulate.Faults(), ", ")+", or all. Repeatable.").
		StringsVar(&faults)
	return func(node string) error {
		o.Node, o.Profile = node, simulate.Profile(profile)
		var err error
		if o.Model, err = simulate.ModelNamed(model); err != nil {
			return fmt.Errorf("--simulate.model: %w", err)
		}
		switch mig {
		case "":
		case "default":
			if o.MIG = o.Model.DefaultMIG; o.MIG == nil {
				return fmt.Errorf("--simulate.mig=default: a %s cannot be split into MIG instances", o.Model.Short)
			}
		default:
			o.MIG = strings.Split(mig, ",")
		}
		for _, f := range faults {
			if f == "all" {
				f = strings.Join(simulate.Faults(), ",")
			}
			for name := range strings.SplitSeq(f, ",") {
				o.Faults = append(o.Faults, simulate.Fault(name))
			}
		}
		return o.Validate()
	}
}

func parseTime(flag, text string) (time.Time, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return time.UnixMilli(int64(seconds * 1000)), nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s=%s: must be like 2026-11-18T14:00:00Z, or Unix seconds", flag, text)
	}
	return t, nil
}

func checkAddressFlag(flag, address string, needsHost bool) error {
	if err := checkAddress(address, needsHost); err != nil {
		return fmt.Errorf("%s=%s: %w", flag, address, err)
	}
	return nil
}

func checkAddress(address string, needsHost bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("must be host:port")
	}
	if needsHost && host == "" {
		return errors.New("must name a host")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || (needsHost && n == 0) {
		return errors.New("must have a number up to 65535 as its port")
	}
	return nil
}
