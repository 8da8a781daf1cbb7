package faults

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

// What goes wrong between the plugin and an agent that is well.
func TestNetworkFaults(t *testing.T) {
	a := startAgent(t, "--node-name=n1", "--simulate.gpus=2")
	for _, tc := range []struct {
		name  string
		fault func(*scene, *proxy)
	}{
		{"connections are reset", func(s *scene, p *proxy) {
			for range 2 {
				p.reset()
				s.told(live.KindClosed)
				s.flowing(1)
			}
		}},
		{"nobody listens for a while", func(s *scene, p *proxy) {
			p.become(refusing)
			s.told(live.KindClosed, live.KindUnreachable)
			time.Sleep(10 * period)
			p.become(passing)
		}},
		{"partition", func(s *scene, p *proxy) {
			p.become(frozen)
			require.Equal(s.t, live.Unreachable, s.told(live.KindTimeout).State)
			p.become(passing)
		}},
		{"half-open connection", func(s *scene, p *proxy) {
			p.become(swallowed)
			require.Equal(s.t, live.Unreachable, s.told(live.KindTimeout).State)
			p.become(passing)
		}},
		{"300 ms and every twentieth packet lost", func(s *scene, p *proxy) {
			p.slow(300*time.Millisecond, 0.05)
			s.flowing(1)
			p.reset()
			s.told(live.KindClosed)
			s.flowing(1)
			p.slow(0, 0)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProxy(t, a.address)
			s := newScene(t, p.address())
			tc.fault(s, p)
			s.flowing(1)
			require.Equal(t, 1, len(s.window().Nodes))
			s.exactlyOnce(a.address, expect{values: true})
			s.held()
			s.grewNot()
			s.end(p)
		})
	}
}

// What happens to the agent's process.
func TestProcessFaults(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault func(*scene, *agent)
		check func(*scene)
	}{
		{"killed and started again", func(s *scene, a *agent) {
			a.stop(syscall.SIGKILL)
			s.told(live.KindClosed, live.KindUnreachable)
			a.start()
		}, nil},
		{"paused", func(s *scene, a *agent) {
			a.signal(syscall.SIGSTOP)
			require.Equal(s.t, live.Unreachable, s.told(live.KindTimeout).State)
			require.Contains(s.t, s.window().Notices[0].Text, "n1 ("+a.address+")")
			a.signal(syscall.SIGCONT)
		}, nil},
		{"upgraded", func(s *scene, a *agent) {
			require.Equal(s.t, first, s.status().AgentVersion)
			a.stop(syscall.SIGTERM)
			require.Contains(s.t, s.told(live.KindClosed).Err.Error(), "the agent is stopping")
			a.version = second
			a.start()
		}, func(s *scene) { require.Equal(s.t, second, s.status().AgentVersion) }},
		{"renamed", func(s *scene, a *agent) {
			require.Equal(s.t, "n1", s.status().Node)
			a.stop(os.Interrupt)
			a.args[0] = "--node-name=n2"
			a.start()
		}, func(s *scene) {
			require.Equal(s.t, "n2", s.status().Node)
			for _, d := range s.hub.Devices() {
				require.Equal(s.t, "n2", d.Node)
			}
		}},
		{"started again with MIG", func(s *scene, a *agent) {
			a.stop(syscall.SIGTERM)
			a.args = append(a.args, "--simulate.mig=default")
			a.start()
		}, func(s *scene) {
			require.Greater(s.t, s.status().Devices, 2)
			instances := 0
			for _, d := range s.hub.Devices() {
				if d.IsMIG() {
					instances++
				}
			}
			require.Equal(s.t, s.status().Devices-2, instances)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := startAgent(t, "--node-name=n1", "--simulate.gpus=2")
			s := newScene(t, a.address)
			tc.fault(s, a)
			s.flowing(1)
			if tc.check != nil {
				tc.check(s)
			}
			s.exactlyOnce(a.address, expect{values: true})
			s.held()
			s.grewNot()
			s.end()
		})
	}
}

// A clock that is set while samples come moves none of them on the plugin's clock, and is told.
func TestClockJumps(t *testing.T) {
	a := startAgent(t, "--node-name=n1", "--simulate.gpus=2")
	for _, jump := range []time.Duration{5 * time.Minute, -5 * time.Minute} {
		t.Run(jump.String(), func(t *testing.T) {
			r := newRelay(t, a.address)
			s := newScene(t, r.address())
			r.set(func() { r.skew = jump })
			s.eventually(func() bool { return s.status().Correction == jump })
			s.flowing(1)
			told := false
			for _, n := range s.window().Notices {
				told = told || n.Text == "Clocks are off, samples were moved to the time they came: n1 ("+r.address()+") by "+
					map[bool]string{true: "+300", false: "-300"}[jump > 0]+" s; let NTP or chrony keep the time there."
			}
			require.True(t, told, "%v", s.window().Notices)
			r.set(func() { r.skew = 0 })
			s.eventually(func() bool { return s.status().Correction == 0 })
			s.flowing(1)
			s.exactlyOnce(a.address, expect{values: true, off: 2 * time.Second})
			s.held()
			s.grewNot()
			s.end(r)
		})
	}
}

// A GPU falls off the bus and comes back, and another is split, while the agent runs.
func TestGPUsChange(t *testing.T) {
	a := startAgent(t, "--node-name=n1", "--simulate.gpus=2")
	t.Run("lost", func(t *testing.T) {
		r := newRelay(t, a.address)
		s := newScene(t, r.address())
		uuid := s.hub.Devices()[1].UUID
		for _, d := range s.hub.Devices() {
			if d.Index == 1 {
				uuid = d.UUID
			}
		}
		r.set(func() { r.lost = true })
		require.NoError(t, r.tell(&wire.Event{Seq: 1, TimeUnixMs: time.Now().UnixMilli(), Kind: "xid", Xid: 79, Origin: "nvml", Uuid: uuid}))
		s.eventually(func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.absent[uuid] > 3 && len(s.events) == 1
		})
		s.mu.Lock()
		require.Len(t, s.absent, 1, "the other GPU is well")
		require.EqualValues(t, 79, s.events[0].XID)
		require.Equal(t, uuid, s.events[0].Device.UUID)
		s.mu.Unlock()
		for _, line := range s.window().Series {
			n := len(line.Values)
			require.Equal(t, line.Device.UUID == uuid, line.Values[n-1] != line.Values[n-1], "a gap for the lost GPU alone")
		}
		r.set(func() { r.lost = false })
		s.flowing(1)
		s.exactlyOnce(a.address, expect{})
		s.held()
		s.grewNot()
		s.end(r)
	})
	t.Run("split", func(t *testing.T) {
		r := newRelay(t, a.address)
		s := newScene(t, r.address())
		before := len(s.hub.Devices())
		r.set(func() { r.split = true })
		s.eventually(func() bool { return len(s.hub.Devices()) == before+2 })
		s.flowing(1)
		instances := 0
		for _, line := range s.window().Series {
			if line.Device.IsMIG() {
				instances++
			}
		}
		require.Equal(t, 2, instances)
		r.set(func() { r.split = false })
		s.eventually(func() bool { return len(s.hub.Devices()) == before })
		s.flowing(1)
		s.exactlyOnce(a.address, expect{})
		s.held()
		s.grewNot()
		s.end(r)
	})
}
