package servers

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// prometheusTags are those of the demo's build, so that what is compiled for one is there for the other.
const prometheusTags = "remove_all_sd,enable_dns_sd"

// Where TestMain tells the tests of the program, which may be given, and of a folder that lasts as long as the process.
const (
	programEnv = "SERVERS_PROMETHEUS"
	folderEnv  = "SERVERS_FOLDER"
)

func TestMain(m *testing.M) { os.Exit(withPrometheus(m)) }

func withPrometheus(m *testing.M) int {
	dir, err := os.MkdirTemp("", "servers")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv(folderEnv, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if os.Getenv(programEnv) != "" {
		return m.Run()
	}
	program := filepath.Join(dir, "prometheus")
	build := exec.Command("go", "build", "-tags="+prometheusTags, "-ldflags=-s -w", "-o", program, "github.com/prometheus/prometheus/cmd/prometheus")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build Prometheus: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv(programEnv, program); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// server is a running Prometheus.
type server struct {
	url string
	cmd *exec.Cmd
	log bytes.Buffer
}

// start runs a Prometheus on a data folder until the test ends.
func start(t testing.TB, data, scrapes string, flags ...string) *server {
	t.Helper()
	config := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(config, []byte("global: {scrape_interval: 1s, scrape_timeout: 1s}\n"+scrapes), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	s := &server{url: "http://" + address}
	s.cmd = exec.Command(os.Getenv(programEnv), append([]string{
		"--config.file=" + config, "--storage.tsdb.path=" + data, "--storage.tsdb.retention.time=10y", "--web.listen-address=" + address, "--log.level=warn",
	}, flags...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.cmd.Wait()
	}()
	t.Cleanup(func() {
		s.kill(t)
		<-ended
	})
	until(t, "Prometheus is ready", func() bool {
		select {
		case <-ended:
			t.Fatalf("Prometheus ended:\n%s", s.log.String())
		default:
		}
		resp, err := http.Get(s.url + "/-/ready")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return s
}

// kill ends it as a machine that loses power would.
func (s *server) kill(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil && err != os.ErrProcessDone {
		t.Error(err)
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// until waits for something that takes as long as the machine is slow.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for range 600 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("waited 30 s until %s", what)
}

func open(t testing.TB, endpoints ...history.Endpoint) *history.History {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.New(endpoints, c, history.Options{CacheBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// asked is a query for a metric, as the plugin reads it.
func asked(t testing.TB, metric, more string) (query.Query, catalog.Metric) {
	t.Helper()
	q, err := query.Parse([]byte(`{"metric":"`+metric+`"`+more+`}`), query.TypeMetric)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	m, err := q.MetricIn(c)
	if err != nil {
		t.Fatal(err)
	}
	return q, m
}

func ask(t testing.TB, h *history.History, metric string, w query.Window) history.Result {
	t.Helper()
	q, m := asked(t, metric, "")
	result := h.Metric(context.Background(), q, m, w)
	if result.Err != nil {
		t.Error(result.Err)
	}
	return result
}

func texts(notices []gpu.Notice) (all []string) {
	for _, n := range notices {
		all = append(all, n.Text)
	}
	return all
}
