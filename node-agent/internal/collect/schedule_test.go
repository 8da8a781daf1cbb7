package collect

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// every measures groups of the standard profile at a tick.
func every(tick time.Duration) func(*Options) {
	return func(o *Options) {
		o.Node.Period = tick
		o.Schedule = NewSchedule(device.Standard, ClassIntervals(tick))
	}
}

// measured is when a group was asked for.
func (b *fakeBoard) measured(g device.Group) []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	var at []time.Time
	for i, groups := range b.groups {
		if groups.Has(g) {
			at = append(at, b.at[i])
		}
	}
	return at
}

func TestGroupsComeAtTheirOwnIntervals(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.boards[0].readings = map[device.Metric]float64{device.PowerLimit: 700, device.FanSpeed: 0.5}
		b.wait(61500 * time.Millisecond)
		board := b.boards[0]
		board.mu.Lock()
		first := board.groups[0]
		board.mu.Unlock()
		assert.Equal(t, device.ProfileGroups(device.Standard), first, "a new board is measured whole at once")
		for g, interval := range map[device.Group]time.Duration{
			device.GroupPower: time.Second, device.GroupFan: 5 * time.Second, device.GroupLimits: 30 * time.Second,
		} {
			at := board.measured(g)
			require.Greater(t, len(at), 2, g.String())
			for i, when := range at[1:] {
				assert.Zero(t, when.UnixNano()%int64(interval), "%s at %s", g, when)
				if i > 0 {
					assert.Equal(t, interval, when.Sub(at[i]), g.String())
				}
			}
		}
		assert.Len(t, board.measured(device.GroupThresholds), 1)
		assert.Empty(t, board.measured(device.GroupNVLinkLinks), "that is of the deep profile")
		frames := b.past()
		for _, f := range frames[1:] {
			for i, c := range f.Schema.Columns {
				if c.Metric == device.PowerLimit {
					assert.Equal(t, gpu.Read(700), f.Readings[i], "carried on")
				}
				assert.False(t, c.Metric.Group() == device.GroupNVLinkLinks)
			}
		}
		newest := b.store.Newest()
		assert.Equal(t, newest.Time, newest.Sampled[device.GroupPower])
		assert.Equal(t, newest.Time.Truncate(30*time.Second), newest.Sampled[device.GroupLimits])
		assert.True(t, newest.Sampled[device.GroupNVLinkLinks].IsZero())
	})
}

// At 10 Hz the slow calls of eight boards do not fall into one tick.
func TestSlowGroupsAreSpread(t *testing.T) {
	runWith(t, 8, every(100*time.Millisecond), func(b *bench) {
		b.wait(70 * time.Second)
		ticks := map[time.Time]int{}
		for i, board := range b.boards {
			at := board.measured(device.GroupLimits)[1:]
			require.NotEmpty(t, at)
			for _, when := range at {
				ticks[when]++
				assert.EqualValues(t, time.Duration(i)*100*time.Millisecond, when.UnixNano()%int64(30*time.Second))
			}
		}
		for when, n := range ticks {
			assert.Equal(t, 1, n, when)
		}
	})
}

func TestAStaleGroupIsNotRepeatedForEver(t *testing.T) {
	run(t, 2, func(b *bench) {
		b.boards[0].readings = map[device.Metric]float64{device.FanSpeed: 0.5}
		b.wait(6 * time.Second)
		hang := make(chan struct{})
		b.boards[0].set(func() { b.boards[0].hang = hang })
		b.wait(2 * time.Second)
		assert.Equal(t, gpu.Read(0.5), b.reading(0, device.FanSpeed))
		assert.True(t, b.power(0).OK(), "it may only be late")
		b.wait(time.Second)
		assert.Equal(t, gpu.Absent(gpu.NoData), b.power(0))
		assert.Equal(t, gpu.Read(0.5), b.reading(0, device.FanSpeed))
		b.wait(4 * time.Second)
		assert.Equal(t, gpu.Absent(gpu.Lost), b.reading(0, device.FanSpeed), "it hangs")
		b.boards[0].set(func() { b.boards[0].hang = nil })
		close(hang)
		b.wait(2 * time.Second)
		assert.Equal(t, gpu.Read(0.5), b.reading(0, device.FanSpeed), "measured whole again at once")
	})
}

// A board that takes three ticks to answer has readings all the same, and the others come in time.
func TestSlowBoardAtTenHertz(t *testing.T) {
	runWith(t, 2, every(100*time.Millisecond), func(b *bench) {
		b.wait(time.Second)
		b.boards[0].set(func() { b.boards[0].slow = 300 * time.Millisecond })
		b.wait(5 * time.Second)
		first := b.store.Newest()
		for range 100 {
			b.wait(100 * time.Millisecond)
			f := b.store.Newest()
			assert.True(t, b.power(0).OK(), "carried on at %s", f.Time)
			assert.Equal(t, gpu.Read(float64(f.Time.Unix())), b.power(1))
			assert.Less(t, time.Since(f.Time), 100*time.Millisecond, "nobody waits for the slow one")
		}
		assert.EqualValues(t, first.Seq+100, b.store.Newest().Seq)
		assert.Equal(t, snapshot.StateOK, b.board(0).Condition.State)
		skipped, err := b.figure("warpwatch_agent_group_samples_total", "group", "power", "result", "skipped")
		require.NoError(t, err)
		assert.Greater(t, skipped, 50.0)
	})
}

func TestAClockThatIsSetBack(t *testing.T) {
	s := NewSchedule(device.Lean, ClassIntervals(time.Second)).complete()
	e := &entry{}
	at := time.Unix(1_800_000_000, 0)
	assert.Equal(t, s.Groups, e.due(&s, s.each(), at))
	e.planned(&s, s.Groups, at)
	assert.Equal(t, s.each(), e.due(&s, s.each(), at.Add(time.Second)))
	assert.Equal(t, s.each(), e.due(&s, s.each(), at.Add(-time.Second)))
	assert.Equal(t, s.Groups, e.due(&s, s.each(), at.Add(-time.Hour)))
	e.planned(&s, s.Groups, at.Add(-time.Hour))
	assert.Equal(t, s.each(), e.due(&s, s.each(), at.Add(time.Second-time.Hour)))
}

func TestExtentsNameTheDevicesOfTheSchema(t *testing.T) {
	run(t, 2, func(b *bench) {
		b.boards[1].extents = []device.Extent{
			{Metric: device.Power, Min: 1, Mean: 2, Max: 3, Count: 4}, {Metric: device.LinkTransmit, Count: 1}, {Device: 7, Metric: device.Power},
		}
		b.wait(3 * time.Second)
		f := b.store.Newest()
		require.Equal(t, []device.Extent{{Device: 1, Metric: device.Power, Min: 1, Mean: 2, Max: 3, Count: 4}}, f.Extents)
		assert.Equal(t, "GPU-1", f.Schema.Devices[f.Extents[0].Device].UUID)
	})
}

func TestReconfigure(t *testing.T) {
	run(t, 1, func(b *bench) {
		b.boards[0].readings = map[device.Metric]float64{device.FanSpeed: 0.5, device.LinkState: 1}
		b.wait(3 * time.Second)
		before := b.store.Newest()
		s := NewSchedule(device.Deep, ClassIntervals(200*time.Millisecond))
		s.Groups &^= device.GroupsOf(device.GroupFan)
		s.Every[device.GroupLimits] = 400 * time.Millisecond
		b.collector.Reconfigure(s)
		b.wait(time.Second)
		f := b.store.Newest()
		assert.NotSame(t, before.Schema, f.Schema)
		assert.EqualValues(t, 200, f.Schema.Wire.GetPeriodMs())
		assert.Equal(t, gpu.Read(1), b.reading(0, device.LinkState))
		assert.Greater(t, f.Seq, before.Seq+4)
		for _, c := range f.Schema.Columns {
			assert.NotEqual(t, device.FanSpeed, c.Metric)
		}
		b.wait(2 * time.Second)
		at := b.boards[0].measured(device.GroupLimits)
		assert.Equal(t, 400*time.Millisecond, at[len(at)-1].Sub(at[len(at)-2]))
		_, err := b.figure("warpwatch_agent_group_interval_seconds", "group", "fan")
		assert.Error(t, err)

		b.collector.Reconfigure(NewSchedule(device.Lean, ClassIntervals(time.Second)))
		b.wait(3 * time.Second)
		assert.Equal(t, gpu.Read(0.5), b.reading(0, device.FanSpeed))
	})
}

func TestGroupFigures(t *testing.T) {
	run(t, 2, func(b *bench) {
		b.boards[0].readings = map[device.Metric]float64{device.FanSpeed: 0.5}
		b.wait(6500 * time.Millisecond)
		for _, c := range []struct {
			want  float64
			name  string
			pairs []string
		}{
			{5, "group_interval_seconds", []string{"group", "fan"}},
			{4, "group_samples_total", []string{"group", "fan", "result", "success"}},
			{1, "supported_metrics", []string{"model", "NVIDIA H200", "driver", "1.0", "group", "fan"}},
			{1, "supported_metrics", []string{"model", "NVIDIA H200", "driver", "1.0", "group", "power"}},
			{3, "asked_metrics", []string{"model", "NVIDIA H200", "driver", "1.0", "group", "power"}},
			{0, "supported_metrics", []string{"model", "NVIDIA H200", "driver", "1.0", "group", "pipes"}},
		} {
			got, err := b.figure("warpwatch_agent_"+c.name, c.pairs...)
			require.NoError(t, err)
			assert.Equal(t, c.want, got, "%s %v", c.name, c.pairs)
		}
		b.boards[1].set(func() { b.boards[1].err = fmt.Errorf("sample: %w", device.ErrLost) })
		b.wait(2 * time.Second)
		failed, err := b.figure("warpwatch_agent_group_samples_total", "group", "fan", "result", "failure")
		require.NoError(t, err)
		assert.Greater(t, failed, 0.0)
	})
}

// figure is one of the collector's own.
func (b *bench) figure(name string, pairs ...string) (float64, error) {
	families, err := b.registry.Gather()
	require.NoError(b.t, err)
	want := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		want[pairs[i]] = pairs[i+1]
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			has := 0
			for _, l := range m.GetLabel() {
				if want[l.GetName()] == l.GetValue() {
					has++
				}
			}
			if has == len(want) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue(), nil
			}
		}
	}
	return 0, fmt.Errorf("no %s with %v", name, pairs)
}
