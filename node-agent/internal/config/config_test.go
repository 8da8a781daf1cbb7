package config

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/collect"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/simulate"
)

func parse(t *testing.T, args ...string) (Config, error) {
	t.Helper()
	t.Setenv("NODE_NAME", "env-node")
	return Parse(args, new(bytes.Buffer))
}

func TestDefaults(t *testing.T) {
	c, err := parse(t)
	require.NoError(t, err)
	assert.Equal(t, ServeCommand, c.Command)
	s := c.Serve
	assert.Equal(t, []any{SourceNVML, "env-node", time.Second, 5 * time.Minute, []string{"127.0.0.1:9847"}, 32, simulate.Options{Seed: 1, GPUs: 8}},
		[]any{s.Source, s.Node, s.Interval, s.Ring, s.Listen, s.MaxSubscribers, s.Simulate})
	want := collect.NewSchedule(device.Standard, collect.ClassIntervals(time.Second))
	want.MinTick, want.ForgetAfter = 100*time.Millisecond, 24*time.Hour
	assert.Equal(t, want, s.Schedule)
}

func TestServe(t *testing.T) {
	c, err := parse(t, "--source=simulate", "--node-name=n1", "--cluster=north", "--collect.interval=250ms",
		"--web.listen-address=:9847", "--web.listen-address=[::1]:9848", "--web.advertise-address=gpu-1:9847",
		"--simulate.seed=7", "--simulate.gpus=4", "--simulate.model=h100", "--simulate.mig=default", "--simulate.profile=training",
		"--simulate.fault=straggler", "--simulate.fault=ecc,xid", "--log.level=debug")
	require.NoError(t, err)
	s := c.Serve
	assert.Equal(t, []string{":9847", "[::1]:9848"}, s.Listen)
	assert.Equal(t, "n1", s.Simulate.Node)
	assert.Equal(t, 0.25, s.Simulate.Window)
	assert.Equal(t, "H100", s.Simulate.Model.Short)
	assert.Equal(t, []string{"3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"}, s.Simulate.MIG)
	assert.Equal(t, []simulate.Fault{simulate.Straggler, simulate.ECC, simulate.XIDs}, s.Simulate.Faults)
	assert.Equal(t, "debug", c.Log.Level.String())

	c, err = parse(t, "--source=simulate", "--simulate.fault=all")
	require.NoError(t, err)
	assert.Len(t, c.Serve.Simulate.Faults, len(simulate.Faults()))
}

func TestHistory(t *testing.T) {
	c, err := parse(t, "simulate-history", "--from=2026-11-01T00:00:00Z", "--to=1793500000", "--step=15s", "--node-name=n1", "--cluster=c")
	require.NoError(t, err)
	assert.Equal(t, HistoryCommand, c.Command)
	assert.EqualValues(t, 1793491200, c.History.From.Unix())
	assert.EqualValues(t, 1793500000, c.History.To.Unix())
	assert.Equal(t, 15*time.Second, c.History.Step)
	assert.Equal(t, 1.0, c.History.Simulate.Window)
	assert.Equal(t, "n1", c.History.Simulate.Node)
}

func TestReplay(t *testing.T) {
	c, err := parse(t, "replay", "somewhere", "--allow-invalid")
	require.NoError(t, err)
	assert.Equal(t, Replay{Path: "somewhere", Listen: "127.0.0.1:9849", AllowInvalid: true}, c.Replay)
}

func TestHelpIsNoError(t *testing.T) {
	var output bytes.Buffer
	c, err := Parse([]string{"--help"}, &output)
	require.NoError(t, err)
	assert.Equal(t, NoCommand, c.Command)
	assert.Contains(t, output.String(), "simulate-history")
}

func TestRejected(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--collect.interval=10ms"}, "--collect.interval=10ms: must be 100ms to 1m0s"},
		{[]string{"--collect.interval=2m"}, "--collect.interval=2m0s: must be 100ms to 1m0s"},
		{[]string{"--collect.interval=100500us"}, "--collect.interval=100.5ms: must be whole milliseconds"},
		{[]string{"--ring.duration=2h"}, "--ring.duration=2h0m0s: must be 0s to 1h0m0s"},
		{[]string{"--web.listen-address=9847"}, "--web.listen-address=9847: must be host:port"},
		{[]string{"--web.listen-address=:http"}, "--web.listen-address=:http: must have a number up to 65535 as its port"},
		{[]string{"--web.advertise-address=:9847"}, "--web.advertise-address=:9847: must name a host"},
		{[]string{"--web.max-subscribers=-1"}, "--web.max-subscribers=-1: must be 0 or more"},
		{[]string{"--source=rocm"}, "enum value must be one of nvml,simulate, got 'rocm': see warpwatch-agent --help"},
		{[]string{"--sauce=nvml"}, "unknown long flag '--sauce': see warpwatch-agent --help"},
		{[]string{"--source=simulate", "--simulate.model=Voodoo2"}, `--simulate.model: model "Voodoo2" is not one of H200, H100, A100, L40S, RTX4090`},
		{[]string{"--source=simulate", "--simulate.model=l40s", "--simulate.mig=default"}, "--simulate.mig=default: a L40S cannot be split into MIG instances"},
		{[]string{"--source=simulate", "--simulate.gpus=1000"}, "--simulate.gpus=1000: must be 0 to 64"},
		{[]string{"simulate-history", "--from=yesterday", "--to=2"}, "--from=yesterday: must be like 2026-11-18T14:00:00Z, or Unix seconds"},
		{[]string{"simulate-history", "--from=2", "--to=1"}, "--to=1: must be after --from=2"},
		{[]string{"simulate-history", "--from=1", "--to=2", "--step=1us"}, "--step=1µs: must be whole milliseconds, 100ms or more"},
		{[]string{"simulate-history", "--from=1"}, "required flag(s) '--to' not provided: see warpwatch-agent --help"},
		{[]string{"replay"}, "required argument 'path' not provided: see warpwatch-agent --help"},
	} {
		_, err := parse(t, c.args...)
		assert.EqualError(t, err, c.want, "%v", c.args)
	}
}
