package load

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/warpwatch/warpwatch/internal/console"
)

// host answers queries and a live connection as the preview does. Panels called "bad" fail.
type host struct {
	mu         sync.Mutex
	channels   map[string]int // subscriptions of each
	queries    int
	subscribed chan struct{}
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/live/ws" {
		h.live(w, r)
		return
	}
	var body struct {
		Queries []struct{ Metric string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.queries++
	h.mu.Unlock()
	if body.Queries[0].Metric == "bad" {
		_, _ = w.Write([]byte(`{"results":{"A":{"error":"it is bad","frames":[]}}}`))
		return
	}
	_, _ = w.Write([]byte(`{"results":{"A":{"frames":[{"schema":{"meta":{"custom":{"live":{"path":"` + body.Queries[0].Metric + `","data":{"x":1}}}}}}]}}}`))
}

func (h *host) live(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		_, raw, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		var c command
		if json.Unmarshal(raw, &c) != nil || c.Subscribe == nil {
			continue
		}
		h.mu.Lock()
		h.channels[c.Subscribe.Channel+string(c.Subscribe.Data)]++
		h.mu.Unlock()
		if conn.Write(r.Context(), websocket.MessageText, []byte(`{"id":2,"subscribe":{}}`+"\n"+`{"push":{"channel":"c","pub":{"data":{}}}}`+"\n{}")) != nil {
			return
		}
		h.subscribed <- struct{}{}
	}
}

// A viewer asks for each panel in every round, follows each channel once, and counts what fails.
func TestViewer(t *testing.T) {
	h := &host{channels: map[string]int{}, subscribed: make(chan struct{}, 10)}
	server := httptest.NewServer(h)
	defer server.Close()
	counted := &tally{}
	v := viewer{
		url: server.URL, http: server.Client(), tally: counted, last: time.Hour, refresh: 20 * time.Millisecond,
		panels: []panel{
			{"one", []map[string]any{{"metric": "one"}}}, {"two", []map[string]any{{"metric": "two"}}}, {"bad", []map[string]any{{"metric": "bad"}}},
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	looking.Go(func() { v.look(ctx) })
	<-h.subscribed
	<-h.subscribed
	for rounds := 0; rounds < 9; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		rounds = h.queries
		h.mu.Unlock()
		counted.mu.Lock()
		if counted.packets < 2 {
			rounds = 0
		}
		counted.mu.Unlock()
	}
	cancel()
	looking.Wait()
	if got := h.channels; len(got) != 2 || got[`ds/warpwatch/one{"x":1}`] != 1 || got[`ds/warpwatch/two{"x":1}`] != 1 {
		t.Errorf("subscriptions %v", got)
	}
	if err := counted.failed(); err == nil || !strings.Contains(err.Error(), "times: bad: it is bad") || strings.Contains(err.Error(), "cancel") {
		t.Errorf("failures: %v", err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	counted.print(console.New(out), held{start: 1, peak: 3, end: 2})
	printed, err := os.ReadFile(out.Name())
	if err != nil || !strings.Contains(string(printed), "2 subscriptions, 2 packets") || !strings.Contains(string(printed), "1 MiB at the start, 3 at most, 2 at the end") {
		t.Errorf("printed %v\n%s", err, printed)
	}
}

func TestNothingIsNoSuccess(t *testing.T) {
	if (&tally{}).failed() == nil || (&tally{times: []time.Duration{1}}).failed() == nil {
		t.Error("a host that says nothing passes")
	}
	if err := (&tally{times: []time.Duration{1}, packets: 1}).failed(); err != nil {
		t.Error(err)
	}
	if (held{peak: 11}).bounded(10) == nil || (held{peak: 10}).bounded(10) != nil {
		t.Error("the bound of memory does not hold")
	}
}

func TestQuantiles(t *testing.T) {
	var sorted []time.Duration
	for i := range 100 {
		sorted = append(sorted, time.Duration(i+1)*time.Second)
	}
	for q, want := range map[float64]time.Duration{0.5: 51 * time.Second, 0.99: 100 * time.Second, 1: 100 * time.Second} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("%v: %s", q, got)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("nothing took a time")
	}
}

func TestOptions(t *testing.T) {
	env := map[string]string{"LOAD_VIEWERS": "7", "LOAD_TIME": "90s"}
	o, err := Defaults().FromEnv(func(name string) string { return env[name] })
	if err != nil || o.Viewers != 7 || o.Length != 90*time.Second || o.Panels != 20 {
		t.Errorf("%+v, %v", o, err)
	}
	for name, text := range map[string]string{"LOAD_PANELS": "0", "LOAD_REFRESH": "often"} {
		if _, err := Defaults().FromEnv(func(n string) string { return map[string]string{name: text}[n] }); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMemoryOfAChild(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("there is no /proc here")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) { // until it is no copy of this process any more
		pid, err := childNamed(os.Getpid(), "sleep")
		if err == nil && pid == cmd.Process.Pid {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if mib, err := residentMiB(os.Getpid()); err != nil || mib < 1 {
		t.Errorf("%d MiB, %v", mib, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	wait := watch(ctx, os.Getpid())
	cancel()
	if h := wait(); h.start < 1 || h.peak < h.end {
		t.Errorf("%+v", h)
	}
	if _, err := childNamed(os.Getpid(), "nobody"); err == nil {
		t.Error("a child that there is not was found")
	}
}
