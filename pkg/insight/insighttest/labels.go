package insighttest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// label is one pair of a series' labels.
type label struct{ name, value string }

// cutLabels reads {a="b",c="d"} at the start of text and returns what follows it.
func cutLabels(text string) (labels []label, rest string, err error) {
	text, found := strings.CutPrefix(text, "{")
	if !found {
		return nil, text, fmt.Errorf("labels must start with {, not %q", text)
	}
	for {
		text = strings.TrimLeft(text, " ,")
		if rest, found = strings.CutPrefix(text, "}"); found {
			return labels, rest, nil
		}
		name, after, found := strings.Cut(text, "=")
		if !found || name == "" {
			return nil, text, fmt.Errorf("labels: expected name=\"value\" or }, not %q", text)
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil || quoted[0] != '"' {
			return nil, text, fmt.Errorf("labels: the value of %s must be in double quotes", name)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, text, fmt.Errorf("labels: the value of %s: %w", name, err)
		}
		if slices.ContainsFunc(labels, func(l label) bool { return l.name == name }) {
			return nil, text, fmt.Errorf("labels: %s is there twice", name)
		}
		labels, text = append(labels, label{name, value}), after[len(quoted):]
	}
}

// maxSubjects bounds what ranges in labels may stand for.
const maxSubjects = 10_000

// expand replaces ranges in values: a list of labels for each combination.
func expand(labels []label) ([][]label, error) {
	for i, l := range labels {
		open := strings.IndexByte(l.value, '[')
		end := strings.IndexByte(l.value, ']')
		if open < 0 || end < open {
			continue
		}
		var from, to int
		if n, err := fmt.Sscanf(l.value[open:end+1], "[%d-%d]", &from, &to); n != 2 || err != nil || from > to || to-from >= maxSubjects {
			return nil, fmt.Errorf("labels: the range in %s=%q must be [first-last]", l.name, l.value)
		}
		linked := end+1 < len(l.value) && l.value[end+1] == 'i'
		var all [][]label
		for n := from; n <= to; n++ {
			one := slices.Clone(labels)
			tail := l.value[end+1:]
			if linked {
				tail = tail[1:]
			}
			one[i].value = l.value[:open] + strconv.Itoa(n) + tail
			if linked {
				if err := link(one[i+1:], n-from, to-from); err != nil {
					return nil, err
				}
			}
			rest, err := expand(one)
			if err != nil {
				return nil, err
			}
			if all = append(all, rest...); len(all) > maxSubjects {
				return nil, fmt.Errorf("labels: more than %d subjects in one line", maxSubjects)
			}
		}
		return all, nil
	}
	return [][]label{labels}, nil
}

// link gives the ranges that go together with an earlier one their number.
func link(labels []label, offset, length int) error {
	for i, l := range labels {
		open, end := strings.IndexByte(l.value, '['), strings.Index(l.value, "]i")
		if open < 0 || end < open {
			continue
		}
		var from, to int
		if n, err := fmt.Sscanf(l.value[open:end+1], "[%d-%d]", &from, &to); n != 2 || err != nil || to-from != length {
			return fmt.Errorf("labels: the range in %s=%q must be as long as the one that it goes with", l.name, l.value)
		}
		labels[i].value = l.value[:open] + strconv.Itoa(from+offset) + l.value[end+2:]
	}
	return nil
}

// owners of a device while it is put together: position 0 is the first, numbers of labels start at 2.
const maxOwners = 9

// device is a subject while its labels are gathered.
type device struct {
	subject insight.Subject
	owners  [maxOwners]gpu.Owner
	set     map[string]string // labels so far
}

func identityOf(labels []label) (gpu.Identity, error) {
	var id gpu.Identity
	for _, l := range labels {
		switch l.name {
		case "cluster":
			id.Cluster = l.value
		case "node":
			id.Node = l.value
		case "uuid":
			id.UUID = l.value
		case "gpu_instance":
			id.GPUInstance = l.value
		case "compute_instance":
			id.ComputeInstance = l.value
		}
	}
	if id.Node == "" || id.UUID == "" {
		return id, fmt.Errorf("labels: a device needs node and uuid")
	}
	return id, nil
}

// describe takes over labels that are no identity.
func (d *device) describe(labels []label) error {
	for _, l := range labels {
		if before, known := d.set[l.name]; known && before != l.value {
			return fmt.Errorf("labels: %s of %s is %q here and %q before", l.name, Name(d.subject), l.value, before)
		}
		d.set[l.name] = l.value
		if err := d.put(l); err != nil {
			return err
		}
	}
	return nil
}

func (d *device) put(l label) error {
	owner, name := &d.owners[0], l.name
	if rest, numbered := strings.CutPrefix(name, "owner"); numbered && len(rest) > 2 && rest[0] >= '2' && rest[0] <= '9' && rest[1] == '_' {
		owner, name = &d.owners[rest[0]-'1'], rest[2:]
	}
	var err error
	switch name {
	case "namespace":
		owner.Namespace = l.value
	case "pod":
		owner.Pod = l.value
	case "container":
		owner.Container = l.value
	case "job":
		owner.SlurmJob = l.value
	case "user":
		owner.User = l.value
	case "owner_source", "source":
		owner.Source = l.value
	case "cluster", "node", "uuid", "gpu_instance", "compute_instance":
	case "model":
		d.subject.Model = l.value
	case "index":
		d.subject.Index, err = strconv.Atoi(l.value)
	case "pci_bus_id":
		d.subject.PCIBusID = l.value
	case "mig_profile":
		d.subject.MIGProfile = l.value
	case "mig_uuid":
		d.subject.MIGUUID = l.value
	case "mig_enabled":
		d.subject.MIGEnabled, err = strconv.ParseBool(l.value)
	case "driver":
		d.subject.Driver = l.value
	case "class":
		d.subject.Class = insight.Class(l.value)
		if d.subject.Class != insight.Training && d.subject.Class != insight.Inference {
			err = fmt.Errorf("must be training or inference")
		}
	default:
		return fmt.Errorf("labels: a device has no label %s; doc.go of insighttest lists them", l.name)
	}
	if err != nil {
		return fmt.Errorf("labels: %s=%q: %w", l.name, l.value, err)
	}
	return nil
}

// finish puts the owners in.
func (d *device) finish() insight.Subject {
	s := d.subject
	for _, o := range d.owners {
		if o != (gpu.Owner{}) {
			s.Owners = append(s.Owners, o)
		}
	}
	return s
}

func workloadOf(labels []label) (insight.Workload, error) {
	var w insight.Workload
	for _, l := range labels {
		switch l.name {
		case "cluster":
			w.Cluster = l.value
		case "node":
			w.Node = l.value
		case "namespace":
			w.Namespace = l.value
		case "pod":
			w.Pod = l.value
		case "job":
			w.Job = l.value
		case "model":
			w.Model = l.value
		case "rank":
			w.Rank = l.value
		case "instance":
			w.Instance = l.value
		default:
			return w, fmt.Errorf("labels: a workload has no label %s; doc.go of insighttest lists them", l.name)
		}
	}
	if w == (insight.Workload{}) {
		return w, fmt.Errorf("labels: a workload needs at least one label")
	}
	return w, nil
}

// Name is how scripts write a device: "n1 GPU-1", "n1 GPU-1/3" for MIG instance 3.
func Name(s insight.Subject) string {
	name := s.Node + " " + s.UUID
	if s.IsMIG() {
		name += "/" + s.GPUInstance
	}
	if s.ComputeInstance != "" {
		name += "/" + s.ComputeInstance
	}
	return name
}
