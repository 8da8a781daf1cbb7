package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Unix(1_800_000_000, 0)

// bench is a server over a store that the test fills.
type bench struct {
	t      testing.TB
	store  *snapshot.Store
	rows   *snapshot.Rows
	node   snapshot.Node
	schema *snapshot.Schema
	status *snapshot.Status
	server *Server
	http   *httptest.Server
	at     time.Time
}

func newBench(t testing.TB, change func(*Options)) *bench {
	t.Helper()
	c, err := catalog.Load()
	require.NoError(t, err)
	rows, err := snapshot.LoadRows(c)
	require.NoError(t, err)
	b := &bench{
		t: t, store: snapshot.NewStore(99*time.Second, 1<<24), rows: rows, at: start,
		node: snapshot.Node{Cluster: "north", Name: "n1", Version: "1.2.3", Source: "simulate", Epoch: "epoch-1", Period: time.Second},
	}
	b.devices(board(0))
	o := Options{
		Node: b.node, Store: b.store, Empty: snapshot.NewSchema(b.node, "", nil, device.AllGroups, rows), MaxSubscribers: 10,
		Metrics:    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "gpu_power_watts 1") }),
		Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	b.server, err = New(o)
	require.NoError(t, err)
	b.http = httptest.NewServer(b.server)
	t.Cleanup(func() {
		b.server.Close()
		b.http.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return b
}

func board(index int) gpu.Device {
	return gpu.Device{Identity: gpu.Identity{UUID: fmt.Sprintf("GPU-%d", index)}, Index: index, Model: "NVIDIA H200"}
}

// devices changes what the node has.
func (b *bench) devices(devices ...gpu.Device) {
	b.schema = snapshot.NewSchema(b.node, "590", devices, device.AllGroups, b.rows)
	b.status = &snapshot.Status{Source: snapshot.Condition{State: snapshot.StateOK, Since: start}}
	for _, d := range b.schema.Devices {
		if !d.IsMIG() {
			b.status.Boards = append(b.status.Boards, snapshot.Board{Device: d, Condition: snapshot.Condition{State: snapshot.StateOK}})
		}
	}
}

// tick publishes a sample whose power is its sequence number.
func (b *bench) tick() {
	values := make([]device.Values, len(b.schema.Devices))
	seq := uint64(1)
	if f := b.store.Newest(); f != nil {
		seq = f.Seq + 1
	}
	for i := range values {
		values[i].Set(device.Power, float64(seq))
	}
	b.at = b.at.Add(time.Second)
	require.NoError(b.t, b.store.Append(&snapshot.Frame{Time: b.at, Schema: b.schema, Readings: b.schema.Flatten(values), Status: b.status}))
}

func (b *bench) get(path string, header http.Header) (int, string) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.http.URL+path, nil)
	require.NoError(b.t, err)
	request.Header = header
	response, err := b.http.Client().Do(request)
	require.NoError(b.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	return response.StatusCode, strings.TrimSpace(string(body))
}

func TestHealth(t *testing.T) {
	b := newBench(t, nil)
	expect := func(path string, status int, body string) {
		t.Helper()
		s, got := b.get(path, nil)
		assert.Equal(t, status, s, path)
		assert.Contains(t, got, body)
	}
	expect("/-/healthy", 200, "starting")
	expect("/-/ready", 503, "the source was not opened yet")
	b.at = time.Now()
	b.tick()
	expect("/-/healthy", 200, "ok")
	expect("/-/ready", 200, "ok")

	b.status = &snapshot.Status{Source: snapshot.Condition{State: snapshot.StateNoDriver, Reason: "no NVIDIA driver here"}}
	b.tick()
	expect("/-/healthy", 200, "ok")
	expect("/-/ready", 200, "no_driver: no NVIDIA driver here")

	b.status = &snapshot.Status{Source: snapshot.Condition{State: snapshot.StateNoAccess}}
	b.tick()
	expect("/-/healthy", 503, "lost access to the GPUs")

	b.devices(board(0))
	b.at = time.Now().Add(-5 * time.Minute)
	b.tick()
	expect("/-/healthy", 503, "no sample for 4m59s")
}

func TestPages(t *testing.T) {
	b := newBench(t, nil)
	_, body := b.get("/", nil)
	assert.Contains(t, body, "Warpwatch agent")
	_, body = b.get("/metrics", nil)
	assert.Equal(t, "gpu_power_watts 1", body)
	status, _ := b.get("/nowhere", nil)
	assert.Equal(t, 404, status)
	response, err := b.http.Client().Post(b.http.URL+"/metrics", "", nil)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, 405, response.StatusCode)
}

func TestInventory(t *testing.T) {
	b := newBench(t, nil)
	_, body := b.get("/api/v1/inventory", nil)
	assert.Contains(t, body, `"state": "starting"`)
	assert.Contains(t, body, `"devices": []`)

	parent, instance := board(0), board(0)
	parent.MIGEnabled, instance.MIGEnabled = true, true
	instance.GPUInstance, instance.MIGProfile = "0", "1g.18gb"
	b.devices(parent, instance, board(1))
	b.status.Boards[1].Condition = snapshot.Condition{State: snapshot.StateLost, Reason: "it fell off the bus", Since: start}
	b.status.Boards[1].LastXID = 79
	b.tick()
	_, body = b.get("/api/v1/inventory", nil)
	var got inventoryJSON
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	assert.Equal(t, "n1", got.Node)
	assert.Equal(t, "590", got.Driver)
	assert.EqualValues(t, 1000, got.PeriodMS)
	require.Len(t, got.Devices, 3)
	assert.Equal(t, "0", got.Devices[1].GPUInstance)
	assert.Equal(t, "ok", got.Devices[1].Condition.State, "that of its GPU")
	assert.Equal(t, "lost", got.Devices[2].Condition.State)
	assert.Equal(t, "it fell off the bus", got.Devices[2].Condition.Reason)
	assert.EqualValues(t, 79, got.Devices[2].LastXID)
}

func TestAccess(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("open sesame"), bcrypt.MinCost)
	require.NoError(t, err)
	tokenFile := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte("s3cret\n"), 0o600))
	access, err := NewAccess(AccessOptions{Users: map[string]string{"ali": string(hash)}, TokenFile: tokenFile})
	require.NoError(t, err)
	b := newBench(t, func(o *Options) { o.Access = access })

	basic := func(user, password string) http.Header {
		r, _ := http.NewRequest(http.MethodGet, "http://x", nil)
		r.SetBasicAuth(user, password)
		return r.Header
	}
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	for _, path := range []string{"/metrics", "/api/v1/inventory", "/api/v1/stream", "/", "/-/ready"} {
		status, body := b.get(path, nil)
		assert.Equal(t, 401, status, path)
		assert.NotContains(t, body, "gpu")
	}
	status, _ := b.get("/-/healthy", nil)
	assert.Equal(t, 200, status, "liveness needs no credentials")
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"right password": {basic("ali", "open sesame"), 200}, "again": {basic("ali", "open sesame"), 200},
		"wrong password": {basic("ali", "nope"), 401}, "unknown user": {basic("baba", "open sesame"), 401},
		"right token": {bearer("s3cret"), 200}, "wrong token": {bearer("s3cre"), 401}, "no token": {bearer(""), 401},
		"another scheme": {http.Header{"Authorization": {"Digest s3cret"}}, 401},
	} {
		status, _ := b.get("/metrics", c.header)
		assert.Equal(t, c.status, status, name)
	}
	require.NoError(t, os.WriteFile(tokenFile, []byte("rotated"), 0o600))
	status, _ = b.get("/metrics", bearer("rotated"))
	assert.Equal(t, 200, status)
	require.NoError(t, os.Remove(tokenFile))
	status, body := b.get("/metrics", bearer("rotated"))
	assert.Equal(t, 500, status)
	assert.Equal(t, "the agent cannot read the token that it compares with: see its log", body)

	_, err = NewAccess(AccessOptions{TokenFile: tokenFile})
	assert.ErrorContains(t, err, "read --web.bearer-token-file")
	require.NoError(t, os.WriteFile(tokenFile, []byte("\n"), 0o600))
	_, err = NewAccess(AccessOptions{TokenFile: tokenFile})
	assert.ErrorContains(t, err, "is empty")
}

// Somebody who guesses passwords keeps the processor busy, but keeps nobody out who was let in before.
func TestGuessingKeepsNobodyWaiting(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("open sesame"), bcrypt.MinCost)
	require.NoError(t, err)
	access, err := NewAccess(AccessOptions{Users: map[string]string{"ali": string(hash)}})
	require.NoError(t, err)
	require.NoError(t, access.checkPassword("ali", "open sesame"))
	access.hashing.Lock() // a guess is being hashed
	defer access.hashing.Unlock()
	admitted := make(chan error, 1)
	go func() { admitted <- access.checkPassword("ali", "open sesame") }()
	select {
	case err := <-admitted:
		require.NoError(t, err)
	case <-time.After(5 * time.Second):
		t.Fatal("who is known waits for a guess")
	}
}

func TestWebConfig(t *testing.T) {
	write := func(content string) string {
		path := filepath.Join(t.TempDir(), "web.yml")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	c, err := ReadWebConfig("")
	require.NoError(t, err)
	assert.Zero(t, c)
	const hash = "$2a$04$mU1X6N1bE0TgKj2rPfbZMOZ3P8m0FvVbVbR4yUoTDr0T0Wn1Y1c8m"
	c, err = ReadWebConfig(write("basic_auth_users: {ali: '" + hash + "'}\nhttp_server_config: {headers: {X-Frame-Options: deny}}\n"))
	require.NoError(t, err)
	assert.Equal(t, hash, c.Users["ali"])
	assert.Equal(t, "deny", c.Headers["X-Frame-Options"])
	assert.Nil(t, c.TLS)
	for content, want := range map[string]string{
		"basic_auth_user: {}":                     "field basic_auth_user not found",
		"tls_server_config: {cert_file: a.pem}":   "missing one of key or key_file",
		"rate_limit: {interval: 1s}":              "burst 1 or more",
		"basic_auth_users: {ali: not-a-hash}":     "hash",
		"basic_auth_users: not-a-hash":            "cannot unmarshal !!str `…` into",
		"http_server_config: {headers: {Bad: x}}": `HTTP header "Bad" can not be configured`,
	} {
		_, err := ReadWebConfig(write(content))
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "read --web.config.file")
		assert.NotContains(t, err.Error(), "not-a")
	}
	_, err = ReadWebConfig("/nowhere/web.yml")
	assert.ErrorContains(t, err, "no such file")
}

func TestRunServesTLSWithoutHTTP2(t *testing.T) {
	template := httptest.NewUnstartedServer(nil)
	template.StartTLS()
	certificates := template.TLS.Certificates
	template.Close()
	b := newBench(t, func(o *Options) { o.TLS = &tls.Config{Certificates: certificates} })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.server.Run(ctx, []net.Listener{l}) }()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("https://" + l.Addr().String() + "/-/healthy")
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, 1, response.ProtoMajor)
	cancel()
	require.NoError(t, <-done)
}

func TestRunSaysWhichListenerFailed(t *testing.T) {
	b := newBench(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	assert.ErrorContains(t, b.server.Run(t.Context(), []net.Listener{l}), "serve 127.0.0.1:")
}
