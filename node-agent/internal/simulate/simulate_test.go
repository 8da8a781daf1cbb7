package simulate

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/device/devicetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is a Wednesday, 14:00 UTC.
var start = time.Date(2026, 11, 18, 14, 0, 0, 0, time.UTC)

func options(t testing.TB, change func(*Options)) Options {
	t.Helper()
	model, err := ModelNamed("h200")
	require.NoError(t, err)
	o := Options{
		Seed: 7, Node: "node-a", GPUs: 8, Model: model, Profile: Mixed, Faults: []Fault{Straggler, Thermal, ECC, XIDs},
	}
	if change != nil {
		change(&o)
	}
	return o
}

func build(t testing.TB, o Options) *Source {
	t.Helper()
	s, err := New(o, func() time.Time { return start })
	require.NoError(t, err)
	return s
}

func sample(t testing.TB, b *Board, at time.Time) []device.Values {
	t.Helper()
	values := make([]device.Values, len(b.Devices()))
	require.NoError(t, b.Sample(t.Context(), at, device.AllGroups, &device.Sample{Values: values}))
	return values
}

func TestConformance(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"mixed":     nil,
		"training":  func(o *Options) { o.Profile = Training },
		"inference": func(o *Options) { o.Profile = Inference },
		"idle":      func(o *Options) { o.Profile = Idle },
		"split":     func(o *Options) { o.MIG = o.Model.DefaultMIG },
		"geforce": func(o *Options) {
			o.Model, _ = ModelNamed("RTX4090")
			o.GPUs = 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			devicetest.Run(t, func(t *testing.T) devicetest.Harness {
				at := start
				return devicetest.Harness{
					Source: build(t, options(t, change)),
					Advance: func(d time.Duration) time.Time {
						at = at.Add(d)
						return at
					},
				}
			})
		})
	}
}

// The whole point of the simulator: what it reads depends on the time alone, not on how it was stepped there.
func TestReadingsDependOnTheTimeAlone(t *testing.T) {
	direct, stepped, slow := build(t, options(t, nil)), build(t, options(t, nil)), build(t, options(t, nil))
	end := start.Add(25 * time.Minute)
	for at := start; at.Before(end); at = at.Add(700 * time.Millisecond) {
		for _, b := range stepped.boards {
			sample(t, b, at)
		}
	}
	for at := start.Add(-6 * time.Hour); at.Before(end); at = at.Add(5 * time.Minute) {
		for _, b := range slow.boards {
			sample(t, b, at)
		}
	}
	for i := range direct.boards {
		want := sample(t, direct.boards[i], end)
		assert.Equal(t, want, sample(t, stepped.boards[i], end))
		assert.Equal(t, want, sample(t, slow.boards[i], end))
		// Going back is allowed, too.
		sample(t, direct.boards[i], end.Add(time.Hour))
		assert.Equal(t, want, sample(t, direct.boards[i], end))
	}
}

func TestNodesDiffer(t *testing.T) {
	a, b := build(t, options(t, nil)), build(t, options(t, func(o *Options) { o.Node = "node-b" }))
	c := build(t, options(t, func(o *Options) { o.Seed = 8 }))
	assert.NotEqual(t, a.boards[0].Devices()[0].UUID, b.boards[0].Devices()[0].UUID)
	assert.NotEqual(t, a.boards[0].Devices()[0].UUID, c.boards[0].Devices()[0].UUID)
	assert.NotEqual(t, sample(t, a.boards[0], start), sample(t, b.boards[0], start))
}

func TestEnergyIsPowersIntegral(t *testing.T) {
	for _, b := range build(t, options(t, nil)).boards {
		var integral float64
		const step = 100 * time.Millisecond
		before := sample(t, b, start)[0][device.Energy].Value
		at := start
		for range 6000 {
			at = at.Add(step)
			integral += sample(t, b, at)[0][device.PowerInstant].Value * step.Seconds()
		}
		energy := sample(t, b, at)[0][device.Energy].Value - before
		assert.InEpsilon(t, integral, energy, 0.01, b.Devices()[0].Name())
	}
}

func TestPhysicsHoldsForADay(t *testing.T) {
	for _, change := range []func(*Options){
		nil,
		func(o *Options) { o.Profile = Training },
		func(o *Options) { o.MIG = o.Model.DefaultMIG },
	} {
		for _, b := range build(t, options(t, change)).boards {
			m := b.model
			lastTemperature := math.NaN()
			for at := start; at.Before(start.Add(24 * time.Hour)); at = at.Add(37 * time.Second) {
				v := sample(t, b, at)[0]
				power, temperature, margin := v[device.Power].Value, v[device.Temperature].Value, v[device.TemperatureMargin].Value
				require.Greater(t, power, m.PowerIdle*0.9)
				require.Less(t, power, m.PowerLimit*1.01)
				require.InDelta(t, m.TemperatureSlowdown, temperature+margin, 1.01)
				require.LessOrEqual(t, temperature, m.TemperatureSlowdown+8, "throttling keeps the board from burning")
				require.LessOrEqual(t, v[device.SMClock].Value, m.ClockMax)
				if !math.IsNaN(lastTemperature) {
					require.LessOrEqual(t, math.Abs(temperature-lastTemperature), 45.0, "temperature has inertia")
				}
				lastTemperature = temperature
			}
		}
	}
}

// Steps of a training job dip at 1 Hz; over 15 s the dips average out.
func TestTrainingHasARhythmOfSeconds(t *testing.T) {
	s := build(t, options(t, func(o *Options) { o.Profile, o.Faults = Training, nil }))
	b := s.boards[0]
	at := settled(t, b)
	var fine, coarse []float64
	for i := range 300 {
		fine = append(fine, sample(t, b, at.Add(time.Duration(i)*time.Second))[0][device.SMActive].Value)
		if len(fine)%15 == 0 {
			coarse = append(coarse, mean(fine[len(fine)-15:]))
		}
	}
	assert.Greater(t, spread(fine), 0.3)
	assert.Less(t, spread(coarse), 0.25)
	v := sample(t, b, at)[0]
	assert.Equal(t, 1.0, v[device.Utilization].Value, "the board looks fully used while it waits")
}

// settled is a time at which a training job computes, away from its start and its checkpoints.
func settled(t *testing.T, b *Board) time.Time {
	t.Helper()
	for cell := cellAt(start); ; cell++ {
		quiet := true
		for i := range int64(40) {
			l := b.workers[0].load(cell + i)
			quiet = quiet && l.waits
		}
		if quiet {
			return time.Unix((cell+1)*cellSeconds, 0)
		}
	}
}

func TestOneStragglerIsHotSlowAndNeverWaits(t *testing.T) {
	s := build(t, options(t, func(o *Options) { o.Profile, o.Faults = Training, []Fault{Straggler} }))
	at := settled(t, s.boards[0]).Add(4 * time.Minute)
	var slow int
	for _, b := range s.boards {
		v := sample(t, b, at)[0]
		if !b.faults.straggles {
			assert.Greater(t, v[device.SMClock].Value, 0.9*b.model.ClockMax)
			continue
		}
		slow++
		assert.Less(t, v[device.SMClock].Value, 0.93*b.model.ClockMax)
		assert.LessOrEqual(t, v[device.TemperatureMargin].Value, 1.0)
		assert.Greater(t, b.state.now.loads[0].busyAt(b.state.now.clock), b.state.now.loads[0].wave.busy)
	}
	assert.Equal(t, 1, slow)
}

func TestIncidentsHappen(t *testing.T) {
	s := build(t, options(t, func(o *Options) { o.Faults = append(o.Faults, Lost) }))
	var thermal, uncorrectable, corrected, lost float64
	codes := map[uint64]int{}
	for _, b := range s.boards {
		values := make([]device.Values, 1)
		for at := start; at.Before(start.Add(8 * 24 * time.Hour)); at = at.Add(5 * time.Minute) {
			if err := b.Sample(t.Context(), at, device.AllGroups, &device.Sample{Values: values}); err != nil {
				require.ErrorIs(t, err, device.ErrLost)
				lost++
				continue
			}
			thermal = max(thermal, values[0][device.ThrottleThermal].Value)
			uncorrectable = max(uncorrectable, values[0][device.ECCUncorrected].Value)
			corrected = max(corrected, values[0][device.ECCCorrected].Value)
		}
	}
	for cell := cellAt(start); cell < cellAt(start)+week; cell++ {
		for _, e := range s.eventsIn(cell) {
			codes[e.XID]++
		}
	}
	assert.Greater(t, thermal, 600.0)
	assert.Equal(t, 1.0, uncorrectable)
	assert.Greater(t, corrected, 20.0)
	assert.InDelta(t, 6, lost, 1, "half an hour in steps of five minutes")
	assert.Equal(t, 1, codes[79])
	assert.Equal(t, 1, codes[94])
	assert.Greater(t, codes[31]+codes[13]+codes[43], 10)
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"--simulate.gpus=65: must be 0 to 64":                                       func(o *Options) { o.GPUs = 65 },
		"--simulate.profile=party: must be one of mixed, training, inference, idle": func(o *Options) { o.Profile = "party" },
		"--simulate.fault=rain: must be one of straggler, thermal, ecc, xid, lost":  func(o *Options) { o.Faults = []Fault{"rain"} },
		"--simulate.mig=9g.1gb: MIG profile \"9g.1gb\" is not like 1g.18gb":         func(o *Options) { o.MIG = []string{"9g.1gb"} },
		"--simulate.mig=4g.71gb,4g.71gb: MIG profiles 4g.71gb,4g.71gb need more than the 7 compute and 8 memory slices of a H200": func(o *Options) {
			o.MIG = []string{"4g.71gb", "4g.71gb"}
		},
	} {
		_, err := New(options(t, change), time.Now)
		assert.EqualError(t, err, want)
	}
	_, err := ModelNamed("Voodoo2")
	assert.EqualError(t, err, `model "Voodoo2" is not one of H200, H100, A100, L40S, RTX4090`)
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func spread(x []float64) float64 {
	low, high := x[0], x[0]
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	return high - low
}

func BenchmarkSample(b *testing.B) {
	s := build(b, options(b, nil))
	values := make([]device.Values, 1)
	at := start
	for b.Loop() {
		at = at.Add(time.Second)
		for _, board := range s.boards {
			if err := board.Sample(b.Context(), at, device.AllGroups, &device.Sample{Values: values}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// What is not asked for stays as it was.
func TestOnlyWhatIsAskedForIsRead(t *testing.T) {
	b := build(t, options(t, nil)).boards[0]
	into := device.Sample{Values: make([]device.Values, 1)}
	require.NoError(t, b.Sample(t.Context(), start, device.GroupsOf(device.GroupPower), &into))
	for m := range device.NumMetrics {
		assert.Equal(t, m.Group() == device.GroupPower, into.Values[0][m].OK(), "%s", m)
	}
	require.Len(t, into.Extents, 1)
	e := into.Extents[0]
	assert.True(t, e.Min <= e.Mean && e.Mean <= e.Max, "%+v", e)
}

// The list of processes, the memory that is used and the owners say the same.
func TestProcessesBelongToOwners(t *testing.T) {
	for _, change := range []func(*Options){nil, func(o *Options) { o.MIG = o.Model.DefaultMIG }} {
		s := build(t, options(t, change))
		owners := s.Owners()
		assert.NotEmpty(t, owners)
		for _, b := range s.boards {
			values := sample(t, b, start)
			processes, err := b.Processes(t.Context(), nil)
			require.NoError(t, err)
			assert.Len(t, processes, int(values[0][device.Processes].Value))
			sum := 0.0
			for _, p := range processes {
				sum += p.Memory.Value
				name, _, owner, ok := s.Describe(p.PID)
				require.True(t, ok)
				assert.NotEmpty(t, name)
				assert.Contains(t, owners, *owner)
				assert.Equal(t, p.GPUInstance, owner.GPUInstance)
			}
			assert.Equal(t, values[0][device.MemoryUsed].Value, sum)
		}
		_, _, _, ok := s.Describe(1)
		assert.False(t, ok)
	}
}
