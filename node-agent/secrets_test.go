package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/warpwatch/warpwatch/node-agent/internal/config"
)

// mark is in every secret that the agent is given.
const mark = "hunter2-mark"

// lockedLog is a log that is read while it is written.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// echo is a server that refuses with all it is sent, and remembers that it was sent secrets.
func echo(t *testing.T) (server *httptest.Server, heard func() string) {
	t.Helper()
	var all lockedLog
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 4<<10))
		assert.NoError(t, err)
		user, password, _ := r.BasicAuth()
		said := fmt.Sprintf("%v %s:%s %s", r.Header, user, password, body)
		_, _ = io.WriteString(&all, said+"\n")
		if strings.Trim(r.URL.Path, "/") == "redfish/v1" { // which nobody needs to be known for
			_, _ = io.WriteString(w, `{"RedfishVersion": "1.6.0", "Chassis": {"@odata.id": "/redfish/v1/Chassis"},
				"Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}}}`)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, said)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(server.Close)
	return server, all.String
}

// No secret of the agent's files is in its log, on its pages or in its metrics, whatever those whom it calls repeat of it.
func TestSecretsAreNowhere(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	service, heard := echo(t)
	other, otherHeard := echo(t)
	hash, err := bcrypt.GenerateFromPassword([]byte("web-"+mark), bcrypt.MinCost)
	require.NoError(t, err)
	webConfig := write("web.yml", fmt.Sprintf("basic_auth_users: {ada: '%s'}\n", hash))
	token := write("token", "token-"+mark+"\n")
	file := write("agent.yaml", fmt.Sprintf(`
redfish:
- {endpoint: %q, credentials_file: %q, insecure_skip_verify: true, interval: 10s, timeout: 1s}
- {endpoint: %q, auth: basic, username_file: %q, password_file: %q, insecure_skip_verify: true, interval: 10s, timeout: 1s}
otlp_export: {endpoint: %q, headers_file: %q, insecure_skip_verify: true, interval: 1s}
`, service.URL, write("bmc", "root:bmc-"+mark), other.URL, write("user", "root"), write("password", "basic-"+mark),
		service.URL+"/v1/metrics", write("headers", "Authorization: Bearer otlp-"+mark+"\n")))

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	c, err := config.Parse(append([]string{
		"--source=simulate", "--web.listen-address=" + address, "--web.config.file=" + webConfig, "--web.bearer-token-file=" + token, "--config.file=" + file,
	}, simulation...), io.Discard)
	require.NoError(t, err)
	log := &lockedLog{}
	ctx, cancel := context.WithCancel(t.Context())
	hangups := make(chan os.Signal, 1)
	done := make(chan error, 1)
	go func() {
		done <- serve(ctx, c.Serve, hangups, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	}()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
		http.DefaultClient.CloseIdleConnections()
	})

	var pages strings.Builder
	ask := func(method, path string, who func(*http.Request)) int {
		r, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, nil)
		require.NoError(t, err)
		who(r)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		fmt.Fprintf(&pages, "%s %s: %v %s\n", method, path, response.Header, body)
		return response.StatusCode
	}
	ada := func(r *http.Request) { r.SetBasicAuth("ada", "web-"+mark) }
	bearer := func(r *http.Request) { r.Header.Set("Authorization", "Bearer token-"+mark) }
	require.Eventually(t, func() bool { return ask(http.MethodGet, "/-/ready", ada) == http.StatusOK }, 30*time.Second, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		return strings.Contains(heard(), "bmc-"+mark) && strings.Contains(heard(), "otlp-"+mark) && strings.Contains(otherHeard(), "basic-"+mark)
	}, 30*time.Second, 20*time.Millisecond,
		"the service was not sent the secrets, so nothing is shown by their not being repeated")
	for _, path := range []string{"/", "/metrics", "/api/v1/ring", "/api/v1/status", "/api/v1/inventory", "/api/v1/config", "/nowhere"} {
		for _, who := range []func(*http.Request){ada, bearer} {
			ask(http.MethodGet, path, who)
		}
	}
	assert.Equal(t, http.StatusUnauthorized, ask(http.MethodGet, "/metrics", func(r *http.Request) { r.SetBasicAuth("ada", "wrong-"+mark) }))
	assert.Equal(t, http.StatusUnauthorized, ask(http.MethodGet, "/metrics", func(r *http.Request) { r.Header.Set("Authorization", "Bearer wrong-"+mark) }))

	// Files that are broken while it runs are told of without what is in them.
	write("agent.yaml", "redfish: nonsense") // it says where secrets are, and holds none
	hangups <- syscall.SIGHUP
	write("token", mark+"\n"+mark+"\n")
	ask(http.MethodGet, "/metrics", bearer)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "agent.yaml") }, 30*time.Second, 20*time.Millisecond)
	for _, line := range strings.Split(log.String()+pages.String(), "\n") {
		assert.NotContains(t, line, "hunter2")
	}
	assert.NotEmpty(t, log.String())
}
