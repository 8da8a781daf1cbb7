package kernlog

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDetail bounds what an event says, in bytes.
const maxDetail = 300

// detail is the message as one line for people.
func (m message) detail() string {
	text := m.text
	switch {
	case m.kind == switchMessage:
		text = fmt.Sprintf("NVSwitch %s (%s) SXid %d: %s", m.nvswitch, m.address, m.code, m.text)
	case m.kind == fallenMessage:
		text += " (the driver said so without an Xid)"
	case m.link != nil:
		text = m.link.String()
	}
	return oneLine(text + m.process.String())
}

func (l nvlink) String() string {
	severity := "nonfatal"
	if l.fatal {
		severity = "fatal"
	}
	place := fmt.Sprintf("link %d", l.link)
	if l.link < 0 {
		place = "no single link"
	}
	return fmt.Sprintf("NVLink %s, %s, %s (%s)", l.unit, severity, place, l.registers)
}

// String begins with a space, or is "" for a process that is not known.
func (p process) String() string {
	switch {
	case p.pid == 0:
		return ""
	case p.name == "":
		return fmt.Sprintf(" [pid %d]", p.pid)
	default:
		return fmt.Sprintf(" [pid %d, %s]", p.pid, p.name)
	}
}

// oneLine makes text fit for a table: one line of printable UTF-8, at most maxDetail bytes. The names of processes are in it.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	text = strings.TrimSpace(text)
	if len(text) <= maxDetail {
		return text
	}
	const mark = "…"
	end := maxDetail - len(mark)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
