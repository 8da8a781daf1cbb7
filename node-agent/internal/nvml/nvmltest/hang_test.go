package nvmltest_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/collect"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// hang: reading GPU 1 never comes back. It is called hung, GPU 0 goes on, and the agent can still be stopped.
func hang(t *testing.T) {
	cat, err := catalog.Load()
	require.NoError(t, err)
	rows, err := snapshot.LoadRows(cat)
	require.NoError(t, err)
	store := snapshot.NewStore(99*time.Second, 1<<24)
	c := collect.New(collect.Options{
		Source: loaded(t).Source, Store: store, Rows: rows, Metrics: collect.NewMetrics(prometheus.NewRegistry()),
		Node: snapshot.Node{Name: "n1", Period: 50 * time.Millisecond}, Logger: slog.New(slog.DiscardHandler),
		HungAfter: 300 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()

	states := func() (first, second snapshot.State) {
		f := store.Newest()
		if f == nil || f.Status == nil || len(f.Status.Boards) != 2 {
			return "", ""
		}
		return f.Status.Boards[0].Condition.State, f.Status.Boards[1].Condition.State
	}
	becomes := func(want snapshot.State) {
		require.Eventually(t, func() bool {
			first, second := states()
			return first == snapshot.StateOK && second == want
		}, 30*time.Second, 10*time.Millisecond)
	}
	becomes(snapshot.StateOK)
	require.NoError(t, os.Setenv(modeVariable, "hang"))
	becomes(snapshot.StateHung)
	seq := store.Newest().Seq
	require.Eventually(t, func() bool { return store.Newest().Seq > seq+5 }, 30*time.Second, 10*time.Millisecond,
		"the other GPU is still read")
	becomes(snapshot.StateHung)
	require.NoError(t, os.Setenv(modeVariable, ""))
	becomes(snapshot.StateOK)

	require.NoError(t, os.Setenv(modeVariable, "hang"))
	becomes(snapshot.StateHung)
	cancel()
	require.NoError(t, <-done, "a call that hangs is no reason not to end")
	require.NoError(t, os.Setenv(modeVariable, "")) // lets the call come back, and its worker end
}
