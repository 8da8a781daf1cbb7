package kernlog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// messageKind says what the driver speaks of.
type messageKind uint8

const (
	unrelated     messageKind = iota
	xidMessage                // a GPU reported an XID
	fallenMessage             // a GPU fell off the bus, said without an Xid
	switchMessage             // an NVSwitch reported an SXid
	nameMessage               // which GPU has which UUID, said before its first XID
	notUnderstood             // it looks like an error code, but has a form of its own
)

// message is what the NVIDIA driver wrote.
type message struct {
	kind    messageKind
	address string // "00000000:1A:00.0"
	uuid    string // of a nameMessage
	// gpuInstance and computeInstance are of the MIG instance that the XID is about, "" for the whole GPU.
	gpuInstance, computeInstance string
	code                         uint64  // XID or SXid
	process                      process // that used the GPU
	link                         *nvlink // of the XIDs 144 to 150
	nvswitch                     string  // number of the NVSwitch
	text                         string  // the rest of the message
}

// process is as the driver names it; 0 and "" where it does not know.
type process struct {
	pid  uint64
	name string
}

// nvlink is what XIDs of the fifth generation of NVLink say.
type nvlink struct {
	unit      string // "RLW_SRC_TRACK"
	fatal     bool
	link      int    // -1 when none is to blame
	registers string // what NVIDIA's support asks for
}

var (
	xidForm    = regexp.MustCompile(`(?s)^NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)((?: [A-Za-z-]+:\w+)*)\): (\d+)(?:, ?(.*))?$`)
	fallenForm = regexp.MustCompile(`(?s)^NVRM: (?:GPU (?:at )?(?:PCI:)?([0-9a-fA-F:.]+)(?:: GPU)? has fallen off the bus|` +
		`The NVIDIA GPU ([0-9a-fA-F:.]+)\b.*fallen off the bus and is not responding to commands)`)
	nameForm   = regexp.MustCompile(`^NVRM: GPU at (?:PCI:)?([0-9a-fA-F:.]+): (GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*$`)
	switchForm = regexp.MustCompile(`(?s)^nvidia-nvswitch(\d{1,4}): SXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+), (.*)$`)
	linkForm   = regexp.MustCompile(`^([A-Z][A-Z0-9_]*)\s+(Nonfatal|Fatal)\s+(XC[01] i\d+)\s+Link (-?\d{1,4}) \(([0-9a-fA-Fx ]+)\)`)
	addressOf  = regexp.MustCompile(`^([0-9a-fA-F]{1,8}):([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})(?:\.([0-7]))?$`)
)

// parseMessage reads the text of a record that the kernel wrote.
func parseMessage(text string) message {
	switch {
	case strings.HasPrefix(text, "NVRM: Xid"):
		return parseXID(text)
	case strings.HasPrefix(text, "nvidia-nvswitch"):
		return parseSwitch(text)
	case !strings.HasPrefix(text, "NVRM: "):
		return message{}
	}
	if found := fallenForm.FindStringSubmatch(text); found != nil {
		address, ok := parseAddress(found[1] + found[2])
		if !ok {
			return message{kind: notUnderstood}
		}
		return message{kind: fallenMessage, address: address, code: fallenOffTheBus, text: "GPU has fallen off the bus"}
	}
	if found := nameForm.FindStringSubmatch(text); found != nil {
		if address, ok := parseAddress(found[1]); ok {
			return message{kind: nameMessage, address: address, uuid: found[2]}
		}
	}
	return message{}
}

// fallenOffTheBus is the XID of a GPU that is no longer on the PCIe bus.
const fallenOffTheBus = 79

func parseXID(text string) message {
	found := xidForm.FindStringSubmatch(text)
	if found == nil {
		return message{kind: notUnderstood}
	}
	address, ok := parseAddress(found[1])
	code, err := strconv.ParseUint(found[3], 10, 32)
	if !ok || err != nil {
		return message{kind: notUnderstood}
	}
	m := message{kind: xidMessage, address: address, code: code}
	for attribute := range strings.FieldsSeq(found[2]) {
		name, value, _ := strings.Cut(attribute, ":")
		number, err := strconv.ParseUint(value, 10, 32)
		switch {
		case err != nil: // one that is not known yet
		case name == "GPU-I":
			m.gpuInstance = strconv.FormatUint(number, 10)
		case name == "GPU-CI":
			m.computeInstance = strconv.FormatUint(number, 10)
		}
	}
	m.process, m.text = parseProcess(strings.TrimSpace(found[4]))
	m.link = parseLink(m.text)
	return m
}

// parseProcess takes "pid=1234, name=python3, " from the front of a message.
func parseProcess(text string) (process, string) {
	var p process
	for _, key := range []string{"pid=", "name="} {
		value, isThere := strings.CutPrefix(text, key)
		if !isThere {
			continue
		}
		value, text, _ = strings.Cut(value, ", ")
		value = strings.Trim(value, "' ,")
		switch {
		case value == "<unknown>":
		case key == "name=":
			p.name = value
		default:
			if pid, err := strconv.ParseUint(value, 10, 32); err == nil { // what is no number is not known
				p.pid = pid
			}
		}
	}
	return p, text
}

func parseLink(text string) *nvlink {
	found := linkForm.FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	link, err := strconv.Atoi(found[4])
	if err != nil {
		return nil
	}
	return &nvlink{unit: found[1], fatal: found[2] == "Fatal", link: link, registers: found[3] + " " + found[5]}
}

func parseSwitch(text string) message {
	if !strings.Contains(text, ": SXid ") {
		return message{}
	}
	found := switchForm.FindStringSubmatch(text)
	if found == nil {
		return message{kind: notUnderstood}
	}
	address, ok := parseAddress(found[2])
	code, err := strconv.ParseUint(found[3], 10, 32)
	if !ok || err != nil {
		return message{kind: notUnderstood}
	}
	if strings.HasPrefix(found[4], "Severity ") || strings.HasPrefix(found[4], "Data {") {
		return message{} // the registers of the error in the line before
	}
	return message{kind: switchMessage, address: address, code: code, nvswitch: found[1], text: strings.TrimSpace(found[4])}
}

// parseAddress writes the place of a device on the PCI bus as NVML does: "00000000:1A:00.0".
func parseAddress(text string) (string, bool) {
	found := addressOf.FindStringSubmatch(text)
	if found == nil {
		return "", false
	}
	var numbers [4]uint64
	for i, digits := range found[1:] {
		numbers[i], _ = strconv.ParseUint(digits, 16, 32) // "" is function 0
	}
	return fmt.Sprintf("%08X:%02X:%02X.%X", numbers[0], numbers[1], numbers[2], numbers[3]), true
}
