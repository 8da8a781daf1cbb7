package live_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// An agent that is found by name and by number is connected to once, its samples come once, and the notice says so. It is
// read by the other address when the first no longer leads to it.
func TestAnAgentFoundTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		network.Alias("10.0.0.1:9847", "n1:9847")
		f := newFleet(t, over(network), agent)
		f.targets[0].Node = ""
		f.targets = append(f.targets, live.Target{Address: "10.0.0.1:9847"})
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		after(30 * time.Second)
		require.Equal(t, 1, agent.Connections())
		agent.Tick(watts(1)...)
		after(time.Second)
		agent.Tick(watts(2)...)
		samples, _ := drain(sub)
		require.Equal(t, []float64{1, 2}, powers(samples))
		got := f.window(t)
		require.Len(t, got.Nodes, 1)
		require.Len(t, got.Series, 2)
		require.Len(t, got.Notices, 1)
		require.Contains(t, got.Notices[0].Text, "Agents are found under two addresses, of which one is read: n1 at ")
		require.Contains(t, got.Notices[0].Text, "10.0.0.1:9847")

		// A new run of the agent is found twice again, and read once.
		agent.Restart()
		after(time.Minute)
		require.Equal(t, 1, agent.Connections())

		kept, other := got.Nodes[0].Address, "10.0.0.1:9847"
		if kept == other {
			other = "n1:9847"
		}
		network.Unplug(kept)
		agent.Drop()
		after(time.Minute)
		for n := range 3 {
			agent.Tick(watts(float64(n))...)
			after(time.Second)
		}
		require.Equal(t, 1, agent.Connections())
		streaming := 0
		nodes, err := f.hub.Nodes(t.Context())
		require.NoError(t, err)
		for _, n := range nodes {
			if n.State.Streams() {
				streaming++
				require.Equal(t, other, n.Address)
			}
		}
		require.Equal(t, 1, streaming)
		samples, _ = drain(sub)
		require.Equal(t, []float64{0, 1, 2}, powers(samples))
	})
}
