package live_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

func xid(code uint64, device gpu.Device) gpu.Event {
	return gpu.Event{Kind: gpu.KindXID, Origin: "nvml", XID: code, Device: device, Detail: "it fell off"}
}

// heard takes what a subscription has by now, sorted by what it is.
func heard(sub *live.Subscription) (samples []live.Update, events []uint64, processes []*live.Processes, owners []*live.Owners) {
	for {
		synctest.Wait()
		select {
		case u, ok := <-sub.C():
			if !ok {
				return samples, events, processes, owners
			}
			for _, e := range u.Events {
				events = append(events, e.XID)
			}
			if u.Processes != nil {
				processes = append(processes, u.Processes)
			}
			if u.Owners != nil {
				owners = append(owners, u.Owners)
			}
			if u.Schema != nil {
				samples = append(samples, u)
			}
		default:
			return samples, events, processes, owners
		}
	}
}

func TestNowHasEverythingThatIsWished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network, Cluster: "c1"})
		devices := agenttest.Devices("n1", 2)
		after(time.Second)
		agent.Skew(90 * time.Second)
		agent.Tick(watts(100, 200)...)
		agent.Event(xid(79, devices[1]))
		agent.Event(gpu.Event{Kind: gpu.KindLost, Device: gpu.Device{Identity: gpu.Identity{UUID: "GPU-gone", GPUInstance: "3"}}})
		agent.Event(gpu.Event{Kind: gpu.KindLogMatched, Origin: "log"})
		alice := gpu.Owner{User: "alice", Source: "cgroup"}
		agent.SetProcesses("two were not readable", gpu.Process{
			Device: devices[1], PID: 42, Name: "python", User: "alice", Kind: "compute", Owner: alice,
			MemoryBytes: gpu.Read(1 << 30), SMRatio: gpu.Read(0.5),
		})
		agent.SetOwners(gpu.Ownership{Device: devices[0], Owner: alice})
		f := newFleet(t, over(network), agent)

		began := time.Now()
		got := f.hub.Now(t.Context(), live.Select{Events: true, Processes: true, Owners: true, Wait: 3 * time.Second})
		require.Zero(t, time.Since(began), "nothing is waited for when everything is there")
		require.Len(t, got.Nodes, 1)
		n := got.Nodes[0]
		require.Len(t, got.Notices, 1, "of the clock alone")
		require.Equal(t, live.Connected, n.Status.State)
		require.Equal(t, n.Schema.Devices, n.Devices)
		require.Equal(t, gpu.Read(200), n.Schema.Reading(n.Sample, power, 1))
		require.Equal(t, gpu.Absent(gpu.NoData), n.Schema.Reading(n.Sample, "gpu_nothing_watts", 1))
		require.Equal(t, gpu.Absent(gpu.NoData), n.Schema.Reading(n.Sample, power, 2))

		require.Len(t, n.Events, 3)
		require.Equal(t, gpu.Event{
			Kind: gpu.KindXID, Origin: "nvml", XID: 79, Device: n.Devices[1], Detail: "it fell off", Seq: 1, Time: n.Events[0].Time,
		}, n.Events[0])
		require.Zero(t, time.Since(n.Events[0].Time).Round(time.Millisecond), "on the plugin's clock")
		require.Equal(t, gpu.Device{Identity: gpu.Identity{Cluster: "c1", Node: "n1", UUID: "GPU-gone", GPUInstance: "3"}, Index: -1}, n.Events[1].Device)
		require.Equal(t, gpu.Device{Identity: gpu.Identity{Cluster: "c1", Node: "n1"}, Index: -1}, n.Events[2].Device)

		require.Equal(t, "two were not readable", n.Processes.Incomplete)
		require.Zero(t, time.Since(n.Processes.At).Round(time.Millisecond))
		require.Equal(t, []gpu.Process{{
			Device: n.Devices[1], PID: 42, Name: "python", User: "alice", Kind: "compute", Owner: alice,
			MemoryBytes: gpu.Read(1 << 30), SMRatio: gpu.Read(0.5),
			MemoryActivityRatio: gpu.Absent(gpu.NoData), EncoderRatio: gpu.Absent(gpu.NoData), DecoderRatio: gpu.Absent(gpu.NoData),
		}}, n.Processes.List)
		require.Equal(t, []gpu.Ownership{{Device: n.Devices[0], Owner: alice}}, n.Owners.List)

		got = f.hub.Now(t.Context(), live.Select{Wait: time.Second})
		require.Nil(t, got.Nodes[0].Events)
		require.Nil(t, got.Nodes[0].Processes)
		require.Nil(t, got.Nodes[0].Owners)
	})
}

// An agent of before there were lists has none, is not waited for forever, and is named.
func TestAnOldAgentHasNoLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		old := agenttest.New(t, agenttest.Options{Network: network, Node: "old", Old: true})
		current := agenttest.New(t, agenttest.Options{Network: network, Node: "new", MinPeriod: 100 * time.Millisecond})
		for _, a := range []*agenttest.Agent{old, current} {
			a.Tick(watts(1)...)
			a.SetProcesses("")
		}
		f := newFleet(t, over(network), old, current)
		wished := live.Select{Processes: true, Events: true, Wait: 10 * time.Second}
		got := f.hub.Now(t.Context(), wished)
		require.Empty(t, got.Nodes[0].Processes.List)
		require.NotNil(t, got.Nodes[0].Processes.List, "none is known to run")
		require.Nil(t, got.Nodes[1].Processes)
		require.NotNil(t, got.Nodes[1].Sample)
		require.Len(t, got.Notices, 2)
		require.Contains(t, got.Notices[0].Text, "from old (old:9847): upgrade warpwatch-agent there")
		require.Equal(t, "No events have come from old (old:9847), maybe because the agents there are too old to send them: "+
			"upgrade warpwatch-agent there.", got.Notices[1].Text)
		began := time.Now()
		f.hub.Now(t.Context(), wished)
		require.Zero(t, time.Since(began), "that it sends none is known by now")
	})
}

func TestWishesReachTheAgentAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network, MinPeriod: 100 * time.Millisecond})
		agent.Tick(watts(1)...)
		f := newFleet(t, over(network), agent)
		plain := f.hub.Subscribe(live.Select{})
		defer plain.Close()
		after(time.Second)
		newest := func() (asked struct {
			period  uint32
			events  bool
			lists   bool
			counted int
		}) {
			synctest.Wait()
			all := agent.Requests()
			r := all[len(all)-1]
			asked.period, asked.events, asked.lists, asked.counted = r.GetPeriodMs(), r.GetEvents(), r.GetProcesses(), len(all)
			return asked
		}
		require.Zero(t, newest().period)
		require.False(t, newest().events)

		slow := f.hub.Subscribe(live.Select{Period: 500 * time.Millisecond})
		defer slow.Close()
		require.EqualValues(t, 500, newest().period)
		fast := f.hub.Subscribe(live.Select{Period: 100 * time.Millisecond, Events: true})
		synctest.Wait()
		require.EqualValues(t, 100, newest().period)
		require.True(t, newest().events)
		require.Equal(t, 100*time.Millisecond, agent.Period())

		before := newest().counted
		fast.Close()
		after(14 * time.Second)
		require.EqualValues(t, 100, newest().period, "it lingers")
		for range 4 { // a panel that is refreshed
			f.hub.Now(t.Context(), live.Select{Processes: true})
			after(10 * time.Second)
		}
		require.EqualValues(t, 500, newest().period)
		require.False(t, newest().events)
		require.True(t, newest().lists)
		require.LessOrEqual(t, newest().counted-before, 3)
		after(16 * time.Second)
		require.False(t, newest().lists)
		require.Equal(t, 1, agent.Accepted(), "on one connection")
		require.Zero(t, f.status(t).Drops)
	})
}

// Raising the rate takes nothing from anybody: same schema but for the period, no gap, no repetition.
func TestTheRateIsRaisedUnderASubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network, MinPeriod: 100 * time.Millisecond})
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		var all []live.Update
		stop := agent.Start(func(n int) []gpu.Reading { return watts(float64(n)) })
		defer stop()
		take := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); after(200 * time.Millisecond) {
				samples, _, _, _ := heard(sub)
				all = append(all, samples...)
			}
		}
		take(5 * time.Second)
		eager := f.hub.Subscribe(live.Select{Period: 100 * time.Millisecond})
		take(5 * time.Second)
		require.Equal(t, 100*time.Millisecond, f.status(t).Period)
		eager.Close()
		take(30 * time.Second)
		require.Equal(t, time.Second, f.status(t).Period)
		require.Greater(t, len(all), 150)
		for i, u := range all {
			require.Equal(t, all[0].Sample.Seq+uint64(i), u.Sample.Seq)
			require.Zero(t, u.Dropped)
			require.True(t, u.Schema.SameColumns(all[0].Schema))
		}
		require.Zero(t, f.status(t).Drops)
		samples, _, _, _ := heard(sub)
		all = append(all, samples...)
		series := f.window(t).Series[0]
		require.Len(t, series.Times, len(all))
	})
}

func TestEventsComeExactlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		device := agenttest.Devices("n1", 1)[0]
		agent.Tick(watts(1)...)
		agent.Event(xid(1, device))
		after(time.Minute)
		agent.Event(xid(2, device))
		f := newFleet(t, over(network), agent)
		began := time.Now()
		all := f.hub.Subscribe(live.Select{Events: true, Since: began.Add(-time.Hour)})
		defer all.Close()
		recent := f.hub.Subscribe(live.Select{Events: true})
		defer recent.Close()
		none := f.hub.Subscribe(live.Select{})
		defer none.Close()
		expect := func(sub *live.Subscription, want ...uint64) {
			t.Helper()
			_, events, _, _ := heard(sub)
			require.Equal(t, want, events)
		}
		after(time.Second)
		agent.Event(xid(3, device))
		expect(all, 1, 2, 3)
		expect(recent, 2, 3)
		expect(none)

		agent.Drop()
		agent.Event(xid(4, device))
		after(5 * time.Second)
		agent.Event(xid(5, device))
		expect(all, 4, 5)
		expect(recent, 4, 5)

		agent.Restart()
		agent.Event(xid(6, device))
		after(5 * time.Second)
		expect(all, 6)
		late := f.hub.Subscribe(live.Select{Events: true, Since: began.Add(-time.Second)})
		defer late.Close()
		expect(late, 2, 3, 4, 5, 6)

		for range 2000 {
			agent.Event(xid(7, device))
		}
		synctest.Wait()
		got := f.hub.Now(t.Context(), live.Select{Events: true, Wait: time.Second})
		require.Len(t, got.Nodes[0].Events, 1000)
		require.EqualValues(t, 1006, got.Nodes[0].EventsDropped)
	})
}

// A list of a subscription is the newest only, and those of devices that are gone are not mixed up.
func TestListsAreTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		devices := agenttest.Devices("n1", 2)
		agent.Tick(watts(1)...)
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{Processes: true, Owners: true})
		defer sub.Close()
		after(time.Second)
		for pid := range uint32(50) {
			agent.SetProcesses("", gpu.Process{Device: devices[0], PID: pid}, gpu.Process{Device: gpu.Device{Identity: gpu.Identity{UUID: "GPU-new"}}})
			agent.SetOwners(gpu.Ownership{Device: devices[1], Owner: gpu.Owner{SlurmJob: "7"}})
		}
		_, _, processes, owners := heard(sub)
		require.LessOrEqual(t, len(processes), 3, "some, and the newest")
		last := processes[len(processes)-1]
		require.Len(t, last.List, 1)
		require.EqualValues(t, 49, last.List[0].PID)
		require.Equal(t, "7", owners[len(owners)-1].List[0].Owner.SlurmJob)
		late := f.hub.Subscribe(live.Select{Processes: true})
		defer late.Close()
		_, _, processes, owners = heard(late)
		require.Equal(t, []*live.Processes{last}, processes)
		require.Empty(t, owners)
	})
}

// Wishes fade as well while a node cannot be reached: nothing keeps running for them.
func TestWishesFadeWithoutAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		agent.Tick(watts(1)...)
		f := newFleet(t, over(network), agent)
		plain := f.hub.Subscribe(live.Select{})
		defer plain.Close()
		eager := f.hub.Subscribe(live.Select{Period: 100 * time.Millisecond, Events: true})
		after(time.Second)
		agent.Answer(agenttest.Unavailable)
		agent.Drop()
		eager.Close()
		after(time.Minute)
		agent.Answer(agenttest.Healthy)
		after(time.Minute)
		requests := agent.Requests()
		require.Zero(t, requests[len(requests)-1].GetPeriodMs())
		require.False(t, requests[len(requests)-1].GetEvents())
	})
}
