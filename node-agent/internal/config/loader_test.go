package config

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

func TestReload(t *testing.T) {
	path := write(t, "profile: lean\nweb: {listen_addresses: [\":1\"]}\n")
	c, err := parse(t, "--config.file="+path, "--collect.interval=500ms")
	require.NoError(t, err)
	var applied []Serve
	var refuse error
	registry := prometheus.NewRegistry()
	l := NewLoader(c.Serve, func(s Serve) error {
		applied = append(applied, s)
		return refuse
	}, registry, slog.New(slog.DiscardHandler))
	successful := func(want string) {
		t.Helper()
		require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP warpwatch_agent_config_last_reload_successful Whether the configuration was read without a mistake the last time: 1, or 0 and the one before is in effect.
# TYPE warpwatch_agent_config_last_reload_successful gauge
warpwatch_agent_config_last_reload_successful `+want+"\n"), "warpwatch_agent_config_last_reload_successful"))
	}
	successful("1")

	require.NoError(t, os.WriteFile(path, []byte("profile: deep\nclasses: {fast: 10s}\nweb: {listen_addresses: [\":2\"], sample_timestamps: true}\nnode_name: other\nwindow: 1m\n"), 0o600))
	pending, err := l.Reload()
	require.NoError(t, err)
	assert.Equal(t, []string{"web.listen_addresses"}, pending, "NODE_NAME wins over node_name")
	require.Len(t, applied, 1)
	assert.Equal(t, device.AllGroups, applied[0].Schedule.Groups)
	assert.Equal(t, 500*time.Millisecond, applied[0].Schedule.Tick, "the flag still wins")
	assert.Equal(t, []string{":1"}, applied[0].Listen, "that needs a restart")
	assert.Equal(t, []string{":1"}, applied[0].Settings.Web.ListenAddresses)
	assert.Equal(t, time.Minute, l.Running().Settings.Window)
	assert.True(t, l.Running().Settings.Web.SampleTimestamps)
	successful("1")

	require.NoError(t, os.WriteFile(path, []byte("profile: depe\n"), 0o600))
	_, err = l.Reload()
	assert.EqualError(t, err, path+`: profile: "depe" must be one of lean, standard, deep`)
	assert.Len(t, applied, 1)
	assert.Equal(t, device.Deep, l.Running().Settings.Profile, "as it was")
	successful("0")

	require.NoError(t, os.WriteFile(path, []byte("profile: lean\n"), 0o600))
	refuse = errors.New("no")
	_, err = l.Reload()
	assert.EqualError(t, err, "no")
	assert.Equal(t, device.Deep, l.Running().Settings.Profile, "as it was")
	refuse = nil
	_, err = l.Reload()
	require.NoError(t, err)
	assert.Equal(t, device.Lean, l.Running().Settings.Profile)
	successful("1")
}

func TestReloadWithoutAFile(t *testing.T) {
	c, err := parse(t)
	require.NoError(t, err)
	var log strings.Builder
	l := NewLoader(c.Serve, func(Serve) error { return nil }, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&log, nil)))
	_, err = l.Reload()
	assert.EqualError(t, err, "there is nothing to read again: the agent was started without --config.file")
	assert.Contains(t, log.String(), "without --config.file", "who sends a signal reads nothing but the log")
	assert.InDelta(t, 1, testutil.ToFloat64(l.success), 0, "no mistake was made")
}
