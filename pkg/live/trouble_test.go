package live_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

const token = "s3cr3t-token"

// Every kind of trouble has a state and a message that names the node, the address and the remedy, and no secret.
func TestTroubleIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name  string
		wrong func(*agenttest.Agent)
		allow []string
		state live.State
		kind  live.Kind
		text  string
	}{
		{
			name: "empty allow-list", allow: []string{}, state: live.Refused, kind: live.KindDenied,
			text: "no agent may be connected to yet: add n1, a pattern such as *.example.com, or a range such as 10.0.0.0/8 to the allowed agents in the data source's settings",
		},
		{
			name: "not in the allow-list", allow: []string{"m*"}, state: live.Refused, kind: live.KindDenied,
			text: "n1 is not among the allowed agents",
		},
		{
			name: "401", wrong: answer(agenttest.Unauthorized), state: live.Refused, kind: live.KindUnauthorized,
			text: "it does not accept the credentials (401 Unauthorized): set user and password or token of the agents in the data source's settings",
		},
		{
			name: "403", wrong: answer(agenttest.Forbidden), state: live.Refused, kind: live.KindUnauthorized,
			text: "it does not accept the credentials (403 Forbidden)",
		},
		{
			name: "404", wrong: answer(agenttest.NotFound), state: live.Refused, kind: live.KindGarbage,
			text: "it answers, but has no stream (404 Not Found): check that the address is a warpwatch-agent's",
		},
		{
			name: "503", wrong: answer(agenttest.Unavailable), state: live.Unreachable, kind: live.KindUnreachable,
			text: "it or a proxy before it is not available (503 Service Unavailable)",
		},
		{
			name: "a web page", wrong: answer(agenttest.HTML), state: live.Refused, kind: live.KindGarbage,
			text: "it answers with a web page (200 OK): check that the address",
		},
		{
			name: "a redirect", wrong: answer(agenttest.Redirect), state: live.Refused, kind: live.KindGarbage,
			text: "it redirects elsewhere (302 Found to elsewhere.example.com), which is not followed: use the agent's own address",
		},
		{
			name: "not protobuf", wrong: answer(agenttest.Garbage), state: live.Refused, kind: live.KindGarbage,
			text: "it sends messages that are not a warpwatch stream's: check that the address",
		},
		{
			name: "a message without end", wrong: answer(agenttest.Large), state: live.Refused, kind: live.KindGarbage,
			text: "it sends messages larger than any agent's: check that the address",
		},
		{
			name: "text", wrong: answer(agenttest.Text), state: live.Refused, kind: live.KindGarbage,
			text: "it sends text where binary messages belong",
		},
		{
			name: "samples first", wrong: answer(agenttest.Headless), state: live.Refused, kind: live.KindGarbage,
			text: "it sends samples before the schema",
		},
		{
			name: "a schema that does not add up", wrong: answer(agenttest.Inconsistent), state: live.Refused, kind: live.KindGarbage,
			text: "its schema is not consistent (read schema: column 0 names device 99 of 2)",
		},
		{
			name: "silence", wrong: answer(agenttest.Silent), state: live.Unreachable, kind: live.KindTimeout,
			text: "it accepts connections but sends no stream: look at the agent's log",
		},
		{
			name: "an older stream", wrong: func(a *agenttest.Agent) { a.SchemaVersion(0) }, state: live.Refused, kind: live.KindVersion,
			text: "agent 0.9.0 speaks stream version 0, this plugin speaks 1: upgrade the agent",
		},
		{
			name: "a newer stream", wrong: func(a *agenttest.Agent) { a.SchemaVersion(2) }, state: live.Refused, kind: live.KindVersion,
			text: "agent 0.9.0 speaks stream version 2, this plugin speaks 1: upgrade the plugin",
		},
		{
			name: "nobody there", wrong: func(a *agenttest.Agent) { a.Stop() }, state: live.Unreachable, kind: live.KindUnreachable,
			text: "it refuses connections: check that warpwatch-agent runs there",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := agenttest.NewNetwork()
				agent := agenttest.New(t, agenttest.Options{Network: network})
				if tc.wrong != nil {
					tc.wrong(agent)
				}
				f := newFleet(t, func(cfg *live.Config) {
					cfg.DialContext = network.DialContext
					cfg.Header = http.Header{"Authorization": {"Bearer " + token}}
					if tc.allow != nil {
						cfg.Allow = allow(t, tc.allow...)
					}
				}, agent)
				sub := f.hub.Subscribe(live.Select{})
				defer sub.Close()
				after(20 * time.Second)
				got := f.window(t)
				require.Len(t, got.Nodes, 1)
				status := got.Nodes[0]
				require.Equal(t, tc.state, status.State)
				var e *live.Error
				require.ErrorAs(t, status.Err, &e)
				require.Equal(t, tc.kind, e.Kind)
				require.Contains(t, e.Error(), "agent n1 (n1:9847): "+tc.text)
				require.NotZero(t, status.Since)
				require.Len(t, got.Notices, 1)
				require.Contains(t, got.Notices[0].Text, tc.text)
				for _, text := range []string{e.Error(), got.Notices[0].Text} {
					require.NotContains(t, text, token)
					require.NotContains(t, text, "<html>")
				}
				_, states := drain(sub)
				require.NotEmpty(t, states, "a viewer is told")
				require.Equal(t, tc.state, states[len(states)-1].State)
				if tc.kind == live.KindDenied {
					require.Zero(t, network.Dials(), "nothing is dialled")
				}
			})
		})
	}
}

func answer(a agenttest.Answer) func(*agenttest.Agent) {
	return func(agent *agenttest.Agent) { agent.Answer(a) }
}

// C04: whatever an agent does, a stream lives until its reader ends it, and the agent is not hammered.
func TestAgentsAreNotHammered(t *testing.T) {
	for name, wrong := range map[string]func(*agenttest.Agent){
		"unreachable":      func(a *agenttest.Agent) { a.Stop() },
		"sends nothing":    answer(agenttest.Silent),
		"turns down":       answer(agenttest.Unauthorized),
		"sends rubbish":    answer(agenttest.Garbage),
		"closes after 3 s": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := agenttest.NewNetwork()
				agent := agenttest.New(t, agenttest.Options{Network: network})
				if wrong != nil {
					wrong(agent)
				} else {
					go func() {
						for range 100 {
							time.Sleep(3 * time.Second)
							agent.Drop()
						}
					}()
				}
				f := newFleet(t, over(network), agent)
				sub := f.hub.Subscribe(live.Select{})
				defer sub.Close()
				after(time.Minute)
				require.Less(t, network.Dials(), 10)
				require.NoError(t, sub.Err())
				first := network.Dials()
				after(4 * time.Minute)
				require.LessOrEqual(t, network.Dials()-first, 4*4)
				_, states := drain(sub)
				require.NotEmpty(t, states)
			})
		})
	}
}

func TestItComesBackByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		agent.Answer(agenttest.Unavailable)
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		after(5 * time.Minute)
		require.Equal(t, live.Unreachable, f.status(t).State)
		agent.Answer(agenttest.Healthy)
		after(31 * time.Second)
		agent.Tick(watts(1)...)
		synctest.Wait()
		status := f.status(t)
		require.Equal(t, live.Connected, status.State)
		require.NoError(t, status.Err)
	})
}

func TestAWindowWaitsNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		well := agenttest.New(t, agenttest.Options{Node: "n1", Network: network})
		silent := agenttest.New(t, agenttest.Options{Node: "n2", Network: network})
		silent.Answer(agenttest.Silent)
		well.Tick(watts(1)...)
		f := newFleet(t, over(network), well, silent)
		start := time.Now()
		got := f.window(t)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Len(t, got.Series, 2)
		require.Len(t, got.Notices, 1)
		require.Equal(t, "Not connected yet, live values follow: n2 (n2:9847).", got.Notices[0].Text)

		after(time.Minute)
		f.window(t)
		start = time.Now()
		f.window(t)
		require.Zero(t, time.Since(start), "nobody waits for a node that is known to be in trouble")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.hub.Window(ctx, live.Select{Metric: power, Wait: time.Hour})
		require.Zero(t, time.Since(start))
	})
}

func TestManyNodesInTroubleAreFewNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, over(agenttest.NewNetwork()))
		for _, name := range strings.Split("abcdefghijklmnop", "") {
			f.targets = append(f.targets, live.Target{Node: name, Address: name + ":9847"})
		}
		got := f.window(t)
		require.Len(t, got.Nodes, 16)
		require.Len(t, got.Notices, 4)
		require.Equal(t, "The same goes for d (d:9847), e (e:9847), f (f:9847), g (g:9847), h (h:9847), i (i:9847), j (j:9847), k (k:9847) and 5 more.", got.Notices[3].Text)
	})
}

func TestHeartbeatsKeepAConnectionAndTheirAbsenceEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := agenttest.NewNetwork()
		agent := agenttest.New(t, agenttest.Options{Network: network})
		f := newFleet(t, over(network), agent)
		sub := f.hub.Subscribe(live.Select{})
		defer sub.Close()
		after(10 * time.Minute)
		require.Equal(t, 1, agent.Accepted())
		agent.Mute()
		var seen []string
		for range 30 {
			after(time.Second)
			_, states := drain(sub)
			for _, s := range states {
				if s.Err != nil {
					seen = append(seen, s.Err.Error())
				}
			}
		}
		require.Greater(t, agent.Accepted(), 1)
		require.Contains(t, seen, "agent n1 (n1:9847): neither samples nor heartbeats come any more: connecting again")
	})
}

func TestRepeatedAndReorderedTicks(t *testing.T) {
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
		agent.Send(&wire.Tick{Seq: 2, TimeUnixMs: time.Now().UnixMilli(), Changed: []uint32{0}, Deltas: []int64{5000}})
		after(time.Second)
		agent.Skip(3)
		agent.Tick(watts(3)...)
		synctest.Wait()
		require.Equal(t, live.Drops{Repeated: 1, Missed: 3}, f.status(t).Drops)
		require.Equal(t, 1, agent.Accepted())

		agent.Send(&wire.Tick{Seq: 1, TimeUnixMs: time.Now().UnixMilli(), Changed: []uint32{0}, Deltas: []int64{5000}})
		synctest.Wait()
		require.Equal(t, live.Stale, f.status(t).State)
		require.ErrorContains(t, f.status(t).Err, "it sends sample 1 after sample 6: connecting again")
		after(3 * time.Second)
		require.Equal(t, 2, agent.Accepted(), "after a disorder a clean stream is asked for")
		agent.TickAt(time.Now().Add(-3500*time.Millisecond), watts(66)...)
		after(time.Second)
		agent.Tick(watts(4)...)
		samples, _ := drain(sub)
		require.Equal(t, []float64{1, 2, 3, 4}, powers(samples), "a new stream begins where the old one was in order")
		require.Equal(t, live.Drops{Repeated: 1, Missed: 3, Late: 1, Reordered: 1}, f.status(t).Drops)
	})
}

func TestCredentialsAndTLS(t *testing.T) {
	agent := agenttest.New(t, agenttest.Options{TLS: true, Want: http.Header{"Authorization": {"Bearer " + token}}})
	agent.Tick(watts(1)...)
	secure := func(change func(*live.Config)) live.WindowResult {
		f := newFleet(t, func(cfg *live.Config) {
			cfg.Allow = allow(t, "127.0.0.1")
			cfg.Header = http.Header{"Authorization": {"Bearer " + token}}
			cfg.TLS = &tls.Config{RootCAs: agent.CertPool(), ServerName: "example.com"}
			change(cfg)
		}, agent)
		return f.hub.Window(t.Context(), live.Select{Metric: power, Wait: time.Minute})
	}
	trouble := func(r live.WindowResult) (live.Kind, string) {
		var e *live.Error
		require.ErrorAs(t, r.Nodes[0].Err, &e)
		return e.Kind, e.Error()
	}

	require.Len(t, secure(func(*live.Config) {}).Series, 2)

	kind, text := trouble(secure(func(cfg *live.Config) { cfg.Header = http.Header{"Authorization": {"Bearer old-token"}} }))
	require.Equal(t, live.KindUnauthorized, kind)
	require.NotContains(t, text, "old-token")

	kind, text = trouble(secure(func(cfg *live.Config) { cfg.TLS = nil }))
	require.Equal(t, live.KindTLS, kind)
	require.Contains(t, text, "add the authority's certificate for the agents in the data source's settings")

	kind, text = trouble(secure(func(cfg *live.Config) { cfg.TLS.ServerName = "other.example.org" }))
	require.Equal(t, live.KindTLS, kind)
	require.Contains(t, text, "its certificate is for another name")

	plain := agenttest.New(t, agenttest.Options{})
	target := plain.Target()
	target.Scheme = "https"
	f := newFleet(t, func(cfg *live.Config) { cfg.Allow = allow(t, "127.0.0.0/8") })
	f.targets = []live.Target{target}
	kind, text = trouble(f.hub.Window(t.Context(), live.Select{Metric: power, Wait: time.Minute}))
	require.Equal(t, live.KindTLS, kind)
	require.Contains(t, text, "it does not speak TLS: set the agents' scheme to http")

	target = agent.Target()
	target.Scheme = "http"
	f = newFleet(t, func(cfg *live.Config) { cfg.Allow = allow(t, "127.0.0.0/8") })
	f.targets = []live.Target{target}
	_, text = trouble(f.hub.Window(t.Context(), live.Select{Metric: power, Wait: time.Minute}))
	require.Contains(t, text, "set the agents' scheme to https")
}

func TestAddressesThatAreNone(t *testing.T) {
	f := newFleet(t, func(cfg *live.Config) { cfg.Allow = allow(t, "*", "0.0.0.0/0") })
	for _, address := range []string{"n1", "user:pass@n1:9847", "n1:9847/metrics", "n1:0", "n1:99999", ":9847", "n 1:9847", "http://n1:9847"} {
		f.targets = append(f.targets, live.Target{Node: "n1", Cluster: address, Address: address})
	}
	got := f.hub.Window(t.Context(), live.Select{Metric: power, Wait: time.Minute})
	require.Len(t, got.Nodes, 8)
	for _, n := range got.Nodes {
		require.Equal(t, live.Refused, n.State)
		require.ErrorContains(t, n.Err, "its address")
		require.NotContains(t, n.Err.Error(), "pass")
	}
}
