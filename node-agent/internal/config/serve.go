package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"go.yaml.in/yaml/v3"

	"github.com/warpwatch/warpwatch/node-agent/internal/collect"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/simulate"
)

// Serve is the agent proper: its flags over its file.
type Serve struct {
	Source   string
	Node     string
	Cluster  string
	Interval time.Duration
	Ring     time.Duration
	// MinInterval is how often readers may make the agent sample; 0 hears none.
	MinInterval time.Duration

	Listen         []string // host:port
	WebConfigFile  string
	TokenFile      string
	Advertise      string // host:port, "" for none
	MaxSubscribers int

	Simulate simulate.Options // when Source is simulate

	// File is where the rest is configured, "" for nowhere.
	File string
	// Settings are what is in effect: those of the file, with what the flags say in their place.
	Settings File
	// Schedule is what is measured when.
	Schedule collect.Schedule

	profile   string
	checkOnly bool
	given     given
	// flags is the command line as it was, for reading the file again.
	flags *Serve
}

// given are the flags with a default that were given.
type given struct{ source, interval, ring, minInterval, listen, subscribers bool }

// declare declares the command's flags. The function that it returns checks what they were set to, and reads the file.
func (s *Serve) declare(cmd *kingpin.CmdClause) func() error {
	d := Defaults()
	cmd.Flag("config.file", "File that selects and times what is measured, and sets up everything else. See the documentation for its keys.").
		StringVar(&s.File)
	cmd.Flag("config.check", "Check the file and the flags, print what they come to, and end.").BoolVar(&s.checkOnly)
	cmd.Flag("source", "Where readings come from.").Default(d.Source).IsSetByUser(&s.given.source).EnumVar(&s.Source, SourceNVML, SourceSimulate)
	nodeFlag(cmd, &s.Node)
	cmd.Flag("cluster", "Name of the cluster, as a label on everything; leave it out where Prometheus adds one.").StringVar(&s.Cluster)
	cmd.Flag("collect.profile", "What to measure: lean, standard (when nothing is said) or deep.").
		EnumVar(&s.profile, string(device.Lean), string(device.Standard), string(device.Deep))
	cmd.Flag("collect.interval", "How often to sample what changes fast, 100ms to 1m.").Default("1s").IsSetByUser(&s.given.interval).
		DurationVar(&s.Interval)
	cmd.Flag("ring.duration", "How much of the past to keep for the live stream, at most 1h.").Default("5m").IsSetByUser(&s.given.ring).
		DurationVar(&s.Ring)
	cmd.Flag("live.min-interval", "How often to sample at most because a reader of the live stream wishes it; 0s hears no wishes.").Default("100ms").
		IsSetByUser(&s.given.minInterval).DurationVar(&s.MinInterval)
	cmd.Flag("web.listen-address", "Where to listen. Repeatable.").Default(d.Web.ListenAddresses...).IsSetByUser(&s.given.listen).
		StringsVar(&s.Listen)
	cmd.Flag("web.config.file", "File that sets up TLS and basic authentication, in the format of Prometheus' exporters.").
		StringVar(&s.WebConfigFile)
	cmd.Flag("web.bearer-token-file", "File with a token that readers must send. It may change at any time.").StringVar(&s.TokenFile)
	cmd.Flag("web.advertise-address", "host:port at which the live stream is reached, where it is not the address that is scraped.").
		StringVar(&s.Advertise)
	cmd.Flag("web.max-subscribers", "How many readers of the live stream to serve at once.").Default("32").IsSetByUser(&s.given.subscribers).
		IntVar(&s.MaxSubscribers)
	simulation := simulateFlags(cmd, &s.Simulate)
	return func() error {
		if err := s.check(); err != nil {
			return err
		}
		flags := *s
		resolved, err := flags.resolve()
		if err != nil {
			return err
		}
		if resolved.Source == SourceSimulate {
			if err := simulation(resolved.Node); err != nil {
				return err
			}
			resolved.Simulate = s.Simulate
			resolved.Simulate.Window = resolved.Interval.Seconds()
		}
		resolved.flags = &flags
		*s = resolved
		return nil
	}
}

// check checks the flags alone.
func (s *Serve) check() error {
	var errs []error
	if s.Interval < minInterval || s.Interval > maxInterval {
		errs = append(errs, fmt.Errorf("--collect.interval=%s: must be %s to %s", s.Interval, minInterval, maxInterval))
	}
	if s.Interval%time.Millisecond != 0 {
		errs = append(errs, fmt.Errorf("--collect.interval=%s: must be whole milliseconds", s.Interval))
	}
	if s.Ring < 0 || s.Ring > maxRing {
		errs = append(errs, fmt.Errorf("--ring.duration=%s: must be 0s to %s", s.Ring, maxRing))
	}
	if d := s.MinInterval; d != 0 && (d < minInterval || d > maxInterval || d%time.Millisecond != 0) {
		errs = append(errs, fmt.Errorf("--live.min-interval=%s: must be 0s, or whole milliseconds from %s to %s", d, minInterval, maxInterval))
	}
	if s.MaxSubscribers < 0 {
		errs = append(errs, fmt.Errorf("--web.max-subscribers=%d: must be 0 or more", s.MaxSubscribers))
	}
	for _, address := range s.Listen {
		errs = append(errs, checkAddressFlag("--web.listen-address", address, false))
	}
	if s.Advertise != "" {
		errs = append(errs, checkAddressFlag("--web.advertise-address", s.Advertise, true))
	}
	return errors.Join(errs...)
}

// resolve reads the file and lays the flags over it.
func (s *Serve) resolve() (Serve, error) {
	f := Defaults()
	if s.File != "" {
		var err error
		if f, err = ReadFile(s.File); err != nil {
			return Serve{}, err
		}
	}
	s.overlay(&f)
	if err := f.check(); err != nil {
		if s.File == "" {
			return Serve{}, err
		}
		return Serve{}, fmt.Errorf("%s: %w", s.File, err)
	}
	if err := defaultNode(&f.NodeName); err != nil {
		return Serve{}, err
	}
	f.settleGroups()
	return Serve{
		Source: f.Source, Node: f.NodeName, Cluster: f.Cluster, Interval: f.Classes[device.Fast], Ring: f.Ring,
		Listen: f.Web.ListenAddresses, WebConfigFile: f.Web.ConfigFile, TokenFile: f.Web.BearerTokenFile,
		Advertise: f.Web.AdvertiseAddress, MaxSubscribers: f.Web.MaxSubscribers, MinInterval: f.Live.MinInterval, Simulate: s.Simulate,
		File: s.File, Settings: f, Schedule: f.schedule(), checkOnly: s.checkOnly,
	}, nil
}

// overlay puts what the flags say in the place of what the file says.
func (s *Serve) overlay(f *File) {
	if s.given.source {
		f.Source = s.Source
	}
	f.NodeName = cmp.Or(s.Node, f.NodeName)
	f.Cluster = cmp.Or(s.Cluster, f.Cluster)
	f.Profile = cmp.Or(device.Profile(s.profile), f.Profile)
	fast, named := f.Classes[device.Fast]
	if s.given.interval || !named {
		fast = s.Interval
	}
	classes := collect.ClassIntervals(fast)
	for class, d := range f.Classes {
		if class != device.Fast {
			classes[class] = d
		}
	}
	// A class that nobody set is never more frequent than one that is more frequent by its name.
	all := device.Classes()
	for i, class := range all[1:] {
		if _, named := f.Classes[class]; !named {
			classes[class] = max(classes[class], classes[all[i]])
		}
	}
	f.Classes = classes
	if s.given.ring {
		f.Ring = s.Ring
	}
	if s.given.minInterval {
		f.Live.MinInterval = s.MinInterval
	}
	if s.given.listen {
		f.Web.ListenAddresses = s.Listen
	}
	if s.given.subscribers {
		f.Web.MaxSubscribers = s.MaxSubscribers
	}
	f.Web.ConfigFile = cmp.Or(s.WebConfigFile, f.Web.ConfigFile)
	f.Web.BearerTokenFile = cmp.Or(s.TokenFile, f.Web.BearerTokenFile)
	f.Web.AdvertiseAddress = cmp.Or(s.Advertise, f.Web.AdvertiseAddress)
	if f.Window == Defaults().Window {
		f.Window = max(f.Window, fast)
	}
}

// settleGroups says of every group whether and how often it is measured.
func (f *File) settleGroups() {
	settled := map[string]Group{}
	chosen := device.ProfileGroups(f.Profile)
	for g := range device.NumGroups {
		set := f.Groups[g.String()]
		on := chosen.Has(g)
		if set.Enabled != nil {
			on = *set.Enabled
		}
		set.Enabled = &on
		if set.Interval == 0 {
			set.Interval = f.Classes[cmp.Or(set.Class, g.Class())]
		}
		set.Class = ""
		settled[g.String()] = set
	}
	f.Groups = settled
}

// schedule is what settled groups come to.
func (f *File) schedule() collect.Schedule {
	s := collect.Schedule{
		Tick: f.Classes[device.Fast], MinTick: f.Live.MinInterval, List: f.Processes.Enabled, Names: f.Processes.Names,
		ForgetAfter: f.ForgetAfter,
	}
	for g := range device.NumGroups {
		set := f.Groups[g.String()]
		s.Every[g] = set.Interval
		if *set.Enabled {
			s.Groups |= device.GroupsOf(g)
		}
	}
	return s
}

// Print writes what is in effect, as a file that would say the same. It has no secrets: a file only says where they are.
func (s *Serve) Print(to io.Writer) error {
	encoder := yaml.NewEncoder(to)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(s.Settings), encoder.Close()); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	return nil
}

// needRestart are what differs between two configurations and cannot change while the agent runs.
func needRestart(before, after *Serve) []string {
	var keys []string
	for _, c := range []struct {
		key  string
		same bool
	}{
		{"source", before.Source == after.Source},
		{"node_name", before.Node == after.Node},
		{"cluster", before.Cluster == after.Cluster},
		{"ring", before.Ring == after.Ring},
		{"web.listen_addresses", slices.Equal(before.Listen, after.Listen)},
		{"web.config_file", before.WebConfigFile == after.WebConfigFile},
		{"web.bearer_token_file", before.TokenFile == after.TokenFile},
		{"web.advertise_address", before.Advertise == after.Advertise},
		{"web.max_subscribers", before.MaxSubscribers == after.MaxSubscribers},
		{"events", before.Settings.Events == after.Settings.Events},
		{"workload.otlp", before.Settings.Workload.OTLP == after.Settings.Workload.OTLP},
	} {
		if !c.same {
			keys = append(keys, c.key)
		}
	}
	return keys
}
