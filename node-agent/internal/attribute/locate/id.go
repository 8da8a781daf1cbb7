package locate

import (
	"fmt"
	"strconv"
	"strings"
)

// maxID is how long an id may be. The longest real one is an old MIG id with two numbers, of about 55 bytes.
const maxID = 128

// ID is a device plugin's id, taken apart. Either UUID is set or Minor is not Unknown.
type ID struct {
	UUID        string // "GPU-…" or "MIG-…"
	Minor       int    // N of GKE's "nvidiaN"
	GPUInstance string // where the id itself tells it
	Replica     string
}

// ParseID reads an id of the kubelet's, in one of these forms, with u for 5e1f0000-…:
//
//	GPU-u            a whole GPU
//	MIG-u            a MIG instance
//	MIG-GPU-u/3/0    the same, with drivers before 470
//	GPU-u::2         the third share of a GPU (time-slicing, MPS); likewise for MIG
//	nvidia0          a whole GPU at GKE
//	nvidia0/gi3      a MIG instance there
//	nvidia0/vgpu1    a share there; likewise nvidia0/gi3/vgpu1
func ParseID(text string) (ID, error) {
	id := ID{Minor: Unknown}
	if len(text) > maxID {
		return id, fmt.Errorf("device id of %d bytes: at most %d are expected", len(text), maxID)
	}
	bad := fmt.Errorf("device id %q: expected GPU-<uuid>, MIG-<uuid>, <uuid>::<n>, nvidia<n>, nvidia<n>/gi<m> or nvidia<n>/vgpu<m>", text)
	rest := text
	if base, replica, shared := strings.Cut(rest, "::"); shared {
		if !isNumber(replica) {
			return id, bad
		}
		rest, id.Replica = base, replica
	}
	if old, ok := strings.CutPrefix(rest, "MIG-GPU-"); ok {
		parts := strings.Split(old, "/")
		if len(parts) != 3 || !isName(parts[0]) || !isNumber(parts[1]) || !isNumber(parts[2]) {
			return id, bad
		}
		id.UUID, id.GPUInstance = "GPU-"+parts[0], parts[1]
		return id, nil
	}
	if kind, name, ok := strings.Cut(rest, "-"); ok && (kind == "GPU" || kind == "MIG") {
		if !isName(name) {
			return id, bad
		}
		id.UUID = rest
		return id, nil
	}
	if id.Replica != "" {
		return id, bad
	}
	return id, id.parseGKE(rest, bad)
}

// parseGKE reads "nvidia0", "nvidia0/gi3", "nvidia0/vgpu1" or "nvidia0/gi3/vgpu1".
func (id *ID) parseGKE(text string, bad error) error {
	parts := strings.Split(text, "/")
	minor, ok := numberAfter("nvidia", parts[0])
	if !ok {
		return bad
	}
	parts = parts[1:]
	if len(parts) > 0 {
		if gi, ok := numberAfter("gi", parts[0]); ok {
			id.GPUInstance, parts = strconv.Itoa(gi), parts[1:]
		}
	}
	if len(parts) > 0 {
		if share, ok := numberAfter("vgpu", parts[0]); ok {
			id.Replica, parts = strconv.Itoa(share), parts[1:]
		}
	}
	if len(parts) > 0 {
		return bad
	}
	id.Minor = minor
	return nil
}

// numberAfter reads the 3 of "gi3".
func numberAfter(prefix, text string) (int, bool) {
	digits, ok := strings.CutPrefix(text, prefix)
	if !ok || !isNumber(digits) {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil
}

// isNumber reports whether text is a small number without a sign.
func isNumber(text string) bool {
	if text == "" || len(text) > 6 {
		return false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isName reports whether text can be the part of a UUID after its prefix.
func isName(text string) bool {
	for _, c := range []byte(text) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
			return false
		}
	}
	return text != ""
}
