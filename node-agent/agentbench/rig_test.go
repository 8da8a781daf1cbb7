package agentbench

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/warpwatch/warpwatch/node-agent/internal/collect"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/export"
	nvmlsource "github.com/warpwatch/warpwatch/node-agent/internal/nvml"
	"github.com/warpwatch/warpwatch/node-agent/internal/nvml/nvmltest"
	"github.com/warpwatch/warpwatch/node-agent/internal/server"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is an agent in this process, on eight GPUs.
type rig struct {
	machine  *nvmltest.Machine
	store    *snapshot.Store
	metrics  http.Handler
	web      *server.Server
	exporter *export.Exporter
	lateness *lateness
	stop     func() // ends sampling; may be called again
}

// start lets an agent sample a profile with its fast groups every tick. Its GPUs take their time when slow is set.
func start(tb testing.TB, profile device.Profile, tick time.Duration, slow bool) *rig {
	tb.Helper()
	spec, err := nvmltest.Load("dgx_h200")
	require.NoError(tb, err)
	machine, err := nvmltest.New(spec, nvmltest.Options{Now: time.Now, Slow: slow})
	require.NoError(tb, err)
	cat, rows := table(tb)
	logger := slog.New(slog.DiscardHandler)
	r := &rig{
		machine: machine, store: snapshot.NewStore(2*time.Minute, 8<<20),
		lateness: &lateness{Source: nvmlsource.New(machine, nvmlsource.Options{Proc: tb.TempDir(), Logger: logger})},
	}
	node := snapshot.Node{Name: "n1", Version: "bench", Source: "nvml", Epoch: "bench", Period: tick}
	own := prometheus.NewRegistry()
	processes := new(snapshot.Latest[snapshot.ProcessList])
	r.exporter, err = export.New(export.Options{
		Store: r.store, Node: node, Catalog: cat, Processes: processes,
		Settings: export.Settings{Window: export.DefaultWindow, Windowed: export.FastGroups(), MaxProcesses: 20},
	})
	require.NoError(tb, err)
	r.metrics = export.Handler(export.HandlerOptions{Exporter: r.exporter, Own: own, Logger: logger})
	r.web, err = server.New(server.Options{
		Node: node, Store: r.store, Empty: snapshot.NewSchema(node, "", nil, device.AllGroups, rows), Metrics: r.metrics,
		MaxSubscribers: 100, Registerer: own, Logger: logger, Processes: processes,
	})
	require.NoError(tb, err)
	collector := collect.New(collect.Options{
		Source: r.lateness, Store: r.store, Node: node, Rows: rows, Metrics: collect.NewMetrics(own), Logger: logger,
		Schedule: collect.NewSchedule(profile, collect.ClassIntervals(tick)), Processes: processes,
		Events: snapshot.NewEventLog(100),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- collector.Run(ctx) }()
	stopped := false
	r.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(tb, <-done)
		}
	}
	tb.Cleanup(r.stop)
	require.Eventually(tb, func() bool {
		f := r.store.Newest()
		return f != nil && f.Seq > 2 && len(f.Schema.Devices) == 8
	}, 30*time.Second, 5*time.Millisecond)
	return r
}

func table(tb testing.TB) (*catalog.Catalog, *snapshot.Rows) {
	tb.Helper()
	cat, err := catalog.Load()
	require.NoError(tb, err)
	rows, err := snapshot.LoadRows(cat)
	require.NoError(tb, err)
	return cat, rows
}

// listen serves the agent's port until the test ends.
func (r *rig) listen(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.web.Run(ctx, []net.Listener{l}) }()
	tb.Cleanup(func() {
		cancel()
		require.NoError(tb, <-done)
	})
	return l.Addr().String()
}

// processorTime is what this process had of the processors until now.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u unix.Rusage
	require.NoError(tb, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return io.Discard.Write(b) }
func (d *discard) WriteHeader(int)             {}

// percentile is the value that a share of all does not exceed.
func percentile(values []time.Duration, share float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(share*float64(len(values))), len(values)-1)]
}
