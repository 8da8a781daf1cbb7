package live_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// A node that is given another name goes on under it: devices, states, and who asks for a name.
func TestARenamedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		f.targets[0].Node = "" // an address in the settings
		all := f.hub.Subscribe(live.Select{})
		defer all.Close()
		named := func(name string) func(live.Target) bool {
			return func(t live.Target) bool { return t.Node == "" || t.Node == name }
		}
		old := f.hub.Subscribe(live.Select{Match: named("n1")})
		defer old.Close()
		after(time.Second)
		agent.Tick(watts(1)...)
		after(time.Second)
		agent.Rename("n2")
		agent.Drop()
		next := f.hub.Subscribe(live.Select{Match: named("n2")})
		defer next.Close()
		after(3 * time.Second)
		agent.Tick(watts(2)...)
		synctest.Wait()

		require.Equal(t, "n2", f.status(t).Node)
		samples, states := drain(all)
		require.Equal(t, []float64{1, 2}, powers(samples))
		require.Equal(t, "n1", samples[0].Schema.Devices[0].Node)
		require.Equal(t, "n2", samples[1].Schema.Devices[0].Node)
		require.Equal(t, "n2", samples[1].Target.Node)
		require.Equal(t, "n2", states[len(states)-1].Node)
		samples, _ = drain(old)
		require.Equal(t, []float64{1}, powers(samples), "it is another node by now")
		samples, _ = drain(next)
		require.Equal(t, []float64{2}, powers(samples))
		for _, s := range f.window(t).Series {
			require.Len(t, s.Times, 1)
		}

		// So it does when nobody looked at it meanwhile, and when discovery has a name for it.
		all.Close()
		old.Close()
		next.Close()
		after(time.Minute)
		agent.Rename("n3")
		f.window(t)
		after(time.Second)
		require.Equal(t, "n3", f.status(t).Node)
		f.mu.Lock()
		f.targets = []live.Target{agent.Target()}
		f.targets[0].Node = "n4"
		f.mu.Unlock()
		again := f.hub.Subscribe(live.Select{})
		defer again.Close()
		after(31 * time.Second)
		require.Equal(t, "n4", f.status(t).Node)
		agent.Tick(watts(3)...)
		samples, _ = drain(again)
		require.Equal(t, "n4", samples[len(samples)-1].Schema.Devices[0].Node)
	})
}
