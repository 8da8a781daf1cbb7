package plugin

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/settings"
)

// shelf is a Redis and a memcached that knows what the cache asks for.
type shelf struct {
	mu       sync.Mutex
	values   map[string]string
	commands []string
}

func (s *shelf) serve(t *testing.T, speak func(*shelf, *bufio.Reader, io.Writer) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for speak(s, in, conn) == nil {
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return listener.Addr().String()
}

func textLine(in *bufio.Reader) (string, error) {
	text, err := in.ReadString('\n')
	return strings.TrimRight(text, "\r\n"), err
}

func take(in *bufio.Reader, length string) (string, error) {
	n, err := strconv.Atoi(length)
	if err != nil {
		return "", err
	}
	raw := make([]byte, n+2)
	_, err = io.ReadFull(in, raw)
	return string(raw[:n]), err
}

func redis(s *shelf, in *bufio.Reader, out io.Writer) error {
	head, err := textLine(in)
	if err != nil || !strings.HasPrefix(head, "*") {
		return io.ErrUnexpectedEOF
	}
	count, err := strconv.Atoi(head[1:])
	if err != nil {
		return err
	}
	var words []string
	for range count {
		length, err := textLine(in)
		if err != nil {
			return err
		}
		word, err := take(in, strings.TrimPrefix(length, "$"))
		if err != nil {
			return err
		}
		words = append(words, word)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, strings.Join(words[:min(2, len(words))], " "))
	answer := "+OK\r\n"
	switch strings.ToUpper(words[0]) {
	case "PING":
		answer = "+PONG\r\n"
	case "SET":
		s.values[words[1]] = words[2]
	case "MGET":
		answer = fmt.Sprintf("*%d\r\n", len(words)-1)
		for _, key := range words[1:] {
			if value, ok := s.values[key]; ok {
				answer += fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
			} else {
				answer += "$-1\r\n"
			}
		}
	}
	_, err = io.WriteString(out, answer)
	return err
}

func memcached(s *shelf, in *bufio.Reader, out io.Writer) error {
	text, err := textLine(in)
	if err != nil {
		return err
	}
	words := strings.Fields(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := "ERROR\r\n"
	switch words[0] {
	case "set":
		value, err := take(in, words[4])
		if err != nil {
			return err
		}
		s.values[words[1]] = value
		answer = "STORED\r\n"
	case "get", "gets":
		answer = ""
		for _, key := range words[1:] {
			if value, ok := s.values[key]; ok {
				answer += fmt.Sprintf("VALUE %s 0 %d 1\r\n%s\r\n", key, len(value), value)
			}
		}
		answer += "END\r\n"
	}
	_, err = io.WriteString(out, answer)
	return err
}

func TestSharedCaches(t *testing.T) {
	for kind, speak := range map[string]func(*shelf, *bufio.Reader, io.Writer) error{"redis": redis, "memcached": memcached} {
		s := &shelf{values: map[string]string{}}
		c := settings.RemoteCache{Type: kind, Addresses: []string{s.serve(t, speak)}, Timeout: time.Second}
		if kind == "redis" {
			c.User, c.Password, c.Database = "grafana", settings.NewSecret("hunter2"), 3
		}
		remote, stop := sharedCache(c, nil)
		binary := string([]byte{0, 1, 2, '\r', '\n', 255})
		for got := ""; got != binary; time.Sleep(5 * time.Millisecond) {
			remote.SetAsync("a", []byte(binary), time.Minute)
			got = string(remote.GetMulti(t.Context(), []string{"a", "b"})["a"])
			if t.Context().Err() != nil {
				t.Fatalf("%s: nothing was stored", kind)
			}
		}
		if got := remote.GetMulti(t.Context(), []string{"a", "b"}); len(got) != 1 {
			t.Errorf("%s: got %q", kind, got)
		}
		if said := strings.Join(s.commands, "\n"); kind == "redis" && (!strings.Contains(said, "AUTH grafana") || !strings.Contains(said, "SELECT 3")) {
			t.Errorf("redis was told %q", said)
		}
		stop()
		remote.SetAsync("c", []byte("late"), time.Minute)
	}
}

// A cache that is down costs an answer no more than its time limit, and then nothing for a while.
func TestSharedCacheThatIsDown(t *testing.T) {
	for _, kind := range []string{"redis", "memcached"} {
		remote, stop := sharedCache(settings.RemoteCache{Type: kind, Addresses: []string{"127.0.0.1:1"}, Timeout: 100 * time.Millisecond}, nil)
		for range 3 {
			remote.SetAsync("a", []byte("x"), time.Minute)
			if got := remote.GetMulti(t.Context(), []string{"a"}); len(got) > 0 {
				t.Errorf("%s: got %q", kind, got)
			}
		}
		stop()
	}
}

func TestNamespacesOfASharedCache(t *testing.T) {
	base := backend.DataSourceInstanceSettings{UID: "a", JSONData: []byte(`{}`), DecryptedSecureJSONData: map[string]string{"endpoint_a_token": "1"}}
	other := base
	other.DecryptedSecureJSONData = map[string]string{"endpoint_a_token": "2"}
	renamed := base
	renamed.UID = "b"
	same := base
	if cacheNamespace(base) != cacheNamespace(same) || cacheNamespace(base) == cacheNamespace(other) || cacheNamespace(base) == cacheNamespace(renamed) {
		t.Error("namespaces do not tell data sources and their credentials apart")
	}
	for what, change := range map[string]func(*backend.DataSourceInstanceSettings){
		"user":       func(s *backend.DataSourceInstanceSettings) { s.User = "x" },
		"database":   func(s *backend.DataSourceInstanceSettings) { s.Database = "x" },
		"basic user": func(s *backend.DataSourceInstanceSettings) { s.BasicAuthUser = "x" },
		"basic":      func(s *backend.DataSourceInstanceSettings) { s.BasicAuthEnabled = true },
		"URL":        func(s *backend.DataSourceInstanceSettings) { s.URL = "http://x" },
		"settings":   func(s *backend.DataSourceInstanceSettings) { s.JSONData = []byte(`{"a":1}`) },
	} {
		changed := base
		if change(&changed); cacheNamespace(changed) == cacheNamespace(base) {
			t.Errorf("the %s does not count", what)
		}
	}
}
