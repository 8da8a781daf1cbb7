package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/config"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/logrule"
	"github.com/warpwatch/warpwatch/node-agent/internal/otlpexport"
	"github.com/warpwatch/warpwatch/node-agent/internal/redfish"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

// everything switches all parts on. Nothing of what it names has to answer.
func everything(t *testing.T) config.File {
	t.Helper()
	folder := t.TempDir()
	credentials := filepath.Join(folder, "credentials")
	require.NoError(t, os.WriteFile(credentials, []byte("user:password"), 0o600))
	f := config.Defaults()
	f.Owners.Kubelet.Socket, f.Owners.Slurm.Folder = filepath.Join(folder, "kubelet.sock"), filepath.Join(folder, "jobs")
	f.Owners.Kubelet.PodLogs, f.Owners.Kubelet.ContainerLogs = "", ""
	f.Workload.Textfile.Folder = folder
	f.LogRules = []logrule.Rule{{Name: "oops_total", Type: logrule.Counter, Files: []string{filepath.Join(folder, "*.log")}, Match: "oops"}}
	f.Redfish = []redfish.Config{
		{Endpoint: "https://127.0.0.1:1", CredentialsFile: credentials}, {Endpoint: "https://127.0.0.2:1", CredentialsFile: credentials},
	}
	f.OTLPExport = otlpexport.Config{Endpoint: "http://127.0.0.1:1"}
	return f
}

// Every part can be replaced by another of its kind, switched off and on again, and leaves nothing behind.
func TestPartsAreReplaced(t *testing.T) {
	own := prometheus.NewRegistry()
	in := &inputs{
		node: snapshot.Node{Name: "n1", Source: config.SourceNVML, Period: time.Second}, store: snapshot.NewStore(1*time.Second, 1<<24),
		processes: new(snapshot.Latest[snapshot.ProcessList]), owners: new(snapshot.Latest[snapshot.OwnerList]),
		workload: workload.New(workload.Options{Node: "n1"}), emit: func(device.Event) {}, own: own, log: slog.New(slog.DiscardHandler),
	}
	figures := func() map[string]bool {
		families, err := own.Gather()
		require.NoError(t, err)
		parts := map[string]bool{}
		for _, f := range families {
			parts[strings.Split(strings.TrimPrefix(f.GetName(), "warpwatch_agent_"), "_")[0]] = true
		}
		return parts
	}
	all := map[string]bool{"owners": true, "textfile": true, "log": true, "redfish": true, "otlp": true}
	f := everything(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- in.run(ctx, f) }()
	require.Eventually(t, func() bool { return in.shown.Load() != nil }, 10*time.Second, time.Millisecond)
	list, changed := in.owners.Get()
	for list == nil || list.Time.IsZero() {
		<-changed
		list, changed = in.owners.Get()
	}
	running := func() map[string]*part {
		in.mu.Lock()
		defer in.mu.Unlock()
		return maps.Clone(in.running)
	}
	before := running()
	require.NoError(t, in.apply(f))
	assert.Equal(t, before, running(), "what stays as it is goes on")
	for i := range 3 {
		f.Owners.Interval += time.Second
		f.Workload.Textfile.Interval += time.Second
		f.LogRules = append(slices.Clone(f.LogRules), logrule.Rule{
			Name: fmt.Sprintf("oops_%d_total", i), Type: logrule.Counter, Files: f.LogRules[0].Files, Match: "oops",
		})
		f.Redfish = slices.Clone(f.Redfish)
		f.Redfish[0].Interval = time.Duration(i+60) * time.Second
		f.OTLPExport.Interval = time.Duration(i+60) * time.Second
		require.NoError(t, in.apply(f))
		for part := range all {
			assert.Contains(t, figures(), part)
		}
		now := running()
		for name, p := range before {
			assert.NotSame(t, p, now[name], name)
		}
		before = now
	}

	off := config.Defaults()
	off.Owners.Enabled = false
	require.NoError(t, in.apply(off))
	assert.Empty(t, figures())
	list, _ = in.owners.Get()
	assert.Empty(t, list.Owners)
	assert.Equal(t, []string{"owners are not looked for: see owners.enabled"}, list.Notices)

	require.NoError(t, in.apply(f))
	broken := f
	broken.Redfish = []redfish.Config{{Endpoint: "https://127.0.0.1:1", CAFile: "/nowhere"}}
	require.Error(t, in.apply(broken))
	assert.Contains(t, figures(), "redfish", "all is as it was")

	cancel()
	require.NoError(t, <-done)
	assert.Empty(t, figures())
}
