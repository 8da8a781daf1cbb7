package health

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/runbook"
	"github.com/warpwatch/warpwatch/pkg/insight/sku"
)

func TestDefaultLimitsAreValid(t *testing.T) {
	require.NoError(t, DefaultLimits().Validate())
	grid, events := DefaultLimits().Ranges()
	assert.Equal(t, 2*time.Hour, grid)
	assert.Equal(t, 24*time.Hour, events)
}

func TestFieldsAreInTheCatalogue(t *testing.T) {
	metrics, err := catalog.Load()
	require.NoError(t, err)
	for _, f := range Fields() {
		m, found := metrics.Metric(f.Metric)
		assert.True(t, found, f.Metric)
		if f.Of == insight.Rise || f.Of == insight.Total {
			assert.Equal(t, catalog.Counter, m.Kind, f.Metric)
		}
	}
}

func TestLimitsSayWhatIsWrong(t *testing.T) {
	for part, want := range map[string]string{
		`{"busy": 2}`: "busy: 2 must be from 0 to 1", `{"missingMinutes": -1}`: "missingMinutes", `{"xidHours": 0}`: "xidHours",
		`{"marginCelsius": -5}`: "marginCelsius: -5", `{"memoryWarnCelsius": 120}`: "memoryWarnCelsius: 120",
		`{"models": {"H1000": {}}}`:                          "models.H1000: the table of models has no such model",
		`{"models": {"H100": {"nvlinks": -1}}}`:              "models.H100.nvlinks",
		`{"models": {"H100": {"memoryWarnCelsius": 150}}}`:   "models.H100.memoryWarnCelsius: 150",
		`{"models": {"H100": {"marginCriticalCelsius": 9}}}`: "models.H100.marginCelsius: 3",
		`{"other": 1}`: "other", `[]`: "read limits",
	} {
		_, err := DefaultLimits().Merge(json.RawMessage(part))
		require.ErrorContains(t, err, want, part)
	}
	_, err := Options{Least: "bad"}.Resolve(DefaultLimits())
	require.ErrorContains(t, err, `least: "bad"`)
}

func TestLimitsMergeFieldByField(t *testing.T) {
	base := DefaultLimits()
	merged, err := Options{Limits: json.RawMessage(`{"marginCelsius": 4, "models": {"B200": {"marginCelsius": 6}, "H100": {"nvlinks": 12}}}`)}.Resolve(base)
	require.NoError(t, err)
	assert.InDelta(t, 4, merged.MarginCelsius, 0)
	assert.InDelta(t, 3, base.MarginCelsius, 0)
	assert.Len(t, base.Models, 1)
	b200, h100 := merged.of("NVIDIA B200"), merged.of("NVIDIA H100 80GB HBM3")
	assert.InDelta(t, 6, b200.margin, 0)
	assert.InDelta(t, -3, b200.marginCritical, 0, "what was not given stays")
	assert.InDelta(t, 4, h100.margin, 0)
	assert.InDelta(t, 12, h100.nvlinks, 0)
	assert.InDelta(t, 95, h100.memoryWarn, 0)
}

func TestReplayLimitsAreDCGMs(t *testing.T) {
	for _, c := range []struct{ generation, width, want float64 }{
		{1, 16, 3}, {2, 16, 5}, {3, 16, 8}, {4, 16, 16}, {5, 16, 31}, {6, 16, 62}, {5, 8, 16}, {7, 16, 0}, {5, 0, 0}, {5, math.NaN(), 0},
	} {
		assert.InDelta(t, c.want, replayPerMinute(c.generation, c.width), 0, "Gen%g x%g", c.generation, c.width)
	}
}

func TestVirtualModels(t *testing.T) {
	for model, want := range map[string]bool{
		"GRID A100-10C": true, "NVIDIA L40S-48Q": true, "NVIDIA A40-4A": true, "NVIDIA H100 80GB HBM3": false, "NVIDIA A100-SXM4-80GB": false,
		"": false, "C": false, "1C": false, "A100-PCIE-40GB": false, "NVIDIA H100 PCIe": false,
	} {
		assert.Equal(t, want, virtual(model), model)
	}
	for _, s := range sku.All() {
		assert.False(t, virtual("NVIDIA "+s.Name()), s.Name())
	}
}

// Every code has a severity, an action and a runbook; only what NVIDIA wants a reset or a restart for is critical.
func TestEveryXID(t *testing.T) {
	p := &pass{limits: DefaultLimits()}
	b := &board{pass: p}
	for code := range uint64(256) {
		x, known := gpu.LookupXID(code)
		o := occurrence{code: code, xid: x, known: known, count: 1, alone: 1}
		severity, action := b.xidSeverity(&o)
		assert.NotEmpty(t, action, "%d", code)
		assert.NotEmpty(t, runbook.ForXID(code))
		assert.Equal(t, !known, severity == insight.Unknown, "%d", code)
		if known {
			assert.Equal(t, grave(x), severity == insight.Critical, "%d", code)
			if x.Owner == gpu.XIDUser && code != 94 {
				assert.Equal(t, insight.Info, severity, "%d: one fault of an application", code)
			}
		}
	}
}

func TestFirmwareOfTheFleet(t *testing.T) {
	grid, _ := fleet(4, 4, time.Minute)
	vbios := map[gpu.Identity]string{}
	for i, s := range grid.Subjects {
		vbios[s.Parent()] = "96.00.1"
		if i == 2 {
			vbios[s.Parent()] = "96.00.0"
		}
	}
	result := Judge(Input{Grid: grid, VBIOS: vbios}, DefaultLimits())
	assert.Equal(t, 2, result.Verdicts[0].Subject)
	assert.Equal(t, "vbios-mismatch", result.Verdicts[0].Reasons[0].ID)
	assert.Equal(t, insight.Info, result.Worst())
	assert.Len(t, result.AtLeast(Options{Least: "info"}).Verdicts, 1)
	assert.Empty(t, result.AtLeast(Options{Least: "warning"}).Verdicts)
	assert.Len(t, result.Verdicts, 4)
}

func TestNothingToJudge(t *testing.T) {
	assert.Equal(t, insight.OK, Judge(Input{}, DefaultLimits()).Worst())
	grid := insight.NewGrid(time.UnixMilli(0), time.UnixMilli(0), time.Minute, []insight.Subject{{Device: gpu.Device{Identity: gpu.Identity{Node: "n", UUID: "u"}}}})
	result := Judge(Input{Grid: grid}, DefaultLimits())
	assert.Equal(t, insight.Unknown, result.Worst(), "no time at all is no health")
	assert.NotEmpty(t, result.Verdicts[0].Missing)
}

// fleet is a healthy fleet of H100s, eight to a node, that trains: at its power limit, with slow links at idle, a corrected
// error and a replay now and then, and users' faults.
func fleet(gpus, steps int, step time.Duration) (*insight.Devices, []gpu.Event) {
	random := rand.New(rand.NewPCG(1, 2))
	subjects := make([]insight.Subject, gpus)
	for i := range subjects {
		subjects[i] = insight.Subject{Device: gpu.Device{
			Identity: gpu.Identity{Cluster: "c", Node: fmt.Sprintf("node-%04d", i/8), UUID: fmt.Sprintf("GPU-%06d", i)},
			Index:    i % 8, Model: "NVIDIA H100 80GB HBM3", Driver: "570.1",
		}}
	}
	from := time.UnixMilli(1_700_000_000_000)
	grid := insight.NewGrid(from, from.Add(time.Duration(steps)*step), step, subjects)
	fields := fieldList()
	var events []gpu.Event
	for i := range subjects {
		set := func(c column, value func(s int, busy bool) float64) {
			values := make([]float64, steps)
			for s := range values {
				values[s] = value(s, (s+i)%37 > 4)
			}
			grid.Set(fields[c], i, values)
		}
		either := func(busy, idle float64) func(int, bool) float64 {
			return func(_ int, b bool) float64 {
				if b {
					return busy
				}
				return idle
			}
		}
		same := func(v float64) func(int, bool) float64 { return either(v, v) }
		rarely := func(share, v float64) func(int, bool) float64 {
			return func(int, bool) float64 {
				if random.Float64() < share {
					return v
				}
				return 0
			}
		}
		set(temperature, func(_ int, b bool) float64 { return either(66, 34)(0, b) + random.Float64()*4 })
		set(power, func(_ int, b bool) float64 { return either(690, 90)(0, b) + random.Float64()*9 })
		set(utilization, either(0.99, 0))
		set(graphicsActive, either(0.97, 0))
		set(smActive, either(0.8, 0))
		set(memoryUsed, either(6e10, 1e9))
		set(margin, func(_ int, b bool) float64 { return either(16, 48)(0, b) + random.Float64()*4 })
		set(memoryTemperature, either(82, 50))
		set(reasonBits, either(4, 1))
		set(reasonAnyBits, func(_ int, b bool) float64 { return either(4, 9)(0, b) })
		set(thermalShare, rarely(0.01, 0.04))
		set(powerShare, either(0.95, 0))
		set(generation, either(5, 1))
		set(width, same(16))
		set(replay, rarely(0.02, 2))
		set(corrected, rarely(0.01, 1))
		for _, c := range []column{recovery, xidLast, uncorrected, remapPending, remapFailure, remappedRise, nvlinkReplay, nvlinkRecovery, nvlinkCRC, licence} {
			set(c, same(0))
		}
		set(remappedUncorrectable, same(2))
		set(generationMax, same(5))
		set(widthMax, same(16))
		set(nvlinks, same(18))
		set(nvlinksActive, same(18))
		set(fabricState, same(3))
		set(fabricStatus, same(0))
		set(fabricHealth, same(0xaa))
		set(dcgmHealth, either(10, 0))
		if random.Float64() < 0.05 && steps > 2 {
			at := from.Add(time.Duration(random.IntN(steps)) * step)
			code := []uint64{13, 31, 43, 45, 63}[random.IntN(5)]
			events = append(events, gpu.Event{Time: at, Kind: gpu.KindXID, XID: code, Device: subjects[i].Device})
		}
	}
	return grid, events
}

// Seven days of a healthy fleet, judged every hour with two hours behind it: nobody is called.
func TestNoPageInAHealthyWeek(t *testing.T) {
	const gpus, hours = 64, 7 * 24
	grid, events := fleet(gpus, hours*12, 5*time.Minute)
	for hour := 2; hour <= hours; hour++ {
		window := insight.NewGrid(time.UnixMilli(grid.Times[(hour-2)*12]), time.UnixMilli(grid.Times[(hour-2)*12]).Add(2*time.Hour), grid.Step, grid.Subjects)
		for _, f := range Fields() {
			for i := range grid.Subjects {
				if values := grid.Values(f, i); values != nil {
					window.Set(f, i, slices.Clone(values[(hour-2)*12:hour*12]))
				}
			}
		}
		result := Judge(Input{Grid: window, Events: events, EventsKnown: true}, DefaultLimits())
		require.Empty(t, result.Incidents, "hour %d", hour)
		require.LessOrEqual(t, result.Worst().Rank(), insight.Info.Rank(), "hour %d: %v", hour, result.Verdicts[0].Reasons)
		require.Equal(t, insight.High, result.Verdicts[0].Confidence)
	}
}

// Whatever is in a grid, answers hold together.
func TestAnyGridHasAnAnswer(t *testing.T) {
	fields := Fields()
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.IntRange(0, 40).Draw(r, "steps")
		step := time.Duration(rapid.IntRange(1, 3600).Draw(r, "step")) * time.Second
		subjects := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) insight.Subject {
			return insight.Subject{Device: gpu.Device{
				Identity: gpu.Identity{
					Node: rapid.SampledFrom([]string{"n1", "n2"}).Draw(r, "node"), UUID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "uuid"),
					GPUInstance: rapid.SampledFrom([]string{"", "", "1", "2"}).Draw(r, "instance"),
				},
				Model: rapid.SampledFrom([]string{"", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "GRID A100-10C"}).Draw(r, "model"),
			}}
		}), 0, 6).Draw(r, "subjects")
		from := time.UnixMilli(1_700_000_000_000)
		grid := insight.NewGrid(from, from.Add(time.Duration(steps)*step), step, subjects)
		value := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-5, 300), rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1), math.MaxFloat64, -math.MaxFloat64}))
		for i := range subjects {
			for range rapid.IntRange(0, 12).Draw(r, "fields") {
				values := rapid.SliceOfN(value, steps, steps).Draw(r, "values")
				grid.Set(rapid.SampledFrom(fields).Draw(r, "field"), i, values)
			}
		}
		var events []gpu.Event
		for range rapid.IntRange(0, 6).Draw(r, "events") {
			if len(subjects) == 0 {
				break
			}
			events = append(events, gpu.Event{
				Time: from.Add(time.Duration(rapid.IntRange(-90_000, 90_000).Draw(r, "at")) * time.Second),
				Kind: rapid.SampledFrom([]string{gpu.KindXID, gpu.KindXID, gpu.KindLost, gpu.KindReturned, "new"}).Draw(r, "kind"),
				XID:  rapid.SampledFrom([]uint64{0, 13, 31, 43, 45, 48, 62, 63, 64, 79, 94, 154, 171, 172, 999}).Draw(r, "xid"), Device: rapid.SampledFrom(subjects).Draw(r, "device").Device,
			})
		}
		nodes := []NodeState{{
			Node: "n1", Exporter: rapid.SampledFrom([]Presence{NotLooked, Up, Down}).Draw(r, "exporter"),
			GPUs: rapid.IntRange(0, 9).Draw(r, "gpus"), Rack: "r", Coolant: rapid.SampledFrom([]string{"", "leak"}).Draw(r, "coolant"),
		}, {Node: "n3", Power: "feed"}}
		result := Judge(Input{Grid: grid, Events: events, Nodes: nodes}, DefaultLimits())
		checkResult(t, result)
		finite(r, result)
		require.Len(r, result.Verdicts, len(subjects))
		seen := make([]bool, len(subjects))
		for _, v := range result.Verdicts {
			require.False(r, seen[v.Subject], "one verdict each")
			seen[v.Subject] = true
			if v.Confidence == insight.NoConfidence {
				require.NotEqual(r, insight.OK, v.Severity)
			}
		}
		// Every GPU that calls for somebody is in an incident.
		for _, v := range result.Verdicts {
			if v.Severity.Rank() >= insight.Warning.Rank() {
				require.True(r, slices.ContainsFunc(result.Incidents, func(in Incident) bool {
					return slices.Contains(in.Subjects, v.Subject) || in.Node == grid.Subjects[v.Subject].Node
				}))
			}
		}
		again := Judge(Input{Grid: grid, Events: events, Nodes: nodes}, DefaultLimits())
		require.Equal(r, fmt.Sprintf("%+v", result), fmt.Sprintf("%+v", again)) // as text, where NaN is NaN
	})
}

func finite(t require.TestingT, result Result) {
	for _, v := range result.Verdicts {
		require.False(t, math.IsNaN(v.Risk.Score))
		for _, p := range v.Risk.Parts {
			require.False(t, math.IsNaN(p.Value+p.Share) || math.IsInf(p.Value, 0), p.ID)
		}
		for _, r := range v.Reasons {
			for _, e := range r.Evidence {
				require.False(t, math.IsNaN(e.Value) || math.IsInf(e.Value, 0) || math.IsInf(e.Limit, 0), r.ID)
			}
		}
	}
}

// What is worse by one fault is never judged better.
func TestAFaultNeverImproves(t *testing.T) {
	faults := map[column]float64{remapFailure: 1, recovery: 2, margin: -5, memoryTemperature: 110, nvlinksActive: 3, reasonBits: 64, uncorrected: 1}
	for c, value := range faults {
		grid, events := fleet(8, 24, 5*time.Minute)
		before := Judge(Input{Grid: grid, Events: events}, DefaultLimits()).Worst()
		values := make([]float64, len(grid.Times))
		for i := range values {
			values[i] = value
		}
		grid.Set(fieldList()[c], 3, values)
		result := Judge(Input{Grid: grid, Events: events}, DefaultLimits())
		assert.Greater(t, result.Worst().Rank(), before.Rank(), fieldList()[c].Metric)
		assert.Equal(t, 3, result.Verdicts[0].Subject)
		assert.Len(t, result.Incidents, 1)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte{0, 1, 2, 255, 7, 64, 128, 3}, uint16(79), uint8(3))
	f.Add([]byte{}, uint16(0), uint8(0))
	f.Fuzz(func(t *testing.T, raw []byte, code uint16, steps uint8) {
		n := int(steps % 32)
		from := time.UnixMilli(1_700_000_000_000)
		subjects := []insight.Subject{
			{Device: gpu.Device{Identity: gpu.Identity{Node: "n", UUID: "a"}, Model: "NVIDIA H100 80GB HBM3"}},
			{Device: gpu.Device{Identity: gpu.Identity{Node: "n", UUID: "a", GPUInstance: "1"}}}, {Device: gpu.Device{Identity: gpu.Identity{Node: "n", UUID: "b"}}},
		}
		grid := insight.NewGrid(from, from.Add(time.Duration(n)*time.Minute), time.Minute, subjects)
		numbers := []float64{0, 1, math.NaN(), math.Inf(-1), math.MaxFloat64, -1, 64, 128, 8, 4, 1e18, 0.5, 3, 200, 5e-324, 16}
		for i := 0; i+1 < len(raw); i++ {
			values := make([]float64, n)
			for s := range values {
				values[s] = numbers[int(raw[(i+s)%len(raw)])%len(numbers)]
			}
			grid.Set(Fields()[int(raw[i])%int(columns)], i%len(subjects), values)
		}
		events := []gpu.Event{{Time: from.Add(time.Minute), Kind: gpu.KindXID, XID: uint64(code), Device: subjects[0].Device}}
		result := Judge(Input{Grid: grid, Events: events}, DefaultLimits())
		checkResult(t, result)
		finite(t, result)
	})
}

func BenchmarkHealth(b *testing.B) {
	for _, gpus := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("gpus-%d", gpus), func(b *testing.B) {
			grid, events := fleet(gpus, 3, 5*time.Minute)
			limits := DefaultLimits()
			b.ResetTimer()
			b.ReportAllocs()
			for b.Loop() {
				Judge(Input{Grid: grid, Events: events, EventsKnown: true}, limits)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(gpus), "ns/gpu")
		})
	}
}
