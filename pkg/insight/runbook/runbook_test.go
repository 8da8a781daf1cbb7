package runbook

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestRunbooksAreComplete(t *testing.T) {
	lib, err := parse(source)
	require.NoError(t, err)
	for _, r := range lib.list {
		for _, text := range []string{r.Meaning, r.Blast, r.Decision, r.Action, r.Escalation, r.Recovery} {
			assert.True(t, strings.HasSuffix(text, "."), "%s: a sentence ends with a full stop: %q", r.ID, text)
		}
		assert.LessOrEqual(t, len(r.Commands), 5, r.ID)
		for _, code := range r.XIDs {
			_, found := gpu.LookupXID(code)
			assert.True(t, found, "%s: XID %d", r.ID, code)
		}
	}
}

func TestEveryXIDHasARunbook(t *testing.T) {
	for code := range uint64(200) {
		x, found := gpu.LookupXID(code)
		id := ForXID(code)
		_, exists := Lookup(id)
		assert.True(t, exists, "XID %d: %q", code, id)
		if found && id == "xid-unknown" {
			assert.Empty(t, x.ImmediateAction, "XID %d", code)
		}
		if !found {
			assert.Equal(t, "xid-unknown", id)
		}
	}
	assert.Equal(t, "xid-79", ForXID(79))
	assert.Equal(t, "xid-reset-gpu", ForXID(62))
	assert.Equal(t, "xid-restart-app", ForXID(39))
}

// The rules of the pack, by name.
func TestEveryAlertHasARunbook(t *testing.T) {
	for _, alert := range strings.Fields(`GpuXidCritical GpuXidCriticalFallback GpuXidRepeat GpuRecoveryActionNeeded GpuUncorrectableEcc
		GpuCorrectableEccRate GpuRowRemapFailure GpuRowRemapPending GpuRowRemapUncorrectableHigh GpuPagesRetired GpuPcieReplayRate
		GpuPcieLinkDegraded GpuNvlinkErrors GpuNvlinkInactive GpuThermalSlowdownHw GpuThermalSlowdownSw GpuPowerBrake
		GpuThermalThrottleShare GpuTempMarginLow GpuMemTempHigh GpuMissing GpuMetricsStale GpuProfilingFieldsLost GpuAllocatedIdle
		GpuMemoryHeldIdle GpuZombieMemory GpuBusyButUnderfilled GpuJobStraggler GpuOomRisk ClusterGpuAlmostFull LlmTtftP95High
		LlmKvCacheFull LlmQueueLong CoolantSupplyHigh CoolantFlowLow CoolantLeak`) {
		assert.NotEmpty(t, ForAlert(alert), alert)
	}
	assert.Empty(t, ForAlert("Other"))
}

func TestBrokenRunbooksAreRefused(t *testing.T) {
	const page = "- {id: a, title: t, meaning: m., blast: b., commands: [c], decision: d., action: a., escalation: e., recovery: r.%}\n"
	with := func(more ...string) string {
		text := ""
		for _, m := range more {
			text += strings.Replace(page, "%", m, 1)
		}
		return text
	}
	for text, want := range map[string]string{
		with("", ""):                                        "a is there twice",
		with(", xids: [79], other: 1"):                      "other",
		with(", xids: [79, 79]"):                            "XID 79",
		with(", alerts: [A, A]"):                            "A is in a and a",
		strings.Replace(with(""), "id: a", "id: A", 1):      `"A"`,
		strings.Replace(with(""), "meaning: m., ", "", 1):   "no meaning",
		strings.Replace(with(""), "commands: [c], ", "", 1): "no commands",
	} {
		_, err := parse([]byte(text))
		require.ErrorContains(t, err, want)
	}
}
