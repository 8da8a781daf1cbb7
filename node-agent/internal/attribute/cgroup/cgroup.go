// Package cgroup reads from the path of a control group whose it is: a container's, a pod's, a Slurm job's.
package cgroup

import "strings"

// Place is what the control groups of a process tell. Each field is "" when they do not.
type Place struct {
	ContainerID string // 64 hexadecimal digits
	Runtime     string // "docker", "containerd", "crio" or "podman"
	PodUID      string
	Slurm       Slurm
}

// maxPath is the kernel's own limit of a path.
const maxPath = 4096

// Parse reads the paths of all hierarchies that a process is in. What one of them does not tell another may.
func Parse(paths []string) Place {
	var p Place
	for _, path := range paths {
		if len(path) > maxPath {
			continue
		}
		q := parse(path)
		if p.ContainerID == "" {
			p.ContainerID, p.Runtime = q.ContainerID, q.Runtime
		} else if p.Runtime == "" && p.ContainerID == q.ContainerID {
			p.Runtime = q.Runtime
		}
		if p.PodUID == "" {
			p.PodUID = q.PodUID
		}
		p.Slurm.fill(q.Slurm)
	}
	return p
}

// parse reads one path. Containers may run in containers: the innermost counts. Containerd without systemd's driver set
// up for it joins parts by colons: "kubepods-pod1234.slice:cri-containerd:5678".
func parse(path string) Place {
	var p Place
	var before string
	var slurm reader
	for part := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == ':' }) {
		if uid := podUID(part); uid != "" {
			p.PodUID = uid
		}
		if id, runtime := container(part, before); id != "" {
			p.ContainerID, p.Runtime = id, runtime
		}
		slurm.read(part)
		before = part
	}
	p.Slurm = slurm.job
	return p
}

// podUID reads "kubepods-burstable-pod1234_….slice" as systemd's driver writes it, perhaps below a slice of the kubelet's,
// or "pod1234-…".
func podUID(part string) string {
	name, systemd := strings.CutSuffix(part, ".slice")
	if systemd {
		at := strings.LastIndex(name, "-pod")
		if !strings.Contains(name, "kubepods") || at < 0 {
			return ""
		}
		name = name[at+1:]
	}
	uid, ok := strings.CutPrefix(name, "pod")
	if !ok {
		return ""
	}
	if systemd {
		uid = strings.ReplaceAll(uid, "_", "-")
	}
	// Pods from files have the MD5 of the file in place of a UUID.
	if !isHex(strings.ReplaceAll(uid, "-", ""), 32) {
		return ""
	}
	return uid
}

// prefixes of the names of containers' groups, with the runtime that writes them.
var prefixes = [...]struct{ prefix, runtime string }{
	{"docker-", "docker"}, {"cri-containerd-", "containerd"}, {"nerdctl-", "containerd"}, {"crio-", "crio"}, {"libpod-", "podman"},
}

// container reads "docker-<id>.scope" or a bare id, whose runtime may be named by the part before it.
func container(part, before string) (id, runtime string) {
	name := strings.TrimSuffix(part, ".scope")
	for _, known := range prefixes {
		if id, ok := strings.CutPrefix(name, known.prefix); ok && isHex(id, 64) {
			return id, known.runtime
		}
	}
	if !isHex(part, 64) {
		return "", ""
	}
	switch before {
	case "docker":
		runtime = "docker"
	case "cri-containerd", "containerd":
		runtime = "containerd"
	case "crio":
		runtime = "crio"
	case "libpod_parent":
		runtime = "podman"
	}
	return part, runtime
}

// isHex reports whether text is n lower-case hexadecimal digits.
func isHex(text string, n int) bool {
	if len(text) != n {
		return false
	}
	for _, c := range []byte(text) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}
