package kernlog

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecord(t *testing.T) {
	r, err := parseRecord([]byte("30,104,90000020,c,caller=T4711;a; b\\x0ac \\x5cx \\xc3\\xa9 \\xzz\\x4\n SUBSYSTEM=pci\n DEVICE=+pci:0000:1a:00.0\n"))
	require.NoError(t, err)
	assert.Equal(t, record{priority: 30, sequence: 104, stamp: 90000020 * time.Microsecond, text: "a; b\nc \\x é \\xzz\\x4"}, r)
	assert.False(t, r.fromKernel())

	for raw, want := range map[string]string{
		"":                                  "must begin with prio,seq,usec;",
		"6,1,2,-":                           "must begin with prio,seq,usec;",
		"6,1;x":                             "must begin with prio,seq,usec;",
		"<6>,1,2,-;x":                       "invalid syntax",
		"6,-1,2,-;x":                        "invalid syntax",
		"6,1,99999999999999999999,-;x":      "out of range",
		"6,1,9999999999999999999,-;x":       "time out of range",
		strings.Repeat("\xff", 10000) + ";": "must begin with prio,seq,usec;",
	} {
		_, err := parseRecord([]byte(raw))
		if assert.ErrorContains(t, err, want) {
			assert.Less(t, len(err.Error()), 300)
		}
	}
}

func TestLinesOfSyslog(t *testing.T) {
	here := time.FixedZone("here", 3600)
	now := time.Date(2026, 1, 2, 8, 0, 0, 0, here)
	for _, tc := range []struct {
		line, text string
		at         time.Time
	}{
		{"2026-01-02T07:00:01.25+01:00 node-a kernel: [    4.310233] NVRM: a", "NVRM: a", time.Date(2026, 1, 2, 6, 0, 1, 250e6, time.UTC)},
		{"2026-01-02T07:00:01Z node-a kernel: NVRM: a", "NVRM: a", time.Date(2026, 1, 2, 7, 0, 0, 0, time.UTC)}, // not in the future
		{"Jan  2 07:00:01 node-a kernel: [90123.456789] NVRM: a", "NVRM: a", time.Date(2026, 1, 2, 7, 0, 1, 0, here)},
		{"Dec 31 23:59:59 node-a kernel: NVRM: a [1]", "NVRM: a [1]", time.Date(2025, 12, 31, 23, 59, 59, 0, here)},
		{"Feb 29 12:00:00 node-a kernel: NVRM: a", "NVRM: a", time.Date(2024, 2, 29, 12, 0, 0, 0, here)},
		{"Jan  2 08:30:00 node-a kernel: x", "x", now},
	} {
		at, text, ok := syslogLine(tc.line, now, false)
		require.True(t, ok, tc.line)
		assert.Equal(t, tc.text, text)
		assert.True(t, at.Equal(tc.at), "%s: %v", tc.line, at)
	}
	// A host in another zone than the agent's container: a line that was just written is of now.
	at, _, ok := syslogLine("Jan  2 07:00:01 node-a kernel: x", now, true)
	assert.True(t, ok)
	assert.Equal(t, now, at)

	for _, line := range []string{
		"", "Jan  2 07:00:01", "Jan  2 07:00:01 ", "Jan  2 07:00:01 node-a", "Jan 32 07:00:01 node-a kernel: x", "node-a kernel: x", "kernel: x",
		"Jan  2 07:00:01 node-a python3[1]: kernel: NVRM: a", "Jan  2 07:00:01 node-a kernel", "2026-01-02T07:00:01Z kernel: x",
	} {
		_, _, ok := syslogLine(line, now, false)
		assert.False(t, ok, line)
	}
}

func FuzzRecord(f *testing.F) {
	text, err := os.ReadFile("testdata/node.kmsg")
	require.NoError(f, err)
	for line := range strings.Lines(string(text)) {
		f.Add([]byte(line))
	}
	f.Add([]byte(`4,1,18446744073709551615,-;\x`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := parseRecord(raw)
		if err != nil {
			return
		}
		if r.stamp < 0 || len(r.text) > len(raw) {
			t.Errorf("%q: got %+v", raw, r)
		}
		m := &machine{wall: now, monotonic: time.Hour}
		c := clock{now: m.now}
		if c.arrived(r.stamp); c.time(r.stamp).After(now) {
			t.Errorf("%q is in the future", raw)
		}
	})
}

var placeForm = regexp.MustCompile(`^[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]$`)

func FuzzMessages(f *testing.F) {
	text, err := os.ReadFile("testdata/node.kmsg")
	require.NoError(f, err)
	for line := range strings.Lines(string(text)) {
		if r, err := parseRecord([]byte(line)); err == nil {
			f.Add(r.text)
		}
	}
	f.Add("NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: fallen off the bus and is not responding to commands.\x00NVRM: Xid (1:2:3): 79")
	f.Fuzz(func(t *testing.T, text string) {
		d := newDriver()
		for line := range strings.SplitSeq(text, "\x00") { // several messages in a row
			e, kind, found := d.event(line, now)
			if !found {
				continue
			}
			if kind != switchMessage && !placeForm.MatchString(e.PCIBusID) {
				t.Errorf("%q: place %q", line, e.PCIBusID)
			}
			if len(e.Detail) > maxDetail || !utf8.ValidString(e.Detail) || strings.ContainsAny(e.Detail, "\n\r\t\x00\x1b") || e.Time != now {
				t.Errorf("%q: got %+v", line, e)
			}
		}
	})
}

func FuzzSyslogLine(f *testing.F) {
	text, err := os.ReadFile("testdata/kern.log")
	require.NoError(f, err)
	for line := range strings.Lines(string(text)) {
		f.Add(strings.TrimSuffix(line, "\n"), true)
	}
	f.Fuzz(func(t *testing.T, line string, isNew bool) {
		if at, text, ok := syslogLine(line, now, isNew); ok && (at.After(now) || !strings.HasSuffix(line, text)) {
			t.Errorf("%q: got %v, %q", line, at, text)
		}
	})
}
