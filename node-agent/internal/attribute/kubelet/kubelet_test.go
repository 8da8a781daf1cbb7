package kubelet

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a kubelet.
type fake struct {
	podresources.UnimplementedPodResourcesListerServer
	mu     sync.Mutex
	answer *podresources.ListPodResourcesResponse
	hang   bool
}

func (f *fake) List(ctx context.Context, _ *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	f.mu.Lock()
	answer, hang := f.answer, f.hang
	f.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return answer, nil
}

// serve listens until the function that it returns is called.
func serve(t *testing.T, socket string, f podresources.PodResourcesListerServer) (stop func()) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	s := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(s, f)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	return sync.OnceFunc(func() {
		s.Stop()
		assert.NoError(t, <-done)
	})
}

func socket(t *testing.T) string {
	t.Helper()
	// A test's own folder may be too long for the address of a socket.
	folder, err := os.MkdirTemp("", "kubelet")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(folder)) })
	return filepath.Join(folder, "kubelet.sock")
}

func client(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func devices(resource string, ids ...string) *podresources.ContainerDevices {
	return &podresources.ContainerDevices{ResourceName: resource, DeviceIds: ids}
}

func TestList(t *testing.T) {
	share := "s1"
	f := &fake{answer: &podresources.ListPodResourcesResponse{PodResources: []*podresources.PodResources{
		{Name: "train-0", Namespace: "lab", Containers: []*podresources.ContainerResources{
			{Name: "main", Devices: []*podresources.ContainerDevices{
				devices("nvidia.com/gpu", "GPU-1", "GPU-2"), devices("nvidia.com/mig-1g.24gb", "MIG-1"), devices("nvidia.com/gpu.shared", "GPU-3::0"),
				devices("vendor.example/fpga", "f0"), devices("example.com/big-gpu", "GPU-4"),
			}},
			{Name: "sidecar"},
		}},
		{Name: "dra-0", Namespace: "lab", Containers: []*podresources.ContainerResources{
			{Name: "main", DynamicResources: []*podresources.DynamicResource{{
				ClaimName: "claim", ClaimNamespace: "lab", ClaimResources: []*podresources.ClaimResource{
					{DriverName: Driver, PoolName: "node1", DeviceName: "gpu-0", ShareId: &share, CdiDevices: []*podresources.CDIDevice{{Name: "nvidia.com/gpu=x"}}},
					{DriverName: "compute-domain.nvidia.com", PoolName: "node1", DeviceName: "channel-0"},
				},
			}}},
		}},
	}}}
	path := socket(t)
	stop := serve(t, path, f)
	defer stop()
	grants, dropped, err := client(t, Options{Socket: path, Resources: []string{"example.com/big-gpu"}}).List(t.Context())
	require.NoError(t, err)
	assert.Zero(t, dropped)
	main := Grant{Namespace: "lab", Pod: "train-0", Container: "main"}
	with := func(id string) Grant { g := main; g.ID = id; return g }
	assert.Equal(t, []Grant{
		with("GPU-1"), with("GPU-2"), with("MIG-1"), with("GPU-3::0"), with("GPU-4"),
		{Namespace: "lab", Pod: "dra-0", Container: "main", Claim: "lab/claim", Device: "gpu-0", Share: "s1", CDI: []string{"nvidia.com/gpu=x"}},
	}, grants)
}

func TestNoKubelet(t *testing.T) {
	_, _, err := client(t, Options{Socket: socket(t)}).List(t.Context())
	assert.ErrorIs(t, err, ErrAbsent)
}

func TestAKubeletThatStartsAgain(t *testing.T) {
	path := socket(t)
	f := &fake{answer: &podresources.ListPodResourcesResponse{}}
	c := client(t, Options{Socket: path})
	for range 2 {
		stop := serve(t, path, f)
		require.Eventually(t, func() bool {
			_, _, err := c.List(t.Context())
			return err == nil
		}, time.Minute, 10*time.Millisecond)
		stop()
		_, _, err := c.List(t.Context())
		require.Error(t, err)
	}
}

func TestAKubeletThatHangs(t *testing.T) {
	path := socket(t)
	stop := serve(t, path, &fake{hang: true})
	defer stop()
	_, _, err := client(t, Options{Socket: path, Timeout: 50 * time.Millisecond}).List(t.Context())
	assert.ErrorContains(t, err, "ask the kubelet at "+path)
	assert.ErrorContains(t, err, "DeadlineExceeded")
}

func TestAnOldKubelet(t *testing.T) {
	path := socket(t)
	stop := serve(t, path, podresources.UnimplementedPodResourcesListerServer{})
	defer stop()
	_, _, err := client(t, Options{Socket: path}).List(t.Context())
	assert.ErrorContains(t, err, "it needs Kubernetes 1.20 or newer")
}

func TestAKubeletThatTellsTooMuch(t *testing.T) {
	var ids []string
	for i := range maxGrants + 5 {
		ids = append(ids, fmt.Sprintf("GPU-%d", i))
	}
	l := list{}
	l.container(&podresources.PodResources{Name: strings.Repeat("n", 5000)}, &podresources.ContainerResources{
		Devices: []*podresources.ContainerDevices{devices("nvidia.com/gpu", ids...)},
	})
	assert.Len(t, l.grants, maxGrants)
	assert.Equal(t, 5, l.dropped)
	assert.Len(t, l.grants[0].Pod, maxName)

	huge := &fake{answer: &podresources.ListPodResourcesResponse{PodResources: []*podresources.PodResources{{Name: strings.Repeat("x", maxMessage)}}}}
	path := socket(t)
	stop := serve(t, path, huge)
	defer stop()
	_, _, err := client(t, Options{Socket: path}).List(t.Context())
	assert.ErrorContains(t, err, "larger than max")
}

func TestNames(t *testing.T) {
	id := strings.Repeat("ab", 32)
	pods, containers := t.TempDir(), t.TempDir()
	for _, name := range []string{"lab_train-0_0a1b-2c", "broken", "a_b", "_b_c", "a_b_c_d"} {
		require.NoError(t, os.Mkdir(filepath.Join(pods, name), 0o755))
	}
	for _, name := range []string{"train-0_lab_my-main-" + id + ".log", "x.log", "a_b_c-" + id, "a_b_-" + id + ".log", "a_b_" + id + ".log"} {
		require.NoError(t, os.WriteFile(filepath.Join(containers, name), nil, 0o600))
	}
	n, err := ReadNames(pods, containers)
	require.NoError(t, err)
	assert.Equal(t, map[string]Pod{"0a1b-2c": {"lab", "train-0"}}, n.Pods)
	assert.Equal(t, map[string]string{id: "my-main"}, n.Containers)

	n, err = ReadNames(filepath.Join(pods, "none"), "")
	require.NoError(t, err)
	assert.Empty(t, n.Pods)
	_, err = ReadNames(filepath.Join(containers, "x.log"), "")
	assert.ErrorContains(t, err, "read the names of pods")
}

func FuzzNames(f *testing.F) {
	f.Add("lab_train-0_0a1b-2c")
	f.Add("train-0_lab_my-main-" + strings.Repeat("ab", 32) + ".log")
	f.Fuzz(func(t *testing.T, entry string) {
		if pod, uid, ok := parsePodLog(entry); ok && pod.Namespace+"_"+pod.Name+"_"+uid != entry {
			t.Errorf("%q is %+v %q", entry, pod, uid)
		}
		if name, id, ok := parseContainerLog(entry); ok && !strings.HasSuffix(entry, name+"-"+id+".log") {
			t.Errorf("%q is %q %q", entry, name, id)
		}
	})
}

func TestHints(t *testing.T) {
	assert.Equal(t, ": only root may open the kubelet's socket", hint(&os.PathError{Op: "stat", Err: os.ErrPermission}))
	assert.Equal(t, ": only root may open the kubelet's socket", hint(status.Error(codes.Unavailable, "dial unix x: connect: permission denied")))
	assert.Empty(t, hint(context.DeadlineExceeded))
}
