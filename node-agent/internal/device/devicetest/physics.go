package devicetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// rounding is how far numbers that are rounded apart may miss each other, in bytes.
const rounding = 1

func checkMemory(t *testing.T, d gpu.Device, v *device.Values) {
	t.Helper()
	total, used, free, reserved := v[device.MemoryTotal], v[device.MemoryUsed], v[device.MemoryFree], v[device.MemoryReserved]
	if total.OK() && used.OK() && free.OK() && reserved.OK() {
		assert.InDelta(t, total.Value, used.Value+free.Value+reserved.Value, rounding, "memory of %s", d.Name())
	}
	total, used, free = v[device.BAR1Total], v[device.BAR1Used], v[device.BAR1Free]
	if total.OK() && used.OK() && free.OK() {
		assert.InDelta(t, total.Value, used.Value+free.Value, rounding, "BAR1 of %s", d.Name())
	}
	if least, most := v[device.PowerLimitMin], v[device.PowerLimitMax]; least.OK() && most.OK() {
		assert.LessOrEqual(t, least.Value, most.Value, "power limits of %s", d.Name())
	}
	if up, all := v[device.NVLinkLinksActive], v[device.NVLinkLinks]; up.OK() && all.OK() {
		assert.LessOrEqual(t, up.Value, all.Value, "links of %s", d.Name())
	}
}

// throttles are the shares of time that the clocks are held down for a reason.
var throttles = []device.Metric{
	device.ThrottlePower, device.ThrottleThermal, device.ThrottleSyncBoost, device.ThrottleBoardLimit, device.ThrottleLowUtilization,
	device.ThrottleReliability, device.ThrottleApplicationClocks, device.ThrottleBaseClocks, device.ThrottleSoftwareThermal,
	device.ThrottleHardwareThermal, device.ThrottlePowerBrake,
}

// physics watches boards for a minute and asks what holds for every GPU there is.
func physics(t *testing.T, h Harness) {
	const seconds = 60
	boards := open(t, h)
	first, last := make([]device.Values, len(boards)), make([]device.Values, len(boards))
	joules := make([]float64, len(boards)) // of the power that was read
	var began, ended time.Time
	for second := range seconds + 1 {
		at := h.Advance(time.Second)
		for i, b := range boards {
			sample := device.Sample{Values: make([]device.Values, len(b.Devices()))}
			require.NoError(t, b.Sample(t.Context(), at, device.AllGroups, &sample))
			checkInstances(t, b, sample.Values)
			if second == 0 {
				first[i], began = sample.Values[0], at
			} else {
				joules[i] += (sample.Values[0][device.Power].Value + last[i][device.Power].Value) / 2 * at.Sub(ended).Seconds()
			}
			last[i] = sample.Values[0]
		}
		ended = at
	}
	elapsed := ended.Sub(began).Seconds()
	for i, b := range boards {
		checkGrowth(t, b.Devices()[0].Name(), &first[i], &last[i], joules[i], elapsed)
	}
}

func checkGrowth(t *testing.T, name string, first, last *device.Values, joules, elapsed float64) {
	t.Helper()
	if from, to := first[device.Energy], last[device.Energy]; from.OK() && to.OK() && last[device.Power].OK() {
		// Power is an average over a second, and energy is counted in steps.
		assert.InEpsilon(t, joules, to.Value-from.Value, 0.1, "energy of %s is what its power adds up to", name)
	}
	for _, m := range throttles {
		if from, to := first[m], last[m]; from.OK() && to.OK() {
			assert.LessOrEqual(t, (to.Value-from.Value)/elapsed, 1.01, "%s of %s grows faster than time", m, name)
		}
	}
}

// checkInstances compares MIG instances with their board.
func checkInstances(t *testing.T, b device.Board, values []device.Values) {
	t.Helper()
	for _, m := range []device.Metric{device.MemoryTotal, device.MemoryUsed} {
		sum := 0.0
		for i := range values[1:] {
			sum += values[i+1][m].Value
		}
		if whole := values[0][m]; whole.OK() {
			assert.LessOrEqual(t, sum, whole.Value+rounding, "%s of the instances of %s", m, b.Devices()[0].Name())
		}
	}
}

func processes(t *testing.T, h Harness) {
	for _, b := range open(t, h) {
		name := b.Devices()[0].Name()
		instances := map[string]bool{"": true}
		for _, d := range b.Devices() {
			instances[d.GPUInstance] = true
		}
		sample := device.Sample{Values: make([]device.Values, len(b.Devices()))}
		for range 10 {
			require.NoError(t, b.Sample(t.Context(), h.Advance(time.Second), device.GroupsOf(device.GroupMemory), &sample))
			kept := device.Process{PID: -1}
			list, err := b.Processes(t.Context(), []device.Process{kept})
			if err != nil {
				assert.True(t, device.StateOf(err) == gpu.NotSupported || device.StateOf(err) == gpu.NoPermission, "%s: %v", name, err)
				continue
			}
			require.NotEmpty(t, list)
			assert.Equal(t, kept, list[0], "the list is appended to")
			checkProcesses(t, name, list[1:], instances, sample.Values[0][device.MemoryUsed], sample.Values[0][device.MemoryReserved])
		}
	}
}

func checkProcesses(t *testing.T, name string, list []device.Process, instances map[string]bool, used, reserved gpu.Reading) {
	t.Helper()
	type id struct {
		pid      int
		gpu, sub string
	}
	seen := map[id]bool{}
	sum := 0.0
	for _, p := range list {
		key := id{p.PID, p.GPUInstance, p.ComputeInstance}
		assert.False(t, seen[key], "process %d of %s is there twice", p.PID, name)
		seen[key] = true
		assert.Positive(t, p.PID)
		assert.Contains(t, []device.ProcessKind{device.Compute, device.MPS, device.Graphics}, p.Kind)
		assert.True(t, instances[p.GPUInstance], "process %d uses instance %s, which %s does not have", p.PID, p.GPUInstance, name)
		for _, share := range []gpu.Reading{p.SM, p.MemoryActivity, p.Encoder, p.Decoder} {
			assert.GreaterOrEqual(t, share.Value, 0.0)
			assert.LessOrEqual(t, share.Value, 1.0, "share of process %d of %s", p.PID, name)
			assert.True(t, share.OK() || share.Value == 0)
		}
		sum += p.Memory.Value
	}
	if used.OK() {
		assert.LessOrEqual(t, sum, used.Value+reserved.Value+rounding, "memory of all processes of %s", name)
	}
}

func facts(t *testing.T, h Harness) {
	for _, b := range open(t, h) {
		f := b.Facts()
		assert.GreaterOrEqual(t, f.Minor, -1)
		assert.True(t, f.MemoryBusBits == -1 || f.MemoryBusBits > 0, "what is not known is -1: %d", f.MemoryBusBits)
		assert.True(t, f.Cores == -1 || f.Cores > 0, "what is not known is -1: %d", f.Cores)
		instances := map[string]bool{}
		for _, d := range b.Devices()[1:] {
			instances[d.GPUInstance] = true
		}
		for id, place := range f.Placements {
			assert.True(t, instances[id], "a placement of instance %s, which is not there", id)
			assert.Positive(t, place.Size)
			assert.GreaterOrEqual(t, place.Start, 0)
		}
		assert.Equal(t, f, b.Facts(), "facts do not change")
	}
}
