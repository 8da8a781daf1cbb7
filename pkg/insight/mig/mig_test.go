package mig

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestParse(t *testing.T) {
	for name, want := range map[string]Shape{
		"3g.40gb":       {Compute: 3, Instance: 3, Gigabytes: 40},
		"MIG 1g.10gb":   {Compute: 1, Instance: 1, Gigabytes: 10},
		"1g.10gb+me":    {Compute: 1, Instance: 1, Gigabytes: 10, Suffix: "me"},
		"1c.3g.40gb":    {Compute: 3, Instance: 1, Gigabytes: 40},
		"1g.24gb-me":    {Compute: 1, Instance: 1, Gigabytes: 24, Suffix: "-me"},
		"1g.24gb+gfx":   {Compute: 1, Instance: 1, Gigabytes: 24, Suffix: "gfx"},
		"2c.7g.80gb+me": {Compute: 7, Instance: 2, Gigabytes: 80, Suffix: "me"},
	} {
		got, err := Parse(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
	for _, name := range []string{"", "3g", "g.40gb", "3g.40", "0g.5gb", "-1g.5gb", "4c.3g.40gb", "1x.3g.40gb", "1g.10gb+", "+1g.+5gb", "99999g.1gb"} {
		_, err := Parse(name)
		require.ErrorContains(t, err, "must be like", name)
	}
}

func device(model, profile string) gpu.Device {
	return gpu.Device{Identity: gpu.Identity{GPUInstance: "1"}, Model: model, MIGProfile: profile}
}

func TestWeightIsTheLargerOfComputeAndMemory(t *testing.T) {
	for _, c := range []struct {
		model, profile  string
		weight, compute float64
		known           bool
	}{
		{"NVIDIA H100 80GB HBM3", "1g.10gb", 1.0 / 7, 1.0 / 7, true},
		{"NVIDIA H100 80GB HBM3", "1g.20gb", 2.0 / 8, 1.0 / 7, true},
		{"NVIDIA H100 80GB HBM3", "2g.20gb", 2.0 / 7, 2.0 / 7, true},
		{"NVIDIA H100 80GB HBM3", "3g.40gb", 4.0 / 8, 3.0 / 7, true},
		{"NVIDIA H100 80GB HBM3", "4g.40gb", 4.0 / 7, 4.0 / 7, true},
		{"NVIDIA H100 80GB HBM3", "1c.3g.40gb", 4.0 / 8 / 3, 1.0 / 7, true},
		{"NVIDIA H200", "7g.141gb", 1, 1, true},
		{"NVIDIA B200", "1g.45gb", 2.0 / 8, 1.0 / 7, true},
		{"NVIDIA A30", "2g.12gb", 2.0 / 4, 2.0 / 4, true},
		{"NVIDIA A100-SXM4-40GB", "1g.10gb", 2.0 / 8, 1.0 / 7, true}, // on the A100 80GB the same name is one slice of memory
		{"NVIDIA A100-SXM4-80GB", "1g.10gb", 1.0 / 7, 1.0 / 7, true},
		{"somebody's GPU", "3g.40gb", 4.0 / 8, 3.0 / 7, true},
		{"NVIDIA H100", "", 1.0 / 7, 1.0 / 7, false},
	} {
		got := PartOf(device(c.model, c.profile))
		assert.InDelta(t, c.weight, got.Weight, 1e-12, c)
		assert.InDelta(t, c.compute, got.Compute, 1e-12, c)
		assert.Equal(t, c.known, got.Known, c)
	}
	assert.InDelta(t, 1, PartOf(gpu.Device{Model: "x"}).Weight, 0)
}

func fit(t *testing.T, l Layout, profile string) Fit {
	t.Helper()
	for _, f := range l.Fits {
		if f.Profile == profile {
			return f
		}
	}
	t.Fatalf("no profile %s in %v", profile, l.Fits)
	return Fit{}
}

func TestAnEmptyGPUHasRoomForAsManyAsNVIDIASays(t *testing.T) {
	for model, want := range map[string]map[string]int{
		"NVIDIA H100 80GB HBM3": {"1g.10gb": 7, "1g.10gb+me": 1, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1},
		"NVIDIA A100-SXM4-40GB": {"1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1},
		"NVIDIA H200":           {"1g.18gb": 7, "1g.35gb": 4, "2g.35gb": 3, "3g.71gb": 2, "4g.71gb": 1, "7g.141gb": 1},
		"NVIDIA B200":           {"1g.23gb": 7, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "4g.90gb": 1, "7g.180gb": 1},
		"NVIDIA A30":            {"1g.6gb": 4, "1g.6gb+me": 1, "2g.12gb": 2, "2g.12gb+me": 1, "4g.24gb": 1},
		"NVIDIA RTX PRO 6000 Blackwell Server Edition": {"1g.24gb": 4, "2g.48gb": 2, "4g.96gb": 1},
	} {
		table, known := Lookup(model)
		require.True(t, known, model)
		l := table.Layout(nil)
		assert.True(t, l.Known && l.Sure, model)
		for profile, n := range want {
			assert.Equal(t, Fit{profile, n, n}, fit(t, l, profile), model)
		}
		assert.Equal(t, table.Profiles[len(table.Profiles)-1].Name, l.Largest)
		assert.Zero(t, l.Fragmentation)
	}
	_, known := Lookup("NVIDIA L40S")
	assert.False(t, known)
}

func TestPlacementDecidesAndNotTheSum(t *testing.T) {
	table, _ := Lookup("NVIDIA H100 80GB HBM3")
	at0 := table.Layout([]Instance{{Profile: "3g.40gb", Start: 0}})
	assert.Equal(t, 4, at0.FreeCompute)
	assert.Equal(t, Fit{"1g.10gb", 3, 3}, fit(t, at0, "1g.10gb"), "slice 7 cannot start an instance")
	assert.Equal(t, Fit{"4g.40gb", 0, 0}, fit(t, at0, "4g.40gb"), "4g starts at 0 only")
	assert.Equal(t, Fit{"2g.20gb", 1, 1}, fit(t, at0, "2g.20gb"))
	assert.Equal(t, "3g.40gb", at0.Largest)
	assert.InDelta(t, 0.25, at0.Fragmentation, 1e-12)

	at4 := table.Layout([]Instance{{Profile: "3g.40gb", Start: 4}})
	assert.Equal(t, Fit{"1g.10gb", 4, 4}, fit(t, at4, "1g.10gb"))
	assert.Equal(t, "4g.40gb", at4.Largest)
	assert.Zero(t, at4.Fragmentation)

	unknown := table.Layout([]Instance{{Profile: "3g.40gb", Start: -1}})
	assert.False(t, unknown.Sure)
	assert.Equal(t, Fit{"1g.10gb", 3, 4}, fit(t, unknown, "1g.10gb"))
	assert.Equal(t, Fit{"4g.40gb", 0, 1}, fit(t, unknown, "4g.40gb"))
	assert.Equal(t, "3g.40gb", unknown.Largest)
	assert.Equal(t, "4g.40gb", unknown.Possible)

	scattered := table.Layout([]Instance{{Profile: "1g.10gb", Start: 1}, {Profile: "1g.10gb", Start: 3}, {Profile: "1g.10gb", Start: 5}})
	assert.Equal(t, 4, scattered.FreeCompute)
	assert.Equal(t, "1g.20gb", scattered.Largest, "slices 6 and 7 hold one; no 2g starts there")
	assert.Equal(t, Fit{"2g.20gb", 0, 0}, fit(t, scattered, "2g.20gb"))
	assert.InDelta(t, 0.75, scattered.Fragmentation, 1e-12)
	free, known := table.FreeSlices([]Instance{{Profile: "1g.10gb", Start: 1}, {Profile: "1g.10gb", Start: 3}, {Profile: "1g.10gb", Start: 5}})
	assert.True(t, known)
	assert.Equal(t, []int{0, 2, 4, 6, 7}, free)

	full := table.Layout([]Instance{{Profile: "4g.40gb", Start: -1}, {Profile: "3g.40gb", Start: -1}})
	assert.True(t, full.Known && full.Sure, "there is one way only")
	assert.Empty(t, full.Possible)
	assert.Zero(t, full.Fragmentation)
}

func TestOneInstanceHasTheMediaEngines(t *testing.T) {
	table, _ := Lookup("NVIDIA A30")
	l := table.Layout([]Instance{{Profile: "1g.6gb+me", Start: 0}})
	assert.Equal(t, Fit{"1g.6gb+me", 0, 0}, fit(t, l, "1g.6gb+me"))
	assert.Equal(t, Fit{"2g.12gb+me", 0, 0}, fit(t, l, "2g.12gb+me"))
	assert.Equal(t, Fit{"1g.6gb", 3, 3}, fit(t, l, "1g.6gb"))
	assert.False(t, table.Layout([]Instance{{Profile: "1g.6gb+me", Start: -1}, {Profile: "2g.12gb+me", Start: -1}}).Known)
}

func TestInstancesThatCannotBeAreNotJudged(t *testing.T) {
	table, _ := Lookup("NVIDIA H100 80GB HBM3")
	for _, instances := range [][]Instance{
		{{Profile: "4g.40gb", Start: 4}},
		{{Profile: "4g.40gb", Start: -1}, {Profile: "4g.40gb", Start: -1}},
		{{Profile: "nonsense", Start: -1}},
		{{Profile: "5g.50gb", Start: -1}},
		{{Profile: "1g.10gb", Start: 0}, {Profile: "2g.20gb", Start: 0}},
		{{Profile: "1g.10gb", Start: 7}},
		{{Profile: "7g.80gb", Start: 0}, {Profile: "1g.10gb", Start: -1}},
	} {
		assert.Equal(t, Layout{}, table.Layout(instances), instances)
	}
	_, known := table.FreeSlices([]Instance{{Profile: "1g.10gb", Start: -1}})
	assert.False(t, known)
}

// What is said to fit surely can be created, one after the other, however the instances stand; what is said not to fit cannot.
func TestFitsAreTrue(t *testing.T) {
	models := []string{"NVIDIA H100 80GB HBM3", "NVIDIA A30", "NVIDIA B200", "NVIDIA A100-SXM4-40GB", "NVIDIA H200"}
	rapid.Check(t, func(t *rapid.T) {
		table, _ := Lookup(rapid.SampledFrom(models).Draw(t, "model"))
		var placed []Instance
		var taken slot
		media := false
		for range rapid.IntRange(0, 8).Draw(t, "tries") {
			p := rapid.SampledFrom(table.Profiles).Draw(t, "profile")
			start := rapid.SampledFrom(p.Starts).Draw(t, "start")
			if m := mask(start, p.Memory); taken&m == 0 && !(p.Media && media) {
				taken |= m
				media = media || p.Media
				placed = append(placed, Instance{Profile: p.Name, Start: start})
			}
		}
		known := table.Layout(placed)
		if !known.Known || !known.Sure {
			t.Fatalf("%v can be, and there is one way", placed)
		}
		blurred := make([]Instance, len(placed))
		for i, at := range rapid.Permutation(placed).Draw(t, "order") {
			blurred[i] = Instance{Profile: at.Profile, Start: -1}
		}
		unknown := table.Layout(blurred)
		for i, fit := range known.Fits {
			if fit.Sure != fit.Most {
				t.Fatalf("%v: unsure although all starts are known", fit)
			}
			if u := unknown.Fits[i]; u.Sure > fit.Sure || u.Most < fit.Most {
				t.Fatalf("%s: known %v, unknown %v", fit.Profile, fit, u)
			}
			free := 0
			p := table.Profiles[i]
			for _, start := range p.Starts {
				if taken&mask(start, p.Memory) == 0 {
					free++
				}
			}
			if p.Media {
				free = min(free, 1)
				if media {
					free = 0
				}
			}
			if fit.Sure != free {
				t.Fatalf("%s: %d places are free, %d fit", p.Name, free, fit.Sure)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"3g.40gb", "1c.3g.40gb+me", "MIG 1g.5gb", "", ".", "1g.", "-", "1g.5gb-me"} {
		f.Add(seed, "NVIDIA H100 80GB HBM3")
	}
	f.Fuzz(func(t *testing.T, profile, model string) {
		p := PartOf(device(model, profile))
		if math.IsNaN(p.Weight) || p.Weight <= 0 || p.Weight > 1 || p.Compute > p.Weight+1e-9 && p.Memory > p.Weight+1e-9 {
			t.Fatalf("%q of %q: %+v", profile, model, p)
		}
		table, _ := Lookup(model)
		table.Layout([]Instance{{Profile: profile, Start: -1}})
	})
}
