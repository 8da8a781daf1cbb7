package health

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

// mostXID is above every code of NVIDIA's catalogue.
const mostXID = 1024

// allScripts are the texts of all scenarios.
func allScripts(t *testing.T) map[string]string {
	t.Helper()
	entries, err := scenarios.ReadDir("testdata")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".test") {
			text, err := scenarios.ReadFile("testdata/" + entry.Name())
			require.NoError(t, err)
			texts[entry.Name()] = string(text)
		}
	}
	return texts
}

// Every class of XIDs, by what NVIDIA says to do first and by whose it is, has a scenario.
func TestEveryClassOfXIDsHasAScenario(t *testing.T) {
	class := func(code uint64) string {
		x, _ := gpu.LookupXID(code)
		return fmt.Sprintf("%s of %s", x.ImmediateAction, x.Owner)
	}
	seen := map[string]bool{}
	number := regexp.MustCompile(`\bxid (\d+)`)
	for _, text := range allScripts(t) {
		for _, found := range number.FindAllStringSubmatch(text, -1) {
			code, err := strconv.ParseUint(found[1], 10, 32)
			require.NoError(t, err)
			seen[class(code)] = true
		}
	}
	for code := range uint64(mostXID) {
		if x, known := gpu.LookupXID(code); known && x.Description != "" {
			assert.True(t, seen[class(code)], "XID %d: no scenario has one of %s", code, class(code))
		}
	}
}

// Every limit has scenarios on both sides of its edge: one fails when the limit is a little lower, and one when it is a little higher.
func TestEveryLimitHasScenariosOnBothSides(t *testing.T) {
	scripts := allScripts(t)
	for name, nudge := range nudges() {
		for _, way := range []float64{-1, 1} {
			limits := DefaultLimits()
			nudge(&limits, way)
			failed := false
			for _, text := range scripts {
				checks, err := insighttest.Parse(text, evals(limits))
				require.NoError(t, err)
				for _, c := range checks {
					failed = failed || c.Verify() != nil
				}
			}
			assert.True(t, failed, "no scenario minds that %s is moved by a step of %+g", name, way)
		}
	}
}

// nudges move each limit by as little as matters: a step of a minute where it is a time.
func nudges() map[string]func(l *Limits, by float64) {
	add := func(of func(*Limits) *float64, step float64) func(*Limits, float64) {
		return func(l *Limits, by float64) { *of(l) += by * step }
	}
	whole := func(of func(*Limits) *int) func(*Limits, float64) {
		return func(l *Limits, by float64) { *of(l) += int(by) }
	}
	return map[string]func(*Limits, float64){
		"busy":                   add(func(l *Limits) *float64 { return &l.Busy }, 0.02),
		"correctedPerHour":       add(func(l *Limits) *float64 { return &l.CorrectedPerHour }, 5),
		"correctedMinutes":       add(func(l *Limits) *float64 { return &l.CorrectedMinutes }, 2),
		"uncorrectedMinutes":     add(func(l *Limits) *float64 { return &l.UncorrectedMinutes }, 1),
		"remapPendingMinutes":    add(func(l *Limits) *float64 { return &l.RemapPendingMinutes }, 1),
		"remappedRows":           add(func(l *Limits) *float64 { return &l.RemappedRows }, 1),
		"retiredPages":           add(func(l *Limits) *float64 { return &l.RetiredPages }, 1),
		"retiredDoubleBit":       add(func(l *Limits) *float64 { return &l.RetiredDoubleBit }, 1),
		"pcieReplayMinutes":      add(func(l *Limits) *float64 { return &l.PCIeReplayMinutes }, 1),
		"pcieLinkMinutes":        add(func(l *Limits) *float64 { return &l.PCIeLinkMinutes }, 1),
		"nvlinkErrors":           add(func(l *Limits) *float64 { return &l.NVLinkErrors }, 1),
		"nvlinkErrorMinutes":     add(func(l *Limits) *float64 { return &l.NVLinkErrorMinutes }, 1),
		"nvlinkCrcPerSecond":     add(func(l *Limits) *float64 { return &l.NVLinkCRCPerSecond }, 1),
		"nvlinkInactiveMinutes":  add(func(l *Limits) *float64 { return &l.NVLinkInactiveMinutes }, 1),
		"fabricMinutes":          add(func(l *Limits) *float64 { return &l.FabricMinutes }, 1),
		"marginCelsius":          add(func(l *Limits) *float64 { return &l.MarginCelsius }, 0.5),
		"marginCriticalCelsius":  add(func(l *Limits) *float64 { return &l.MarginCriticalCelsius }, 0.5),
		"marginMinutes":          add(func(l *Limits) *float64 { return &l.MarginMinutes }, 1),
		"memoryWarnCelsius":      add(func(l *Limits) *float64 { return &l.MemoryWarnCelsius }, 1),
		"memoryCriticalCelsius":  add(func(l *Limits) *float64 { return &l.MemoryCriticalCelsius }, 1),
		"memoryMinutes":          add(func(l *Limits) *float64 { return &l.MemoryMinutes }, 1),
		"hardwareThermalMinutes": add(func(l *Limits) *float64 { return &l.HardwareThermalMinutes }, 1),
		"softwareThermalMinutes": add(func(l *Limits) *float64 { return &l.SoftwareThermalMinutes }, 1),
		"powerBrakeMinutes":      add(func(l *Limits) *float64 { return &l.PowerBrakeMinutes }, 1),
		"slowdownMinutes":        add(func(l *Limits) *float64 { return &l.SlowdownMinutes }, 1),
		"thermalShare":           add(func(l *Limits) *float64 { return &l.ThermalShare }, 0.005),
		"thermalShareMinutes":    add(func(l *Limits) *float64 { return &l.ThermalShareMinutes }, 1),
		"powerCapShare":          add(func(l *Limits) *float64 { return &l.PowerCapShare }, 0.05),
		"missingMinutes":         add(func(l *Limits) *float64 { return &l.MissingMinutes }, 1),
		"staleMinutes":           add(func(l *Limits) *float64 { return &l.StaleMinutes }, 1),
		"profilingLostMinutes":   add(func(l *Limits) *float64 { return &l.ProfilingLostMinutes }, 1),
		"profilingLostBusyRatio": add(func(l *Limits) *float64 { return &l.ProfilingLostBusyRatio }, 0.02),
		"exporterMinutes":        add(func(l *Limits) *float64 { return &l.ExporterMinutes }, 1),
		"xidHours":               add(func(l *Limits) *float64 { return &l.XIDHours }, 1),
		"xidRepeats":             whole(func(l *Limits) *int { return &l.XIDRepeats }),
		"xidFatal":               whole(func(l *Limits) *int { return &l.XIDFatal }),
		"xidFollowMinutes":       add(func(l *Limits) *float64 { return &l.XIDFollowMinutes }, 1),
		"togetherMinutes":        add(func(l *Limits) *float64 { return &l.TogetherMinutes }, 1),
	}
}
