package live_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// C26: the clock of the node is off, or is set while it streams.
func TestClockOfTheNodeIsOff(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": 90 * time.Second, "behind": -90 * time.Second, "far ahead": 5 * time.Minute, "far behind": -5 * time.Minute, "a little": 400 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := agenttest.NewNetwork()
				agent := agenttest.New(t, agenttest.Options{Network: network})
				agent.Skew(skew)
				for i := range 3 {
					after(time.Second)
					agent.Tick(watts(float64(i))...)
				}
				f := newFleet(t, over(network), agent)
				sub := f.hub.Subscribe(live.Select{})
				defer sub.Close()
				after(time.Second)
				agent.Tick(watts(3)...)
				now := time.Now()
				synctest.Wait()

				got := f.window(t)
				require.Equal(t, []float64{0, 1, 2, 3}, got.Series[0].Values)
				newest := time.UnixMilli(got.Series[0].Times[3])
				require.InDelta(t, skew.Seconds(), got.Nodes[0].ClockOffset.Seconds(), 0.001)
				if skew.Abs() < time.Second {
					require.Empty(t, got.Notices)
					require.Equal(t, skew, newest.Sub(now).Round(time.Millisecond))
					return
				}
				require.Zero(t, newest.Sub(now).Round(time.Millisecond))
				require.Len(t, got.Notices, 1)
				require.Contains(t, got.Notices[0].Text, fmt.Sprintf("n1 (n1:9847) by %+.0f s", skew.Seconds()))
				require.Contains(t, got.Notices[0].Text, "let NTP or chrony keep the time there")
				samples, _ := drain(sub)
				require.Zero(t, samples[len(samples)-1].Sample.Time.Sub(now).Round(time.Millisecond))
			})
		})
	}
}

func TestClockOfTheNodeIsSetWhileStreaming(t *testing.T) {
	for name, step := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour, "forward five minutes": 5 * time.Minute, "back five minutes": -5 * time.Minute, "back a little": -2500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := agenttest.NewNetwork()
				agent := agenttest.New(t, agenttest.Options{Network: network})
				f := newFleet(t, over(network), agent)
				sub := f.hub.Subscribe(live.Select{})
				defer sub.Close()
				var got []live.Update
				tick := func(n int) {
					for range n {
						after(time.Second)
						agent.Tick(watts(1)...)
						samples, _ := drain(sub)
						for _, u := range samples {
							require.LessOrEqual(t, time.Since(u.Sample.Time).Abs(), 1500*time.Millisecond)
						}
						got = append(got, samples...)
					}
				}
				tick(10)
				agent.Skew(step)
				tick(30)
				require.GreaterOrEqual(t, len(got), 39, "the stream goes on")
				require.Equal(t, 1, agent.Accepted())
				require.InDelta(t, step.Seconds(), f.status(t).ClockOffset.Seconds(), 0.01)
			})
		})
	}
}

// An agent whose clock was an hour ahead until a moment ago has samples of the future in its ring. They are left out,
// and hold up none of those that follow.
func TestSamplesOfTheFutureInTheRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		agent.Skew(time.Hour)
		for range 5 {
			after(time.Second)
			agent.Tick(watts(99)...)
		}
		agent.Skew(0)
		for i := range 5 {
			after(time.Second)
			agent.Tick(watts(float64(i))...)
		}
		f := newFleet(t, over(network), agent)
		got := f.window(t)
		require.Equal(t, []float64{0, 1, 2, 3, 4}, got.Series[0].Values)
		require.Equal(t, uint64(5), got.Nodes[0].Drops.Future)
		require.Zero(t, got.Nodes[0].Correction)
	})
}
