package kernlog

import (
	"strconv"
	"strings"
	"time"
)

// unzonedLate is how old a new line can be. One that is older was written in another time zone than the agent's.
const unzonedLate = time.Minute

// syslogLine reads a line that a syslog daemon wrote of the kernel: "<time> <host> kernel: [12345.678901] <text>". The
// time is RFC 3339, or the old "Nov 30 07:08:01" without year and zone. It is not ok for lines of anyone else.
func syslogLine(line string, now time.Time, isNew bool) (at time.Time, text string, ok bool) {
	at, rest, ok := zonedTime(line)
	if !ok {
		if at, rest, ok = unzonedTime(line, now); !ok {
			return time.Time{}, "", false
		}
		if isNew && now.Sub(at).Abs() > unzonedLate {
			at = now
		}
	}
	if at.After(now) {
		at = now
	}
	_, rest, _ = strings.Cut(rest, " ") // the host
	rest, ok = strings.CutPrefix(rest, "kernel: ")
	if !ok {
		return time.Time{}, "", false
	}
	rest = strings.TrimLeft(rest, " ")
	if stamp, after, found := strings.Cut(rest, "]"); found && strings.Trim(stamp, "[ .0123456789") == "" {
		rest = strings.TrimLeft(after, " ")
	}
	return at, rest, true
}

func zonedTime(line string) (at time.Time, rest string, ok bool) {
	first, rest, _ := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, first)
	return at, rest, err == nil
}

// unzonedTime takes the newest year that does not put the line more than a day into the future.
func unzonedTime(line string, now time.Time) (at time.Time, rest string, ok bool) {
	if len(line) <= len(time.Stamp) || line[len(time.Stamp)] != ' ' {
		return time.Time{}, "", false
	}
	for year := now.Year() + 1; year > now.Year()-8; year-- { // eight years have a 29 February
		at, err := time.ParseInLocation("2006 "+time.Stamp, strconv.Itoa(year)+" "+line[:len(time.Stamp)], now.Location())
		if err == nil && at.Before(now.AddDate(0, 0, 1)) {
			return at, line[len(time.Stamp)+1:], true
		}
	}
	return time.Time{}, "", false
}
