package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/config"
	"github.com/warpwatch/warpwatch/pkg/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// All faults but a lost board: whether there is one depends on the time of the day that the test runs at.
var simulation = []string{
	"--node-name=n1", "--simulate.gpus=2", "--simulate.profile=training", "--simulate.mig=default", "--simulate.fault=straggler,thermal,ecc,xid",
}

// start runs the agent on a free port until the test ends, and returns its address.
func start(t *testing.T, args ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	c, err := config.Parse(append([]string{"--web.listen-address=" + address}, args...), io.Discard)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, c.Serve, nil, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
		http.DefaultClient.CloseIdleConnections()
	})
	require.Eventually(t, func() bool {
		status, _ := get(t, "http://"+address+"/-/ready")
		return status == http.StatusOK || status == http.StatusUnauthorized
	}, 30*time.Second, 20*time.Millisecond)
	return address
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestSimulatedNode(t *testing.T) {
	// Everything on every tick, as the past has it.
	file := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(file, []byte("classes: {normal: 100ms, slow: 100ms, static: 100ms}\n"), 0o600))
	address := start(t, append([]string{"--source=simulate", "--collect.interval=100ms", "--config.file=" + file}, simulation...)...)

	// A simulated board lives through its week before its first sample, which is then published a tick late.
	var body string
	require.Eventually(t, func() bool {
		_, body = get(t, "http://"+address+"/metrics")
		return strings.Count(body, "\ngpu_power_watts{") == 2
	}, 30*time.Second, 20*time.Millisecond)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	require.NoError(t, err)
	assert.Len(t, families["gpu_info"].GetMetric(), 2)
	assert.Len(t, families["gpu_mig_info"].GetMetric(), 8)
	assert.Len(t, families["gpu_power_watts"].GetMetric(), 2)
	assert.Len(t, families["gpu_sm_active_ratio"].GetMetric(), 8)
	assert.NotContains(t, families, "gpu_utilization_ratio")
	assert.Contains(t, families, "warpwatch_agent_build_info")
	assert.Contains(t, families, "process_resident_memory_bytes")

	live := stream(t, address, 10)
	past := history(t, live.times[0], live.times[len(live.times)-1], 100*time.Millisecond)
	require.Len(t, past, len(live.readings))
	for at, readings := range past {
		sampled := map[string]bool{}
		for _, r := range live.readings[at] {
			sampled[r] = true
		}
		for _, r := range readings {
			assert.True(t, sampled[r], "the past that is generated and the present that is sampled are one process: %s", r)
		}
	}
}

// recorded is what a stream said, as text that can be compared.
type recorded struct {
	times    []time.Time
	readings map[int64][]string
}

func (r *recorded) add(s wire.Sample, schema *wire.Schema) {
	if r.readings == nil {
		r.readings = map[int64][]string{}
	}
	r.times = append(r.times, s.Time)
	var line []string
	for i, reading := range s.Readings {
		c := schema.GetColumns()[i]
		line = append(line, fmt.Sprintf("%d %s %v", c.GetDevice(), c.GetMetric(), reading))
	}
	r.readings[s.Time.UnixMilli()] = line
}

func stream(t *testing.T, address string, samples int) recorded {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws://"+address+"/api/v1/stream", nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	request, err := proto.Marshal(&wire.Request{Reader: "test"})
	require.NoError(t, err)
	require.NoError(t, conn.Write(ctx, websocket.MessageBinary, request))
	var r recorded
	var d decoding
	for len(r.times) < samples {
		_, body, err := conn.Read(ctx)
		require.NoError(t, err)
		var m wire.Message
		require.NoError(t, proto.Unmarshal(body, &m))
		d.take(t, &m, &r)
	}
	return r
}

// decoding follows the messages of a stream.
type decoding struct {
	schema  *wire.Schema
	decoder *wire.Decoder
}

func (d *decoding) take(t *testing.T, m *wire.Message, into *recorded) {
	t.Helper()
	if s := m.GetSchema(); s != nil {
		var err error
		d.schema = s
		d.decoder, err = wire.NewDecoder(s)
		require.NoError(t, err)
	}
	for _, tick := range m.GetBatch().GetTicks() {
		s, err := d.decoder.Decode(tick)
		require.NoError(t, err)
		into.add(s, d.schema)
	}
}

func history(t *testing.T, from, to time.Time, step time.Duration) map[int64][]string {
	t.Helper()
	seconds := func(at time.Time) string { return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64) }
	args := append([]string{
		"simulate-history", "--from=" + seconds(from), "--to=" + seconds(to), "--step=" + step.String(),
	}, simulation...)
	var out, errs bytes.Buffer
	require.Zero(t, run(args, &out, &errs), errs.String())
	var r recorded
	var d decoding
	for {
		var m wire.Message
		err := protodelim.UnmarshalFrom(&out, &m)
		if errors.Is(err, io.EOF) {
			return r.readings
		}
		require.NoError(t, err)
		d.take(t, &m, &r)
	}
}

// A node without a driver is no reason to end, and is not called broken.
func TestNodeWithoutDriver(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has a driver")
	}
	address := start(t, "--source=nvml", "--node-name=n1")
	status, body := get(t, "http://"+address+"/-/ready")
	assert.Equal(t, 200, status)
	assert.Contains(t, body, "no NVIDIA driver here")
	status, _ = get(t, "http://"+address+"/-/healthy")
	assert.Equal(t, 200, status)
	_, body = get(t, "http://"+address+"/metrics")
	assert.Contains(t, body, `warpwatch_agent_source_state{node="n1",state="no_driver"} 1`)
	_, body = get(t, "http://"+address+"/api/v1/inventory")
	assert.Contains(t, body, `"state": "no_driver"`)
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"version"}, 0, "warpwatch-agent "},
		{[]string{"--help"}, 0, "serve* [<flags>]"},
		{[]string{"serve", "--help"}, 0, "--collect.interval"},
		{[]string{"--collect.interval=1ms"}, 2, "--collect.interval=1ms: must be 100ms to 1m0s"},
		{[]string{"replay", "/nowhere"}, 1, "no such file or directory"},
		{[]string{"--source=simulate", "--web.config.file=/nowhere"}, 1, "read --web.config.file /nowhere"},
		{[]string{"--source=simulate", "--web.bearer-token-file=/nowhere"}, 1, "read --web.bearer-token-file"},
	} {
		var out bytes.Buffer
		assert.Equal(t, c.status, run(c.args, &out, &out), "%v", c.args)
		assert.Contains(t, out.String(), c.want, "%v", c.args)
	}
}

func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	var out bytes.Buffer
	assert.Equal(t, 1, run([]string{"--source=simulate", "--web.listen-address=" + l.Addr().String()}, &out, &out))
	assert.Contains(t, out.String(), "address already in use: choose another with --web.listen-address")
}

// What the documentation says of the requests that control the agent.
func TestControl(t *testing.T) {
	folder := t.TempDir()
	file, token := filepath.Join(folder, "agent.yaml"), filepath.Join(folder, "token")
	require.NoError(t, os.WriteFile(token, []byte("s3cret"), 0o600))
	require.NoError(t, os.WriteFile(file, []byte("ring: 1m\n"), 0o600))
	address := start(t, "--source=simulate", "--simulate.gpus=1", "--node-name=n1", "--config.file="+file, "--web.bearer-token-file="+token)
	post := func(path string) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+path, nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer s3cret")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, strings.TrimSpace(string(body))
	}
	for range 2 {
		status, body := post("/-/release?for=1h")
		assert.Equal(t, 200, status, body)
	}
	status, body := post("/-/resume")
	assert.Equal(t, 200, status, body)

	require.NoError(t, os.WriteFile(file, []byte("ring: 2m\nevents: {keep: 5}\nwindow: 1m\n"), 0o600))
	status, body = post("/-/reload")
	assert.Equal(t, 200, status)
	assert.Equal(t, "ok, but these take effect only when the agent is started again: ring, events", body)
	require.NoError(t, os.WriteFile(file, []byte("ring: [\n"), 0o600))
	status, body = post("/-/reload")
	assert.Equal(t, 500, status)
	assert.Contains(t, body, "did not find expected node content")
}
