package attribute

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/kubelet"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/locate"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/proc"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/slurm"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	gpu0 = "GPU-5e1f0000-0a00-4a00-8b00-000000000000"
	gpu1 = "GPU-5e1f0001-0a00-4a00-8b00-000000000001"
	mig7 = "MIG-5e1f0007-0a00-4a00-8b00-000000000007"

	hostNamespace      = "pid:[4026531836]"
	containerNamespace = "pid:[4026532198]"
)

// world is a node: its processes, its kubelet, its jobs.
type world struct {
	t        testing.TB
	root     string
	usage    []Usage
	devices  []locate.Device
	registry *prometheus.Registry
	options  Options

	mu   sync.Mutex
	pods []*podresources.PodResources
	podresources.UnimplementedPodResourcesListerServer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, root: t.TempDir()}
	w.devices = locate.Devices([]gpu.Device{
		{Identity: gpu.Identity{UUID: gpu0}, Index: 0}, {Identity: gpu.Identity{UUID: gpu1}, Index: 1, MIGEnabled: true},
		{Identity: gpu.Identity{UUID: gpu1, GPUInstance: "7"}, Index: 1, MIGUUID: mig7, MIGProfile: "1g.24gb"},
	})
	w.devices[0].Minor, w.devices[1].Minor = 0, 1
	w.namespace(hostNamespace)
	reader, err := proc.New(proc.Options{Root: w.path("proc"), Passwd: w.path("passwd")})
	require.NoError(t, err)
	w.file("passwd", "ana:x:1000:1000:::\n")
	w.options = Options{
		Devices: func() []locate.Device { return w.devices }, Usage: func() []Usage { return w.usage },
		Proc: reader, Slurm: slurm.New(slurm.Options{Jobs: w.path("jobs")}), PodLogs: w.path("pods"), ContainerLogs: w.path("containers"),
		Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.root, name) }

func (w *world) file(name, text string) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	require.NoError(w.t, os.WriteFile(w.path(name), []byte(text), 0o600))
}

// namespace is the namespace of pids that the agent is in.
func (w *world) namespace(name string) {
	w.t.Helper()
	link := w.path("proc/self/ns/pid")
	require.NoError(w.t, os.MkdirAll(filepath.Dir(link), 0o755))
	require.NoError(w.t, os.RemoveAll(link))
	require.NoError(w.t, os.Symlink(name, link))
}

// exists makes a process.
func (w *world) exists(pid int, comm, cgroup string, start int) {
	w.t.Helper()
	w.file(fmt.Sprintf("proc/%d/stat", pid), fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 %d 1000 10 %s\n",
		pid, comm, start, strings.Repeat("0 ", 28)))
	w.file(fmt.Sprintf("proc/%d/status", pid), "Uid:\t1000\t1000\t1000\t1000\n")
	w.file(fmt.Sprintf("proc/%d/cgroup", pid), "0::"+cgroup+"\n")
}

// runs makes a process on a device.
func (w *world) runs(pid int, cgroup, uuid, instance string) {
	w.t.Helper()
	w.exists(pid, "python3", cgroup, 100)
	w.usage = append(w.usage, Usage{UUID: uuid, GPUInstance: instance, PID: pid})
}

// pod is a pod of the lab that was given devices.
func (w *world) pod(name string, ids ...string) *podresources.ContainerResources {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &podresources.ContainerResources{Name: "main"}
	if len(ids) > 0 {
		c.Devices = []*podresources.ContainerDevices{{ResourceName: "nvidia.com/gpu", DeviceIds: ids}}
	}
	w.pods = append(w.pods, &podresources.PodResources{Namespace: "lab", Name: name, Containers: []*podresources.ContainerResources{c}})
	return c
}

// named lets the kubelet's folders name a pod.
func (w *world) named(name string, n int) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(w.path(fmt.Sprintf("pods/lab_%s_%s", name, podUID(n))), 0o755))
	w.file(fmt.Sprintf("containers/%s_lab_main-%s.log", name, containerID(n)), "")
}

func podUID(n int) string      { return fmt.Sprintf("00000000-1111-2222-3333-%012d", n) }
func containerID(n int) string { return fmt.Sprintf("%064d", n) }

func podCgroup(n int) string {
	return fmt.Sprintf("/kubepods.slice/kubepods-pod%s.slice/cri-containerd-%s.scope", strings.ReplaceAll(podUID(n), "-", "_"), containerID(n))
}

func (w *world) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &podresources.ListPodResourcesResponse{PodResources: w.pods}, nil
}

// kubelet starts one; the function that it returns stops it and leaves its socket behind.
func (w *world) kubelet() (stop func()) {
	w.t.Helper()
	// A test's own folder may be too long for the address of a socket.
	folder, err := os.MkdirTemp("", "kubelet")
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, os.RemoveAll(folder)) })
	socket := filepath.Join(folder, "kubelet.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(w.t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	s := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(s, w)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	stop = sync.OnceFunc(func() {
		s.Stop()
		assert.NoError(w.t, <-done)
	})
	w.t.Cleanup(stop)
	w.options.Kubelet, err = kubelet.New(kubelet.Options{Socket: socket})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { assert.NoError(w.t, w.options.Kubelet.Close()) })
	return stop
}

// look is who uses what now.
func (w *world) look() (*Attributor, *Snapshot) {
	w.t.Helper()
	w.registry = prometheus.NewRegistry()
	w.options.Registerer = w.registry
	a := New(w.options)
	a.refresh(w.t.Context())
	return a, a.Snapshot()
}

// onPod is a container of a pod of the lab on a device, with a process there.
func onPod(uuid, instance, name string, n int) Owner {
	return Owner{
		UUID: uuid, GPUInstance: instance, Source: FromKubelet, Allocated: true, Running: true,
		Workload: Workload{Namespace: "lab", Pod: name, PodUID: podUID(n), Container: "main", ContainerID: containerID(n), Runtime: "containerd"},
	}
}
