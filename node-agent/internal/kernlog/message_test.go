package kernlog

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

func TestFormsOfAnXID(t *testing.T) {
	const place = "00000000:1A:00.0"
	python := process{pid: 1234, name: "python3"}
	for text, want := range map[string]message{
		"NVRM: Xid (PCI:0000:1a:00): 79, pid=1234, name=python3, GPU has fallen off the bus.": {
			address: place, code: 79, process: python, text: "GPU has fallen off the bus.",
		},
		"NVRM: Xid (0000:1a:00): 14, Channel 00000001":                     {address: place, code: 14, text: "Channel 00000001"},
		"NVRM: Xid (PCI:0000:1a:00.0): 31, Ch 00000008":                    {address: place, code: 31, text: "Ch 00000008"},
		"NVRM: Xid (PCI:00000000:1A:00.1): 31, Ch 00000008":                {address: "00000000:1A:00.1", code: 31, text: "Ch 00000008"},
		"NVRM: Xid (PCI:00010000:c1:1f): 62, 0(0000) 00000000":             {address: "00010000:C1:1F.0", code: 62, text: "0(0000) 00000000"},
		"NVRM: Xid (PCI:0000:1a:00): 79, pid=1234, GPU has fallen.":        {address: place, code: 79, process: process{pid: 1234}, text: "GPU has fallen."},
		"NVRM: Xid (PCI:0000:1a:00): 8, pid='<unknown>', name=<unknown>, ": {address: place, code: 8},
		"NVRM: Xid (PCI:0000:1a:00): 8, pid=<unknown>, name=<unknown>":     {address: place, code: 8},
		"NVRM: Xid (PCI:0000:1a:00): 8":                                    {address: place, code: 8},
		"NVRM: Xid (PCI:0000:1a:00): 8, pid=4294967296, name=x, y":         {address: place, code: 8, process: process{name: "x"}, text: "y"},
		"NVRM: Xid (PCI:0000:1a:00): 4294967295, pid=7194, x":              {address: place, code: 4294967295, process: process{pid: 7194}, text: "x"},
		"NVRM: Xid (PCI:0000:1a:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No": {
			address: place, code: 94, gpuInstance: "5", process: process{pid: 7194}, text: "Contained: CE User Channel (0x9). RST: No, D-RST: No",
		},
		"NVRM: Xid (PCI:0000:1a:00 GPU-I:00 GPU-CI:10): 43, pid=1234, name=python3, Ch 1": {
			address: place, code: 43, gpuInstance: "0", computeInstance: "10", process: python, text: "Ch 1",
		},
		"NVRM: Xid (PCI:0000:1a:00 FUTURE:x9): 43, Ch 1": {address: place, code: 43, text: "Ch 1"},
	} {
		want.kind = xidMessage
		assert.Equal(t, want, parseMessage(text), text)
	}
	for _, text := range []string{
		"NVRM: Xid", "NVRM: Xid (PCI:): 79, x", "NVRM: Xid (PCI:0000:1a): 79, x", "NVRM: Xid (PCI:000000000:1a:00): 79, x", "NVRM: Xid (PCI:0000:1a:00.9): 79, x",
		"NVRM: Xid (PCI:0000:1a:00): -1, x", "NVRM: Xid (PCI:0000:1a:00): 18446744073709551616, x", "NVRM: Xid (PCI:0000:1a:00): 79.5, x",
		"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): garbled, Fatal", "NVRM: GPU 1:2: GPU has fallen off the bus.",
	} {
		assert.Equal(t, message{kind: notUnderstood}, parseMessage(text), text)
	}
	for _, text := range []string{"", "NVRM: ", "NVRM: loading", "nvidia-nvswitch0: open (major=235)", "EXT4-fs (sda1): mounted", "NVRM: GPU at PCI:0000:1a:00: GPU-1"} {
		assert.Equal(t, message{}, parseMessage(text), text)
	}
}

func TestNVLink5(t *testing.T) {
	m := parseMessage("NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 " +
		"(0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)")
	require.NotNil(t, m.link)
	assert.Equal(t, nvlink{
		unit: "RLW_RXPIPE", link: 13, registers: "XC0 i0 0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004",
	}, *m.link)
	assert.Equal(t, process{pid: 876767, name: "ray::WorkerDict"}, m.process)
	assert.Equal(t, "00000018:01:00.0", m.address)

	m = parseMessage("NVRM: Xid (PCI:0008:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000)")
	require.NotNil(t, m.link)
	assert.Equal(t, nvlink{unit: "NETIR_LINK_EVT", fatal: true, link: 8, registers: "XC0 i0 0x004505c6 0x00000000"}, *m.link)

	// A line that was cut off is still an XID, in the driver's own words.
	m = parseMessage("NVRM: Xid (PCI:0018:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406")
	assert.Nil(t, m.link)
	assert.Equal(t, "NETIR Fatal XC0 i0 Link -1 (0x000fe406", m.detail())
}

// D01, D02: XID 79 is one event, with an Xid line or without, in either order.
func TestAGPUThatFellOffTheBusIsOneEvent(t *testing.T) {
	const (
		line     = "NVRM: Xid (PCI:0000:1a:00): 79, pid=1234, name=python3, GPU has fallen off the bus."
		sentence = "NVRM: GPU 0000:1a:00.0: GPU has fallen off the bus."
		older    = "NVRM: GPU at PCI:0000:1a:00.0 has fallen off the bus."
		probed   = "NVRM: The NVIDIA GPU 0000:1a:00.0\nNVRM: (PCI ID: 10de:2335) installed in this system has\nNVRM: fallen off the bus and is not responding to commands."
		oneLine  = "NVRM: The NVIDIA GPU 0000:1a:00.0 (PCI ID: 10de:1e07) installed in this system has fallen off the bus and is not responding to commands."
		other    = "NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus."
	)
	lines := strings.Split(probed, "\n")
	for name, tc := range map[string]struct {
		texts []string
		apart time.Duration
		want  int
	}{
		"the line alone":                  {[]string{line}, 0, 1},
		"a sentence alone":                {[]string{sentence}, 0, 1},
		"an older sentence":               {[]string{older}, 0, 1},
		"at the start of the driver":      {[]string{probed}, 0, 1},
		"in one line":                     {[]string{oneLine}, 0, 1},
		"line by line":                    {lines, 0, 1},
		"between others":                  {[]string{lines[0], "usb 1-1: new device", lines[1], lines[2]}, 0, 1},
		"both":                            {[]string{line, sentence, probed}, time.Second, 1},
		"both, the other way round":       {[]string{sentence, line}, time.Second, 1},
		"with more lines":                 {[]string{sentence, sentence, line, probed}, time.Second, 1},
		"again and again, while probed":   {[]string{probed, probed, probed, probed, probed}, 4 * time.Second, 1},
		"twice by itself":                 {[]string{line, line}, time.Second, 2},
		"once more after the sentence":    {[]string{sentence, line, line}, time.Second, 2},
		"twice around the sentence":       {[]string{line, sentence, line}, time.Second, 2},
		"long after":                      {[]string{line, sentence}, sameFall, 2},
		"two of them":                     {[]string{sentence, other}, 0, 2},
		"an end without a beginning":      {lines[1:], 0, 0},
		"a beginning that is forgotten":   {[]string{lines[0], "NVRM: a", "NVRM: b", "NVRM: c", "NVRM: d", lines[2]}, 0, 0},
		"another sentence with the words": {[]string{"NVRM: a GPU has fallen off the bus"}, 0, 0},
	} {
		d, at := newDriver(), now
		var events []device.Event
		for _, text := range tc.texts {
			if e, _, found := d.event(text, at); found {
				events = append(events, e)
			}
			at = at.Add(tc.apart)
		}
		require.Len(t, events, tc.want, name)
		for _, e := range events {
			assert.Equal(t, device.EventXID, e.Kind, name)
			assert.EqualValues(t, 79, e.XID, name)
			assert.Contains(t, e.Detail, "GPU has fallen off the bus", name)
		}
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	d := newDriver()
	for domain := range 2 * maxGPUs {
		place := "NVRM: GPU 0000:" + hex(domain/32) + ":" + hex(domain%32)
		_, _, found := d.event(place+".0: GPU has fallen off the bus.", now)
		assert.True(t, found)
		d.event(strings.Replace(place, "GPU ", "GPU at ", 1)+": GPU-4d1f8a77-2c10-4a6e-9b2a-5f0f6f3b7c21", now)
	}
	assert.Len(t, d.falls, maxGPUs)
	assert.Len(t, d.uuids, maxGPUs)
}

func hex(n int) string { return string("0123456789abcdef"[n/16]) + string("0123456789abcdef"[n%16]) }

func TestDetailIsOneLineForPeople(t *testing.T) {
	m := message{kind: xidMessage, text: "a\n\tb\u202ec\xff\x00 " + strings.Repeat("é", maxDetail)}
	got := m.detail()
	assert.True(t, strings.HasPrefix(got, "a  b c\uFFFD  é"), got)
	assert.LessOrEqual(t, len(got), maxDetail)
	assert.True(t, utf8.ValidString(got))
	assert.True(t, strings.HasSuffix(got, "é…"), got)
}
