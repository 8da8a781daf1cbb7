package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/collect"
	"github.com/warpwatch/warpwatch/node-agent/internal/device"
)

// comments are what the first lines of a file say.
func comments(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !ok {
			break
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestRejectedFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/rejected/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		_, err := parse(t, "--config.file="+path)
		assert.EqualError(t, err, path+": "+comments(t, path))
	}
}

func TestAcceptedFiles(t *testing.T) {
	paths, err := filepath.Glob("testdata/accepted/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		c, err := parse(t, "--config.file="+path)
		require.NoError(t, err, path)

		// What is printed says the same when it is read.
		var printed bytes.Buffer
		helped, err := Parse([]string{"--config.check", "--config.file=" + path}, &printed)
		require.NoError(t, err)
		assert.Equal(t, NoCommand, helped.Command)
		again := filepath.Join(t.TempDir(), "printed.yaml")
		require.NoError(t, os.WriteFile(again, printed.Bytes(), 0o600))
		c2, err := parse(t, "--config.file="+again)
		require.NoError(t, err, printed.String())
		assert.Equal(t, c.Serve.Schedule, c2.Serve.Schedule)
		var printedAgain bytes.Buffer
		require.NoError(t, c2.Serve.Print(&printedAgain))
		assert.Equal(t, printed.String(), printedAgain.String())
	}
}

func TestMissingFile(t *testing.T) {
	_, err := parse(t, "--config.file=/nowhere")
	assert.EqualError(t, err, "--config.file: open /nowhere: no such file or directory")
	big := filepath.Join(t.TempDir(), "big.yaml")
	require.NoError(t, os.WriteFile(big, bytes.Repeat([]byte("#\n"), maxFile), 0o600))
	_, err = parse(t, "--config.file="+big)
	assert.EqualError(t, err, "--config.file: "+big+" is longer than 1048576 bytes")
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestGroupsAreSelectedAndTimed(t *testing.T) {
	path := write(t, `
classes: {fast: 500ms, slow: 20s}
groups:
  nvlink_links: {enabled: true, class: normal}
  pipes: {enabled: false}
  ecc: {interval: 7s}
  power: {class: static}
processes: {names: false}
`)
	c, err := parse(t, "--config.file="+path)
	require.NoError(t, err)
	want := collect.NewSchedule(device.Standard, map[device.Class]time.Duration{
		device.Fast: 500 * time.Millisecond, device.Normal: 5 * time.Second, device.Slow: 20 * time.Second, device.Static: time.Hour,
	})
	want.Groups = want.Groups&^device.GroupsOf(device.GroupPipes) | device.GroupsOf(device.GroupNVLinkLinks)
	want.Every[device.GroupNVLinkLinks] = 5 * time.Second
	want.Every[device.GroupECC] = 7 * time.Second
	want.Every[device.GroupPower] = time.Hour
	want.Names, want.MinTick, want.ForgetAfter = false, 100*time.Millisecond, 24*time.Hour
	assert.Equal(t, want, c.Serve.Schedule)
}

func TestFlagsWinOverTheFile(t *testing.T) {
	path := write(t, `
source: simulate
node_name: file
cluster: file
profile: lean
classes: {fast: 2s}
ring: 10m
web: {listen_addresses: [":1"], config_file: /file, bearer_token_file: /file, advertise_address: "file:1", max_subscribers: 1}
`)
	t.Setenv("NODE_NAME", "")
	c, err := Parse([]string{"--config.file=" + path}, new(bytes.Buffer))
	require.NoError(t, err)
	s := c.Serve
	assert.Equal(t, []any{"simulate", "file", "file", 2 * time.Second, 10 * time.Minute, ":1", "/file", "/file", "file:1", 1, device.Lean}, []any{
		s.Source, s.Node, s.Cluster, s.Interval, s.Ring, s.Listen[0], s.WebConfigFile, s.TokenFile, s.Advertise, s.MaxSubscribers, s.Settings.Profile,
	})
	assert.Equal(t, 2.0, s.Simulate.Window)
	assert.Equal(t, "file", s.Simulate.Node)

	c, err = Parse([]string{
		"--config.file=" + path, "--source=nvml", "--node-name=flag", "--cluster=flag", "--collect.interval=1s", "--collect.profile=deep",
		"--ring.duration=5m", "--web.listen-address=:2", "--web.config.file=/flag", "--web.bearer-token-file=/flag",
		"--web.advertise-address=flag:1", "--web.max-subscribers=32",
	}, new(bytes.Buffer))
	require.NoError(t, err)
	s = c.Serve
	assert.Equal(t, []any{"nvml", "flag", "flag", time.Second, 5 * time.Minute, ":2", "/flag", "/flag", "flag:1", 32, device.Deep}, []any{
		s.Source, s.Node, s.Cluster, s.Interval, s.Ring, s.Listen[0], s.WebConfigFile, s.TokenFile, s.Advertise, s.MaxSubscribers, s.Settings.Profile,
	})
	assert.Equal(t, device.AllGroups, s.Schedule.Groups)
}

// A long interval on the command line is none that a class's default contradicts.
func TestClassesFollowTheFastOne(t *testing.T) {
	c, err := parse(t, "--collect.interval=1m")
	require.NoError(t, err)
	assert.Equal(t, map[device.Class]time.Duration{
		device.Fast: time.Minute, device.Normal: time.Minute, device.Slow: time.Minute, device.Static: time.Hour,
	}, c.Serve.Settings.Classes)
	assert.Equal(t, time.Minute, c.Serve.Settings.Window)
}

func FuzzParseFile(f *testing.F) {
	for _, folder := range []string{"accepted", "rejected"} {
		paths, err := filepath.Glob("testdata/" + folder + "/*.yaml")
		require.NoError(f, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := ParseFile(text)
		if err != nil {
			require.NotContains(t, err.Error(), "config.", "no names of Go's types")
			return
		}
		s := Serve{Interval: time.Second}
		s.overlay(&file)
		if file.check() == nil {
			file.settleGroups()
			schedule := file.schedule()
			for g := range device.NumGroups {
				require.GreaterOrEqual(t, schedule.Every[g], schedule.Tick, g.String())
			}
		}
	})
}
