package live_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// The agent has ten minutes; the hub asks for as much of them as somebody looks at, each part once.
func TestOlderSamplesAreAskedForWhenSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		n := 0.0
		tick := func() {
			after(time.Second)
			n++
			agent.Tick(watts(n)...)
			synctest.Wait() // until whoever listens has it
		}
		for range 600 {
			tick()
		}
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		tick()
		window := func(back time.Duration) []float64 {
			got := f.hub.Window(t.Context(), live.Select{Metric: power, Since: time.Now().Add(-back), Wait: 5 * time.Second})
			require.Empty(t, got.Notices)
			for i, v := range got.Series[0].Values {
				require.Equal(t, got.Series[0].Values[0]+float64(i), v, "no hole, none twice")
			}
			return got.Series[0].Values
		}
		require.Len(t, window(20*time.Second), 21)
		require.Len(t, agent.Requests(), 1)
		require.Len(t, window(5*time.Minute), 301)
		require.Len(t, agent.Requests(), 2)
		for range 5 {
			tick()
			require.Len(t, window(4*time.Minute), 241)
		}
		require.Len(t, agent.Requests(), 2)
		require.Len(t, window(time.Hour), 606)
		require.Len(t, window(time.Hour), 606)
		require.Len(t, agent.Requests(), 3)
		require.Equal(t, 1, agent.Accepted())
		require.Zero(t, f.status(t).Drops)
		samples, _ := drain(sub)
		for i, u := range samples {
			require.Equal(t, samples[0].Sample.Seq+uint64(i), u.Sample.Seq, "a subscriber hears nothing twice")
		}
	})
}

// Rings that are full give way where nobody reads, say so, and stay within their budget.
func TestFullRingsSayWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const budget = 64 << 10
		network := agenttest.NewNetwork()
		var agents []*agenttest.Agent
		metrics := make([]string, 20)
		for i := range metrics {
			metrics[i] = fmt.Sprintf("gpu_metric_%d_watts", i)
		}
		metrics[0] = power
		for i := range 4 {
			agents = append(agents, agenttest.New(t, agenttest.Options{Network: network, Node: fmt.Sprintf("n%d", i), Metrics: metrics}))
		}
		f := newFleet(t, func(cfg *live.Config) {
			over(network)(cfg)
			cfg.TotalRingBytes = budget
		}, agents...)
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		go func() {
			for range sub.C() {
			}
		}()
		one := live.Select{Metric: power, Wait: time.Second, Match: func(t live.Target) bool { return t.Node == "n0" }}
		for i := range 600 {
			after(time.Second)
			for _, a := range agents {
				readings := make([]gpu.Reading, 40)
				for j := range readings {
					readings[j] = gpu.Read(float64((i*7919 + j*104729) % 1000))
				}
				a.Tick(readings...)
			}
			if i%10 == 0 {
				f.hub.Window(t.Context(), one)
			}
			synctest.Wait()
			require.LessOrEqual(t, f.hub.RingBytes(), budget)
		}
		require.Greater(t, f.hub.RingBytes(), budget/2, "the budget is used")
		got := f.hub.Window(t.Context(), live.Select{Metric: power, Since: time.Now().Add(-10 * time.Minute), Wait: time.Second})
		length := map[string]int{}
		for _, s := range got.Series {
			length[s.Device.Node] = len(s.Times)
		}
		require.Len(t, length, 4, "each keeps its newest")
		require.Greater(t, length["n0"], 2*length["n1"], "the one that is read keeps most: %v", length)
		require.Len(t, got.Notices, 1)
		require.Contains(t, got.Notices[0].Text, "were dropped because all of the 0 MiB for live samples are taken")
	})
}

func TestALaggingNodeIsToldFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		tick := func(n int, late time.Duration) {
			for range n {
				after(time.Second)
				agent.TickAt(time.Now().Add(-late), watts(1)...)
				synctest.Wait()
			}
		}
		tick(10, 0)
		require.Equal(t, live.Connected, f.status(t).State)
		agent.Skip(7)
		tick(1, 0)
		require.Equal(t, live.Lagging, f.status(t).State)
		require.ErrorContains(t, f.status(t).Err, "7 samples were left out because the connection is too slow")
		require.EqualValues(t, 7, f.status(t).Drops.Missed)
		tick(16, 0)
		require.Equal(t, live.Connected, f.status(t).State)
		require.NoError(t, f.status(t).Err)
		// A delay grows; one that stays is taken for a clock that is off.
		for i := range 8 {
			tick(1, time.Duration(i)*time.Second-time.Duration(i)*time.Millisecond)
		}
		require.Equal(t, live.Lagging, f.status(t).State)
		require.ErrorContains(t, f.status(t).Err, "its samples come ")
	})
}

// An agent that was upgraded counts from one again and has another epoch. What it measured before the hub was back is
// in its ring, and subscribers get it, in order and once; so they do when the node has another name or other devices.
func TestAnAgentIsReplacedMidway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		n := 0.0
		tick := func(times int) {
			for range times {
				after(time.Second)
				n++
				agent.Tick(watts(n)...)
				synctest.Wait()
			}
		}
		tick(5)
		agent.Answer(agenttest.Unavailable)
		agent.Restart()
		tick(90)
		agent.Answer(agenttest.Healthy)
		tick(35)
		mig := agenttest.Devices("n1", 1)
		mig[0].GPUInstance, mig[0].MIGProfile = "3", "1g.18gb"
		agent.ChangeDevices(mig)
		tick(5)
		samples, states := drain(sub)
		want := make([]float64, int(n))
		for i := range want {
			want[i] = float64(i + 1)
		}
		require.Equal(t, want, powers(samples))
		require.Equal(t, live.Connected, states[len(states)-1].State)
		require.False(t, samples[len(samples)-1].Schema.SameColumns(samples[0].Schema))
		require.True(t, samples[len(samples)-6].Schema.SameColumns(samples[0].Schema), "another run of the agent, the same columns")
		require.True(t, samples[len(samples)-1].Schema.Devices[0].IsMIG())
		require.Len(t, f.window(t).Series, 3, "two GPUs until then, and the instance")
	})
}
