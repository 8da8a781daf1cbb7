package locate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// claimed is the name of a device in NVIDIA's DRA driver, taken apart.
type claimed struct {
	minor   int
	mig     bool
	profile string // "1g24gb-me", "" where the name does not tell it
	start   int
}

// parseClaimed reads "gpu-0", "gpu-0-mig-1g24gb-19-4" (profile, its number, first memory slice) or the older
// "gpu-0-mig-19-4-1" (number of the profile, first memory slice, how many).
func parseClaimed(name string) (claimed, error) {
	bad := fmt.Errorf("DRA device %q: expected gpu-<minor> or gpu-<minor>-mig-<profile>-<id>-<start>", name)
	if len(name) > maxID {
		return claimed{}, fmt.Errorf("DRA device name of %d bytes: at most %d are expected", len(name), maxID)
	}
	whole, instance, mig := strings.Cut(name, "-mig-")
	minor, ok := numberAfter("gpu-", whole)
	if !ok {
		return claimed{}, bad
	}
	c := claimed{minor: minor, mig: mig, start: Unknown}
	if !mig {
		return c, nil
	}
	parts := strings.Split(instance, "-")
	if len(parts) < 3 {
		return claimed{}, bad
	}
	head, id, last := parts[:len(parts)-2], parts[len(parts)-2], parts[len(parts)-1]
	if !isNumber(id) || !isNumber(last) {
		return claimed{}, bad
	}
	start := last
	if len(head) == 1 && isNumber(head[0]) {
		start = id
	} else {
		c.profile = strings.Join(head, "-")
	}
	var err error
	if c.start, err = strconv.Atoi(start); err != nil {
		return claimed{}, bad
	}
	return c, nil
}

// Claim is the device of a DRA claim on NVIDIA's driver, by the names of its CDI devices where they hold a UUID, else by
// its own name.
func (t *Table) Claim(name string, cdi []string) (Target, error) {
	var tails []string
	for _, full := range cdi {
		_, device, ok := strings.Cut(full, "=")
		if !ok {
			continue
		}
		if id, err := ParseID(device); err == nil && id.UUID != "" {
			if target, err := t.Plugin(device); err == nil {
				return target, nil
			}
		}
		// "k8s.gpu.nvidia.com/claim=<claim's UID>-gpu-0"
		if at := strings.LastIndex(device, "gpu-"); at >= 0 {
			tails = append(tails, device[at:])
		}
	}
	if name != "" {
		return t.claimed(name)
	}
	for _, tail := range tails {
		if target, err := t.claimed(tail); err == nil {
			return target, nil
		}
	}
	return Target{}, errors.New("DRA claim without the name of a device")
}

func (t *Table) claimed(name string) (Target, error) {
	c, err := parseClaimed(name)
	if err != nil {
		return Target{}, err
	}
	parent, note, err := t.minor(c.minor)
	if err != nil {
		return Target{}, fmt.Errorf("DRA device %q: %w", name, err)
	}
	if !c.mig {
		return Target{UUID: parent.UUID, Note: note}, nil
	}
	instance, assumed, err := t.placed(parent.UUID, c)
	if err != nil {
		return Target{}, fmt.Errorf("DRA device %q: %w", name, err)
	}
	return Target{UUID: parent.UUID, GPUInstance: instance, Note: strings.TrimPrefix(note+"; "+assumed, "; ")}, nil
}

// placed is the MIG instance at a placement. Where placements are not known, it is the only one of its profile.
func (t *Table) placed(parent string, c claimed) (instance, note string, err error) {
	var candidates []string
	for i := range t.devices {
		switch d := &t.devices[i]; {
		case !d.IsMIG() || d.UUID != parent:
		case d.Start == c.start:
			return d.GPUInstance, "", nil
		case d.Start == Unknown && (c.profile == "" || c.profile == plainProfile(d.MIGProfile)):
			candidates = append(candidates, d.GPUInstance)
		}
	}
	what := "MIG instance"
	if c.profile != "" {
		what += " of profile " + c.profile
	}
	switch len(candidates) {
	case 0:
		return "", "", fmt.Errorf("its GPU has no %s at memory slice %d", what, c.start)
	case 1:
		return candidates[0], fmt.Sprintf("a claim was taken for the only %s of its GPU, because placements are not known", what), nil
	}
	return "", "", fmt.Errorf("its GPU has %d instances that it could be, and their placements are not known", len(candidates))
}

// plainProfile writes "1g.24gb+me" as the driver does in names: "1g24gb-me".
func plainProfile(profile string) string {
	var b strings.Builder
	for _, c := range []byte(strings.ToLower(strings.ReplaceAll(profile, ".", ""))) {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' {
			b.WriteByte(c)
		} else {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}
