package agentbench

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkAgentMemory is the resident size of the built agent with eight GPUs, a reader and a scraper. It loads a library
// of a few lines through dlopen; what NVIDIA's own library takes is the driver's. It samples ten times a second and keeps
// 30 seconds, as many frames as five minutes at one a second, so that the ring is full when it is looked at. An operation
// is a second.
func BenchmarkAgentMemory(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("resident size is read from /proc")
	}
	folder := b.TempDir()
	agent, library := filepath.Join(folder, "warpwatch-agent"), filepath.Join(folder, "libnvidia-ml.so.1")
	command(b, "go", "build", "-ldflags", "-s -w -extldflags=-Wl,-z,lazy", "-o", agent, "..")
	command(b, "cc", "-shared", "-fPIC", "-o", library, filepath.Join("..", "internal", "nvml", "nvmltest", "testdata", "library", "nvml.c"))
	address := freeAddress(b)
	process := exec.Command(agent, "--source=nvml", "--node-name=n1", "--web.listen-address="+address, "--collect.interval=100ms",
		"--ring.duration=30s", "--log.level=error")
	process.Env = append(os.Environ(), "LD_LIBRARY_PATH="+folder, "FAKE_NVML_GPUS=8")
	require.NoError(b, process.Start())
	b.Cleanup(func() {
		_ = process.Process.Signal(os.Interrupt)
		_ = process.Wait() // ended by us
	})
	require.Eventually(b, func() bool {
		return strings.Count(page(b, address), "\ngpu_power_watts{") == 8
	}, 30*time.Second, 50*time.Millisecond)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	conn := subscribe(b, address)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			if _, _, err := conn.Read(ctx); err != nil {
				return
			}
		}
	}()
	if b.N > 1 {
		time.Sleep(30 * time.Second) // until the ring is full
	}
	most := 0.0
	b.ResetTimer()
	for range b.N {
		time.Sleep(time.Second)
		page(b, address)
		most = max(most, resident(b, process.Process.Pid))
	}
	b.StopTimer()
	cancel()
	<-read
	_ = conn.CloseNow()
	http.DefaultClient.CloseIdleConnections()
	b.ReportMetric(most, "MiB")
}

func command(b *testing.B, name string, args ...string) {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), name, args...).CombinedOutput()
	require.NoError(b, err, string(out))
}

func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close()
	return l.Addr().String()
}

// page is the agent's /metrics, "" while there is none.
func page(b *testing.B, address string) string {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	require.NoError(b, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(b, err)
	return string(body)
}

// resident is the resident size of a process in MiB.
func resident(b *testing.B, pid int) float64 {
	b.Helper()
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(b, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if kib, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 64)
			require.NoError(b, err)
			return n / 1024
		}
	}
	b.Fatal("the kernel does not say how much memory the agent has")
	return 0
}
