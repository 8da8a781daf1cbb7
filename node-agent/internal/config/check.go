package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/logrule"
)

// Limits of what may be asked for.
const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Minute
	maxSlow     = 24 * time.Hour
	maxRing     = time.Hour
	maxFrames   = 18000
	maxWindow   = 10 * time.Minute
	maxKeep     = 100_000
	maxTargets  = 64
	// maxProcessSeries is of one GPU.
	maxProcessSeries = 1000
	minPoll          = time.Second
	maxTextBytes     = 64 << 20
)

// check says what of a file must be changed, all at once.
func (f *File) check() error {
	var p problems
	if f.Source != SourceNVML && f.Source != SourceSimulate {
		p.add("source: %q must be %s or %s", f.Source, SourceNVML, SourceSimulate)
	}
	if !slices.Contains(device.Profiles(), f.Profile) {
		p.add("profile: %q must be one of %s", f.Profile, join(device.Profiles()))
	}
	f.checkClasses(&p)
	f.checkGroups(&p)
	if f.Window != 0 && (f.Window < f.Classes[device.Fast] || f.Window > maxWindow) {
		p.add("window: %s must be 0s, for none, or %s to %s", f.Window, f.Classes[device.Fast], maxWindow)
	}
	if f.Ring < 0 || f.Ring > maxRing {
		p.add("ring: %s must be 0s to %s", f.Ring, maxRing)
	} else if fast := f.Classes[device.Fast]; fast >= minInterval && f.Ring/fast > maxFrames {
		p.add("ring: %s are %d samples every %s; at most %d are kept, so at most %s", f.Ring, f.Ring/fast, fast, maxFrames, maxFrames*fast)
	}
	if f.ForgetAfter != 0 && f.ForgetAfter < time.Minute {
		p.add("forget_after: %s must be 0s, for never, or 1m or more", f.ForgetAfter)
	}
	f.Live.check(&p)
	f.Web.check(&p)
	if f.Processes.MaxSeries < 0 || f.Processes.MaxSeries > maxProcessSeries {
		p.add("processes.max_series: %d must be 0, for none, to %d", f.Processes.MaxSeries, maxProcessSeries)
	}
	f.Events.check(&p)
	f.Owners.check(&p)
	f.Workload.check(&p)
	if err := logrule.Validate(f.LogRules); err != nil {
		p.list = append(p.list, err)
	}
	f.checkRedfish(&p)
	p.theirs(f.OTLPExport.Validate(), "otlp", "otlp_export")
	return errors.Join(p.list...)
}

// problems are what is wrong.
type problems struct{ list []error }

func (p *problems) add(format string, args ...any) {
	p.list = append(p.list, fmt.Errorf(format, args...))
}

// poll checks how often something is looked at.
func (p *problems) poll(key string, d time.Duration) {
	if d < minPoll || d > maxSlow {
		p.add("%s: %s must be %s to %s", key, d, minPoll, maxSlow)
	}
}

// path checks a path that may be left out.
func (p *problems) path(key, path string) {
	if path != "" && !filepath.IsAbs(path) {
		p.add("%s: %q must be an absolute path", key, path)
	}
}

func (f *File) checkClasses(p *problems) {
	for _, class := range slices.Sorted(maps.Keys(f.Classes)) {
		d := f.Classes[class]
		switch {
		case !slices.Contains(device.Classes(), class):
			p.add("classes: %q must be one of %s", class, join(device.Classes()))
		case class == device.Fast && (d < minInterval || d > maxInterval):
			p.add("classes.fast: %s must be %s to %s", d, minInterval, maxInterval)
		case d > maxSlow:
			p.add("classes.%s: %s must be at most %s", class, d, maxSlow)
		case d%time.Millisecond != 0:
			p.add("classes.%s: %s must be whole milliseconds", class, d)
		}
	}
	all := device.Classes()
	for i, class := range all[1:] {
		if d, quicker := f.Classes[class], f.Classes[all[i]]; d < quicker {
			p.add("classes.%s: %s must not be shorter than classes.%s, which is %s", class, d, all[i], quicker)
		}
	}
}

func (f *File) checkGroups(p *problems) {
	fast := f.Classes[device.Fast]
	for _, name := range slices.Sorted(maps.Keys(f.Groups)) {
		g := f.Groups[name]
		key := "groups." + name
		_, known := device.GroupNamed(name)
		switch {
		case !known:
			p.add("groups: %q is no group: they are %s", name, strings.Join(groupNames(), ", "))
		case g.Class != "" && g.Interval != 0:
			p.add("%s: must have a class or an interval, not both", key)
		case g.Class != "" && !slices.Contains(device.Classes(), g.Class):
			p.add("%s.class: %q must be one of %s", key, g.Class, join(device.Classes()))
		case g.Interval != 0 && (g.Interval < fast || g.Interval > maxSlow):
			p.add("%s.interval: %s must be %s, which is classes.fast, to %s", key, g.Interval, fast, maxSlow)
		case g.Interval%time.Millisecond != 0:
			p.add("%s.interval: %s must be whole milliseconds", key, g.Interval)
		}
	}
}

func (l *Live) check(p *problems) {
	switch d := l.MinInterval; {
	case d != 0 && (d < minInterval || d > maxInterval):
		p.add("live.min_interval: %s must be 0s, to hear no wishes, or %s to %s", d, minInterval, maxInterval)
	case d%time.Millisecond != 0:
		p.add("live.min_interval: %s must be whole milliseconds", d)
	}
}

func (w *Web) check(p *problems) {
	if w.MaxSubscribers < 0 {
		p.add("web.max_subscribers: %d must be 0 or more", w.MaxSubscribers)
	}
	if len(w.ListenAddresses) == 0 {
		p.add("web.listen_addresses: must name one address or more")
	}
	for _, address := range w.ListenAddresses {
		if err := checkAddress(address, false); err != nil {
			p.add("web.listen_addresses: %q %w", address, err)
		}
	}
	if w.AdvertiseAddress != "" {
		if err := checkAddress(w.AdvertiseAddress, true); err != nil {
			p.add("web.advertise_address: %q %w", w.AdvertiseAddress, err)
		}
	}
}

func (e *Events) check(p *problems) {
	p.path("events.kernel_log", e.KernelLog)
	if e.KernelHistory < 0 {
		p.add("events.kernel_history: %s must be 0s or more", e.KernelHistory)
	}
	if e.Keep < 1 || e.Keep > maxKeep {
		p.add("events.keep: %d must be 1 to %d", e.Keep, maxKeep)
	}
}

func (o *Owners) check(p *problems) {
	p.poll("owners.interval", o.Interval)
	p.path("owners.passwd", o.Passwd)
	p.path("owners.kubelet.socket", o.Kubelet.Socket)
	p.path("owners.kubelet.pod_logs", o.Kubelet.PodLogs)
	p.path("owners.kubelet.container_logs", o.Kubelet.ContainerLogs)
	p.path("owners.slurm.folder", o.Slurm.Folder)
	p.path("owners.slurm.mapping_folder", o.Slurm.MappingFolder)
	if o.Kubelet.Enabled && o.Kubelet.Socket == "" {
		p.add("owners.kubelet.socket: must be given, or owners.kubelet.enabled be false")
	}
}

func (w *Workload) check(p *problems) {
	p.path("workload.textfile.folder", w.Textfile.Folder)
	p.poll("workload.textfile.interval", w.Textfile.Interval)
	if w.Textfile.MaxBytes < 1 || w.Textfile.MaxBytes > maxTextBytes {
		p.add("workload.textfile.max_bytes: %d must be 1 to %d", w.Textfile.MaxBytes, maxTextBytes)
	}
	if w.Textfile.MaxFiles < 1 || w.Textfile.MaxFiles > 10_000 {
		p.add("workload.textfile.max_files: %d must be 1 to 10000", w.Textfile.MaxFiles)
	}
	p.poll("workload.otlp.lifetime", w.OTLP.Lifetime)
}

func (f *File) checkRedfish(p *problems) {
	if len(f.Redfish) > maxTargets {
		p.add("redfish: there are %d endpoints, at most %d are read", len(f.Redfish), maxTargets)
	}
	hosts := map[string]int{}
	for i, c := range f.Redfish {
		key := fmt.Sprintf("redfish[%d]", i)
		if !c.Enabled() {
			p.add("%s: endpoint must be given", key)
			continue
		}
		p.theirs(c.Validate(), "redfish", key)
		if u, err := url.Parse(c.Endpoint); err == nil {
			if other, twice := hosts[u.Host]; twice {
				p.add("%s: endpoint is the one of redfish[%d]", key, other)
			} else {
				hosts[u.Host] = i
			}
		}
	}
}

// theirs takes what a part says of its section, which it calls by a name of its own.
func (p *problems) theirs(err error, name, key string) {
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		p.add("%s: %s", key, strings.TrimPrefix(line, name+": "))
	}
}

// groupNames are all groups.
func groupNames() []string {
	names := make([]string, device.NumGroups)
	for g := range device.NumGroups {
		names[g] = g.String()
	}
	return names
}

func join[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, t := range list {
		texts[i] = string(t)
	}
	return strings.Join(texts, ", ")
}
