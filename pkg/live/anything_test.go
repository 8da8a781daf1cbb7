package live_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/timeline"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// Whatever happens to an agent and its clock, in whatever order: what a subscriber hears and what a panel reads rises in time, has
// every sample at most once and in the order they were taken, joins with the history that was scraped meanwhile to one line that
// rises, and goes on once things have settled.
func TestWhateverHappensTheTimelineRises(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { anything(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func anything(t *testing.T, rng *rand.Rand) {
	network := agenttest.NewNetwork()
	agent := agenttest.New(t, agenttest.Options{Network: network, Ring: 40})
	f := newFleet(t, over(network), agent)
	sub := f.hub.Subscribe(live.Select{})
	defer sub.Close()
	taken := 0.0
	seq := uint64(0)
	var heard []live.Update
	var scraped gpu.Series
	tick := func() {
		after(time.Second)
		taken, seq = taken+1, seq+1
		agent.Tick(watts(taken)...)
		if int(taken)%15 == 0 {
			scraped.Times, scraped.Values = append(scraped.Times, time.Now().UnixMilli()), append(scraped.Values, taken)
		}
		samples, _ := drain(sub)
		heard = append(heard, samples...)
	}
	var done []string
	for range 60 {
		switch n := rng.IntN(12); n {
		case 0:
			skew := time.Duration(rng.Int64N(int64(10*time.Minute))) - 5*time.Minute
			agent.Skew(skew)
			done = append(done, "skew "+skew.String())
		case 1:
			skew := time.Duration(rng.Int64N(int64(4*time.Second))) - 2*time.Second
			agent.Skew(skew)
			done = append(done, "skew "+skew.String())
		case 2:
			agent.Drop()
			done = append(done, "drop")
		case 3:
			away := 1 + rng.IntN(20)
			agent.Answer(agenttest.Unavailable)
			agent.Drop()
			for range away {
				tick()
			}
			agent.Answer(agenttest.Healthy)
			done = append(done, fmt.Sprint("away ", away))
		case 4:
			for range 1 + rng.IntN(3) {
				agent.Restart()
				seq = 0
				after(time.Duration(rng.Int64N(int64(5 * time.Second))))
			}
			done = append(done, "boots")
		case 5:
			if seq > 0 {
				agent.Send(&wire.Tick{Seq: seq - rng.Uint64N(min(seq, 3)), TimeUnixMs: agent.Now().UnixMilli()})
				done = append(done, "a tick again")
			}
		default:
			for range n {
				tick()
			}
			done = append(done, fmt.Sprint("ticks ", n))
		}
	}
	agent.Skew(0)
	for range 60 {
		tick()
	}

	script := fmt.Sprint(done)
	times := make([]int64, len(heard))
	for i, u := range heard {
		times[i] = u.Sample.Time.UnixMilli()
	}
	rises(t, times, powers(heard), script)
	shown := f.window(t).Series[0]
	rises(t, shown.Times, shown.Values, script)
	scraped.Device = shown.Device
	joined := timeline.Join([]gpu.Series{scraped}, []gpu.Series{shown})
	require.Len(t, joined, 1, script)
	line := joined[0]
	require.True(t, slices.IsSorted(line.Times), script)
	require.Len(t, slices.Compact(slices.Clone(line.Times)), len(line.Times), script)
	require.Equal(t, shown.Values, line.Values[len(line.Values)-len(shown.Values):], script)

	newest := powers(heard)
	require.GreaterOrEqual(t, len(newest), 20, script)
	for i, v := range newest[len(newest)-20:] {
		require.InDelta(t, taken-19+float64(i), v, 0, "the last ones: %v of %s", newest[len(newest)-20:], script)
	}
}

// rises says that times rise, and values with them: these are numbers of samples in the order they were taken.
func rises(t *testing.T, times []int64, values []float64, script string) {
	t.Helper()
	for i := 1; i < len(times); i++ {
		require.Greater(t, times[i], times[i-1], "time %d of %s", i, script)
	}
	require.True(t, slices.IsSorted(values), "%v of %s", values, script)
	require.Len(t, slices.Compact(slices.Clone(values)), len(values), script)
}
