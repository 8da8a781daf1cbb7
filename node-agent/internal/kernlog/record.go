package kernlog

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// record is one of /dev/kmsg, in the form "prio,seq,usec,flags;text" with lines of properties after it.
type record struct {
	priority uint64 // facility * 8 + level
	sequence uint64
	stamp    time.Duration // by the clock of the log, which starts at boot
	text     string        // may have several lines
}

// fromKernel reports whether the kernel itself wrote the record. A process may write to /dev/kmsg too, but not in the
// kernel's name.
func (r record) fromKernel() bool { return r.priority>>3 == 0 }

// parseRecord reads what one read of /dev/kmsg returned.
func parseRecord(raw []byte) (record, error) {
	header, text, found := bytes.Cut(raw, []byte(";"))
	fields := strings.Split(string(header), ",")
	if !found || len(fields) < 3 {
		return record{}, fmt.Errorf("record of the kernel log %.40q: must begin with prio,seq,usec;", raw)
	}
	var numbers [3]uint64
	for i := range numbers {
		n, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return record{}, fmt.Errorf("record of the kernel log %.40q: %w", raw, err)
		}
		numbers[i] = n
	}
	// More than a hundred years after boot is no time.
	const most = uint64(100 * 365 * 24 * time.Hour / time.Microsecond)
	if numbers[2] > most {
		return record{}, fmt.Errorf("record of the kernel log %.40q: time out of range", raw)
	}
	text, _, _ = bytes.Cut(text, []byte("\n")) // properties follow
	return record{
		priority: numbers[0], sequence: numbers[1], stamp: time.Duration(numbers[2]) * time.Microsecond, text: unescape(string(text)),
	}, nil
}

// unescape undoes the kernel's \xNN, by which it writes line breaks, backslashes and everything that is not ASCII.
func unescape(text string) string {
	if !strings.Contains(text, `\x`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], `\x`) && i+4 <= len(text) {
			if n, err := strconv.ParseUint(text[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
