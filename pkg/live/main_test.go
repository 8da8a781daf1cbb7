package live_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const power = "gpu_power_watts"

func allow(t testing.TB, entries ...string) *live.AllowList {
	t.Helper()
	list, err := live.ParseAllowList(entries)
	require.NoError(t, err)
	return list
}

// fleet is agents on a network in memory, and a hub that finds them.
type fleet struct {
	hub *live.Hub

	mu      sync.Mutex
	targets []live.Target
	fail    error
}

// find is what discovery answers.
func (f *fleet) find(context.Context) ([]live.Target, []gpu.Notice, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.targets), nil, f.fail
}

// change changes what discovery answers from now on.
func (f *fleet) change(targets []live.Target, fail error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.targets, f.fail = targets, fail
}

func newFleet(t testing.TB, change func(*live.Config), agents ...*agenttest.Agent) *fleet {
	t.Helper()
	f := &fleet{}
	for _, a := range agents {
		f.targets = append(f.targets, a.Target())
	}
	cfg := live.Config{
		Allow:   allow(t, "*"),
		Targets: f.find,
	}
	change(&cfg)
	f.hub = live.NewHub(cfg)
	t.Cleanup(f.hub.Close)
	return f
}

func over(n *agenttest.Network) func(*live.Config) {
	return func(cfg *live.Config) { cfg.DialContext = n.DialContext }
}

func (f *fleet) window(t testing.TB) live.WindowResult {
	t.Helper()
	return f.hub.Window(t.Context(), live.Select{Metric: power, Wait: 3 * time.Second})
}

func (f *fleet) status(t testing.TB) live.NodeStatus {
	t.Helper()
	nodes, err := f.hub.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	return nodes[0]
}

// after lets time pass in a bubble, and everything that is due happen.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// drain takes what a subscription has by now.
func drain(sub *live.Subscription) (samples []live.Update, states []live.NodeStatus) {
	for {
		synctest.Wait()
		select {
		case u, ok := <-sub.C():
			switch {
			case !ok:
				return samples, states
			case u.Status != nil:
				states = append(states, *u.Status)
			default:
				samples = append(samples, u)
			}
		default:
			return samples, states
		}
	}
}

func watts(values ...float64) []gpu.Reading {
	readings := make([]gpu.Reading, len(values))
	for i, v := range values {
		readings[i] = gpu.Read(v)
	}
	return readings
}

// powers are the first device's values in the updates.
func powers(updates []live.Update) []float64 {
	values := make([]float64, len(updates))
	for i, u := range updates {
		values[i] = u.Schema.Pick(power).Values(u.Sample)[0]
	}
	return values
}
