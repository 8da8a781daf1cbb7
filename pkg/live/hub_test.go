package live_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

func TestWindowConnectsAndReadsTheRing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Cluster: "theirs", Network: network})
		for i := range 5 {
			after(time.Second)
			agent.Tick(watts(float64(100+i), float64(200+i))...)
		}
		f := newFleet(t, over(network), agent)
		f.targets[0].Cluster = "north"

		got := f.window(t)
		require.Empty(t, got.Notices)
		require.Len(t, got.Series, 2)
		require.Equal(t, []float64{100, 101, 102, 103, 104}, got.Series[0].Values)
		require.Equal(t, []float64{200, 201, 202, 203, 204}, got.Series[1].Values)
		require.Equal(t, gpu.Identity{Cluster: "north", Node: "n1", UUID: "GPU-n1-0"}, got.Series[0].Device.Identity,
			"the cluster that discovery found wins, because history has that one")
		require.Equal(t, time.Second, got.Period)
		require.Len(t, got.Nodes, 1)
		require.Equal(t, live.Connected, got.Nodes[0].State)
		require.Equal(t, "0.9.0", got.Nodes[0].AgentVersion)
		require.Equal(t, "simulate", got.Nodes[0].Source)
		require.Equal(t, 2, got.Nodes[0].Devices)
		require.Len(t, f.hub.Devices(), 2)

		since := time.UnixMilli(got.Series[0].Times[3])
		got = f.hub.Window(t.Context(), live.Select{Metric: power, Since: since})
		require.Equal(t, []float64{103, 104}, got.Series[0].Values)
		require.Empty(t, f.hub.Window(t.Context(), live.Select{Metric: "gpu_fan_speed_ratio"}).Series)
	})
}

func TestOneConnectionForAllAndItLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		var subs []*live.Subscription
		for range 30 {
			subs = append(subs, f.hub.Subscribe(live.Select{}))
			f.window(t)
		}
		after(time.Second)
		require.Equal(t, 1, agent.Connections())
		for _, sub := range subs {
			sub.Close()
			sub.Close()
		}
		after(14 * time.Second)
		require.Equal(t, 1, agent.Connections(), "it lingers")

		f.window(t)
		after(14 * time.Second)
		require.Equal(t, 1, agent.Connections(), "somebody looked again")
		after(2 * time.Second)
		require.Zero(t, agent.Connections())
		require.Equal(t, 1, agent.Accepted())
		require.Equal(t, live.Idle, f.status(t).State)
		require.Len(t, f.hub.Devices(), 2, "what was seen is remembered")
	})
}

// C05: panels and Explore tabs that come and go leave nothing behind.
func TestNothingIsLeftOfSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		round := func() {
			var subs []*live.Subscription
			for range 30 {
				subs = append(subs, f.hub.Subscribe(live.Select{}))
			}
			after(5 * time.Second)
			for _, sub := range subs {
				sub.Close()
			}
			after(time.Minute)
		}
		round()
		before := runtime.NumGoroutine()
		round()
		// The runtime and other tests' servers have goroutines of their own; a leak would be one for each subscription.
		require.Less(t, runtime.NumGoroutine(), before+30)
		require.Zero(t, agent.Connections())
	})
}

// C07, C16: who comes later gets names and the last value with its time at once, after a reconnect too.
func TestASubscriberGetsTheLastSampleAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		first := f.hub.Subscribe(live.Select{})
		defer first.Close()
		after(time.Second)
		agent.Tick(watts(300, 400)...)
		taken := time.Now()
		after(time.Hour)

		late := f.hub.Subscribe(live.Select{})
		defer late.Close()
		samples, states := drain(late)
		require.Len(t, samples, 1)
		require.Equal(t, []float64{300}, powers(samples))
		require.WithinDuration(t, taken, samples[0].Sample.Time, time.Millisecond)
		require.Equal(t, "n1", samples[0].Target.Node)
		require.Len(t, samples[0].Schema.Devices, 2)
		require.Len(t, states, 1)
		require.Equal(t, live.Stale, states[0].State)
		require.ErrorContains(t, states[0].Err, "n1:9847): it is connected but has sent no samples for")

		agent.Drop()
		after(5 * time.Second)
		agent.Tick(watts(310, 410)...)
		samples, _ = drain(late)
		require.Equal(t, []float64{310}, powers(samples))
		require.NotNil(t, samples[0].Schema)
		_, states = drain(first)
		require.NotEmpty(t, states)
	})
}

func TestReconnectResumesWithoutHoleAndWithoutRepeat(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaf %v", deaf), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := agenttest.NewNetwork()
				agent := agenttest.New(t, agenttest.Options{Network: network})
				if deaf {
					agent.Deaf()
				}
				f := newFleet(t, over(network), agent)
				sub := f.hub.Subscribe(live.Select{})
				defer sub.Close()
				n := 0.0
				tick := func() {
					after(time.Second)
					n++
					agent.Tick(watts(n)...)
					synctest.Wait()
				}
				for range 3 {
					tick()
				}
				agent.Answer(agenttest.Unavailable)
				agent.Drop()
				for range 4 {
					tick()
				}
				agent.Answer(agenttest.Healthy)
				for range 20 {
					tick()
				}
				want := make([]float64, int(n))
				for i := range want {
					want[i] = float64(i + 1)
				}
				requests := agent.Requests()
				require.Equal(t, want, f.window(t).Series[0].Values)
				samples, states := drain(sub)
				require.Equal(t, want, powers(samples), "the hole is filled for subscribers as well")
				var seen []live.State
				for _, s := range states {
					seen = append(seen, s.State)
				}
				require.Equal(t, live.Connected, seen[len(seen)-1])

				require.Empty(t, requests[0].GetResumeEpoch())
				require.EqualValues(t, (30 * time.Second).Milliseconds(), requests[0].GetBackfillMs(), "nobody wants more")
				last := requests[len(requests)-1]
				require.Equal(t, "epoch-1", last.GetResumeEpoch())
				require.Equal(t, uint64(3), last.GetResumeAfter())
				drops := f.status(t).Drops
				require.Zero(t, drops.Missed)
				require.Equal(t, deaf, drops.Repeated == 3, "%v", drops)
			})
		})
	}
}

func TestARestartedAgentGoesOnInTheSameSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		after(time.Second)
		agent.Tick(watts(1)...)
		after(time.Second)
		agent.Tick(watts(2)...)
		after(time.Second)
		agent.Restart()
		agent.Tick(watts(3)...)
		after(5 * time.Second)
		agent.Tick(watts(4)...)
		synctest.Wait()
		require.Equal(t, []float64{1, 2, 3, 4}, f.window(t).Series[0].Values)
		require.Equal(t, live.Drops{}, f.status(t).Drops)
	})
}

// C08: devices that come and go change the schema; every sample still comes with the one it belongs to.
func TestDevicesChangeWhileStreaming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		devices := agenttest.Devices("n1", 3)
		for i, now := range [][]gpu.Device{devices[:2], {devices[1], devices[0]}, devices[:1], devices} {
			after(time.Second)
			if i > 0 {
				agent.ChangeDevices(now)
			}
			var readings []gpu.Reading
			for _, d := range now {
				readings = append(readings, gpu.Read(float64(100*d.Index+i)))
			}
			agent.Tick(readings...)
		}
		samples, _ := drain(sub)
		require.Len(t, samples, 4)
		for i, u := range samples {
			pick := u.Schema.Pick(power)
			for j, v := range pick.Values(u.Sample) {
				require.Equal(t, float64(100*pick.Devices[j].Index+i), v)
			}
		}
		series := f.window(t).Series
		require.Len(t, series, 3)
		require.Equal(t, []float64{0, 1, 2, 3}, series[0].Values)
		require.Equal(t, []float64{100, 101, 103}, series[1].Values)
		require.Equal(t, []float64{203}, series[2].Values)
	})
}

func TestAbsentReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network, Devices: agenttest.Devices("n1", 3)})
		for range 2 {
			after(time.Second)
			agent.Tick(gpu.Absent(gpu.NotSupported), gpu.Absent(gpu.Lost), gpu.Absent(gpu.NoPermission))
		}
		got := newFleet(t, over(network), agent).window(t).Series
		require.Len(t, got, 1, "what this agent cannot read, history may know")
		require.Equal(t, "GPU-n1-1", got[0].Device.UUID)
		require.True(t, math.IsNaN(got[0].Values[0]) && math.IsNaN(got[0].Values[1]), "a lost device is a gap")
	})
}

func TestASlowSubscriberLosesTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		busy := agenttest.New(t, agenttest.Options{Node: "busy", Network: network})
		calm := agenttest.New(t, agenttest.Options{Node: "calm", Network: network})
		f := newFleet(t, func(cfg *live.Config) { cfg.DialContext, cfg.QueueTicks = network.DialContext, 4 }, busy, calm)
		slow, fast := f.hub.Subscribe(live.Select{}), f.hub.Subscribe(live.Select{})
		defer slow.Close()
		defer fast.Close()
		after(time.Second)
		drain(slow)
		calm.Tick(watts(1)...)
		var kept []live.Update
		for i := range 100 {
			after(100 * time.Millisecond)
			busy.Tick(watts(float64(i))...)
			samples, _ := drain(fast)
			kept = append(kept, samples...)
		}
		require.Len(t, kept, 101, "others lose nothing")
		samples, _ := drain(slow)
		var values []float64
		var dropped uint64
		for _, u := range samples {
			dropped += u.Dropped
			if u.Target.Node == "calm" {
				require.Equal(t, 1.0, powers([]live.Update{u})[0], "a busy node does not crowd out a calm one")
				continue
			}
			values = append(values, powers([]live.Update{u})...)
		}
		require.Equal(t, []float64{96, 97, 98, 99}, values[len(values)-4:])
		require.Equal(t, uint64(101-len(samples)), dropped)
		require.Equal(t, dropped, slow.Dropped())
	})
}

// C27: when the settings change, the hub of the old ones is closed; streams end with a reason and no connection stays.
func TestCloseEndsSubscriptionsWithAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{})
		after(time.Second)
		f.hub.Close()
		f.hub.Close()
		synctest.Wait()
		for range sub.C() {
		}
		require.ErrorIs(t, sub.Err(), live.ErrClosed)
		require.Zero(t, agent.Connections())
		sub.Close()

		late := f.hub.Subscribe(live.Select{})
		_, open := <-late.C()
		require.False(t, open)
		require.ErrorIs(t, late.Err(), live.ErrClosed)
		late.Close()
		require.Empty(t, f.window(t).Series)
		after(time.Minute)
		require.Equal(t, 1, agent.Accepted())
	})
}

func TestTargetsComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		first := agenttest.New(t, agenttest.Options{Node: "n1", Network: network})
		second := agenttest.New(t, agenttest.Options{Node: "n2", Network: network})
		f := &fleet{targets: []live.Target{first.Target(), first.Target()}}
		f.hub = live.NewHub(live.Config{
			Allow: allow(t, "n*"), DialContext: network.DialContext,
			Targets: func(ctx context.Context) ([]live.Target, []gpu.Notice, error) {
				targets, _, err := f.find(ctx)
				return targets, []gpu.Notice{{Text: "from discovery"}}, err
			},
		})
		defer f.hub.Close()
		sub := f.hub.Subscribe(live.Select{Match: func(t live.Target) bool { return t.Node != "other" }})
		defer sub.Close()
		after(time.Second)
		require.Equal(t, 1, first.Connections(), "a target that is found twice is one")

		f.change([]live.Target{first.Target(), second.Target()}, nil)
		after(time.Minute)
		require.Equal(t, 1, second.Connections())

		f.change(nil, errors.New("Prometheus is away"))
		after(time.Minute)
		require.Equal(t, 1, first.Connections(), "those found before stay")
		got := f.window(t)
		require.Equal(t, []gpu.Notice{
			{Severity: gpu.Warning, Text: "Find agents: Prometheus is away."}, {Text: "from discovery"},
		}, got.Notices[:2])

		f.change(nil, nil)
		after(time.Minute)
		require.Equal(t, 1, first.Connections(), "what is connected stays, though a new Prometheus does not know it yet")
		second.Stop()
		after(2 * time.Minute)
		nodes, err := f.hub.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, nodes, 1)
		require.Equal(t, "n1", nodes[0].Node)
	})
}

func TestAStaticTargetLearnsItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Node: "n1", Address: "10.0.0.1:9847", Network: network})
		f := newFleet(t, over(network), agent)
		f.targets[0].Node = ""
		sub := f.hub.Subscribe(live.Select{Match: func(t live.Target) bool { return t.Node == "" || t.Node == "n1" }})
		defer sub.Close()
		other := f.hub.Subscribe(live.Select{Match: func(t live.Target) bool { return t.Node == "" || t.Node == "n2" }})
		defer other.Close()
		after(time.Second)
		agent.Tick(watts(1)...)
		samples, _ := drain(sub)
		require.Len(t, samples, 1)
		require.Equal(t, "n1", samples[0].Target.Node)
		require.Equal(t, "n1", samples[0].Schema.Devices[0].Node)
		samples, _ = drain(other)
		require.Empty(t, samples)
		require.Equal(t, "n1", f.status(t).Node)
		require.Empty(t, f.hub.Window(t.Context(), live.Select{
			Metric: power, Match: func(t live.Target) bool { return t.Node == "n2" },
		}).Nodes)
	})
}

func TestNoMoreNodesThanConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		var agents []*agenttest.Agent
		for i := range 4 {
			agents = append(agents, agenttest.New(t, agenttest.Options{Node: fmt.Sprint("n", i), Network: network}))
		}
		f := newFleet(t, func(cfg *live.Config) { cfg.DialContext, cfg.MaxNodes, cfg.Parallel = network.DialContext, 3, 1 }, agents...)
		got := f.window(t)
		require.Len(t, got.Nodes, 3)
		require.Equal(t, "1 nodes are left out because 3 are connected already: choose fewer nodes.", got.Notices[len(got.Notices)-1].Text)
	})
}

// A subscriber that says where its history ends gets what the ring has from there on.
func TestSubscribeSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		f.window(t)
		var times []time.Time
		for i := range 5 {
			after(time.Second)
			times = append(times, time.Now())
			agent.Tick(watts(float64(i))...)
		}
		synctest.Wait()
		sub := f.hub.Subscribe(live.Select{Since: times[2]})
		defer sub.Close()
		after(time.Second)
		agent.Tick(watts(5)...)
		samples, _ := drain(sub)
		require.Equal(t, []float64{2, 3, 4, 5}, powers(samples))
	})
}
