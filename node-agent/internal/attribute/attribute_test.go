package attribute

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/kubelet"
	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/proc"
)

func TestAPodThatBothKnowIsToldOnce(t *testing.T) {
	w := newWorld(t)
	w.kubelet()
	w.pod("train-0", gpu0)
	w.pod("infer-0", mig7)
	w.pod("idle-0", "MIG-unknown", gpu0+"-x")
	w.named("train-0", 1)
	w.named("infer-0", 2)
	w.runs(101, podCgroup(1), gpu0, "")
	w.runs(102, podCgroup(1), gpu0, "")
	w.runs(103, podCgroup(2), gpu1, "7")
	_, s := w.look()
	assert.Equal(t, []Owner{
		onPod(gpu0, "", "train-0", 1),
		{UUID: gpu0 + "-x", Source: FromKubelet, Allocated: true, Workload: Workload{Namespace: "lab", Pod: "idle-0", Container: "main"}},
		onPod(gpu1, "7", "infer-0", 2),
	}, s.Owners)
	assert.Equal(t, []string{`pod lab/idle-0, container main: device id "MIG-unknown": no MIG instance of this node has this UUID`}, s.Notices)
}

// Older drivers do not tell the MIG instance of a process.
func TestAProcessWithoutItsInstance(t *testing.T) {
	w := newWorld(t)
	w.kubelet()
	w.pod("infer-0", mig7)
	w.named("infer-0", 2)
	w.runs(103, podCgroup(2), gpu1, "")
	_, s := w.look()
	assert.Equal(t, []Owner{onPod(gpu1, "7", "infer-0", 2)}, s.Owners)
}

// A38: the kubelet gave GPU 1 to two pods, but the MPS server runs all on GPU 0.
func TestProcessesAreBelievedBeforeTheKubelet(t *testing.T) {
	text, err := os.ReadFile("testdata/mps_wrong_gpu.json")
	require.NoError(t, err)
	var fixture struct {
		Exporter struct {
			Data struct {
				Result []struct {
					Metric struct {
						UUID string
						Pod  string `json:"exported_pod"`
					}
				}
			}
		}
		Processes []struct {
			PID  int
			UUID string `json:"gpu_uuid"`
			Pod  string
		} `json:"agent_processes"`
	}
	require.NoError(t, json.Unmarshal(text, &fixture))
	w := newWorld(t)
	w.kubelet()
	number := map[string]int{}
	for i, series := range fixture.Exporter.Data.Result {
		w.pod(series.Metric.Pod, fmt.Sprintf("%s::%d", series.Metric.UUID, i%2))
		w.named(series.Metric.Pod, i)
		number[series.Metric.Pod] = i
	}
	for _, p := range fixture.Processes {
		w.runs(p.PID, podCgroup(number[p.Pod]), p.UUID, "")
	}
	_, s := w.look()
	var got []string
	for _, o := range s.Owners {
		got = append(got, fmt.Sprintf("%s %s %q allocated=%t running=%t conflict=%t", o.UUID[:12], o.Pod, o.Replica, o.Allocated, o.Running, o.Conflict))
	}
	assert.Equal(t, []string{
		`GPU-5e1f0000 mps-0 "0" allocated=true running=true conflict=false`,
		`GPU-5e1f0000 mps-1 "1" allocated=true running=true conflict=false`,
		`GPU-5e1f0000 mps-2 "" allocated=false running=true conflict=true`,
		`GPU-5e1f0000 mps-3 "" allocated=false running=true conflict=true`,
		`GPU-5e1f0001 mps-2 "0" allocated=true running=false conflict=true`,
		`GPU-5e1f0001 mps-3 "1" allocated=true running=false conflict=true`,
	}, got)
	var published []string
	for _, o := range s.List().Owners {
		published = append(published, fmt.Sprintf("%s %s %s", o.UUID[:12], o.Pod, o.Conflict))
	}
	assert.Equal(t, []string{
		"GPU-5e1f0000 mps-0 ", "GPU-5e1f0000 mps-1 ", "GPU-5e1f0000 mps-2 not_given", "GPU-5e1f0000 mps-3 not_given",
		"GPU-5e1f0001 mps-2 not_used", "GPU-5e1f0001 mps-3 not_used",
	}, published)
	assert.Equal(t, []string{
		"pod lab/mps-2 was given " + gpu1 + ", but its processes run on " + gpu0 + ": the processes are believed",
		"pod lab/mps-3 was given " + gpu1 + ", but its processes run on " + gpu0 + ": the processes are believed",
	}, s.Notices)
}

// A19: a GPU that is sliced in time has several owners, one for each share.
func TestSharesOfAGPU(t *testing.T) {
	w := newWorld(t)
	w.kubelet()
	for i := range 3 {
		name := fmt.Sprintf("work-%d", i+1)
		w.pod(name, fmt.Sprintf("%s::%d", gpu0, i))
		w.named(name, i)
	}
	w.pod("gke-0", "nvidia1/gi7/vgpu2")
	w.runs(101, podCgroup(0), gpu0, "")
	_, s := w.look()
	require.Len(t, s.Owners, 4)
	for i, o := range s.Owners[:3] {
		assert.Equal(t, fmt.Sprintf("work-%d %d %t", i+1, i, i == 0), fmt.Sprintf("%s %s %t", o.Pod, o.Replica, o.Running))
	}
	assert.Equal(t, Owner{UUID: gpu1, GPUInstance: "7", Replica: "2", Source: FromKubelet, Allocated: true,
		Workload: Workload{Namespace: "lab", Pod: "gke-0", Container: "main"}}, s.Owners[3])
}

func TestClaims(t *testing.T) {
	w := newWorld(t)
	w.kubelet()
	c := w.pod("dra-0")
	c.DynamicResources = []*podresources.DynamicResource{{ClaimName: "big", ClaimNamespace: "lab", ClaimResources: []*podresources.ClaimResource{
		{DriverName: kubelet.Driver, PoolName: "n", DeviceName: "gpu-0"}, {DriverName: kubelet.Driver, PoolName: "n", DeviceName: "gpu-1-mig-1g24gb-19-4"},
	}}}
	_, s := w.look()
	row := Owner{UUID: gpu0, Claim: "lab/big", Source: FromKubelet, Allocated: true, Workload: Workload{Namespace: "lab", Pod: "dra-0", Container: "main"}}
	other := row
	other.UUID, other.GPUInstance = gpu1, "7"
	assert.Equal(t, []Owner{row, other}, s.Owners)
	assert.Equal(t, []string{"a claim was taken for the only MIG instance of profile 1g24gb of its GPU, because placements are not known"}, s.Notices)
}

func TestContainersAndUsersWithoutScheduler(t *testing.T) {
	w := newWorld(t)
	id := containerID(5)
	w.runs(101, "/system.slice/docker-"+id+".scope", gpu0, "")
	w.runs(102, "/user.slice/user-1000.slice/session-1.scope", gpu0, "")
	w.usage = append(w.usage, Usage{UUID: gpu0, PID: 999}) // has ended
	_, s := w.look()
	assert.Equal(t, []Owner{
		{UUID: gpu0, Source: FromCgroup, Running: true, Workload: Workload{ContainerID: id, Runtime: "docker"}},
		{UUID: gpu0, Source: FromProcess, Running: true, Workload: Workload{User: "ana"}},
	}, s.Owners)
	assert.Empty(t, s.Notices)
}

func TestAJobThatBothKnowIsToldOnce(t *testing.T) {
	w := newWorld(t)
	w.file("jobs/123.job", "job=123\nuser=ben\ngpus=0,1\n")
	w.runs(101, "/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", gpu0, "")
	w.runs(102, "/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", gpu0, "")
	_, s := w.look()
	assert.Equal(t, []Owner{
		{UUID: gpu0, Source: FromSlurmCgroup, Allocated: true, Running: true, Workload: Workload{SlurmJob: "123", SlurmStep: "0", Rank: "0", User: "ben"}},
		{UUID: gpu1, Source: FromSlurmFile, Allocated: true, Workload: Workload{SlurmJob: "123", User: "ben"}},
	}, s.Owners)
	assert.Empty(t, s.Notices)
}

// Slurm 26.05 names control groups for another id than the job's number.
func TestSLUIDs(t *testing.T) {
	const path = "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_1"
	for name, tc := range map[string]struct{ file, job, sluid string }{
		"told by the prolog":        {"job=123\nsluid=s5K1KKYAYG5D00\ngpus=1\n", "123", ""},
		"the only job on the GPU":   {"job=123\ngpus=0\n", "123", ""},
		"another job is on the GPU": {"job=123\nsluid=sEKNKTV3WPV500\ngpus=0\n", "", "s5K1KKYAYG5D00"},
		"the job is on another GPU": {"job=123\ngpus=1\n", "", "s5K1KKYAYG5D00"},
	} {
		w := newWorld(t)
		w.file("jobs/123.job", tc.file)
		w.runs(101, path, gpu0, "")
		a, s := w.look()
		i := slices.IndexFunc(s.Owners, func(o Owner) bool { return o.Source == FromSlurmCgroup })
		require.GreaterOrEqual(t, i, 0, name)
		assert.Equal(t, tc.job, s.Owners[i].SlurmJob, name)
		assert.Equal(t, tc.sluid, s.Owners[i].SlurmSLUID, name)
		info, ok := a.Describe(101)
		require.True(t, ok)
		assert.Equal(t, tc.job, info.SlurmJob, name)
	}
}

func TestAJobOnAGPUThatItWasNotGiven(t *testing.T) {
	w := newWorld(t)
	w.file("jobs/123.job", "job=123\ngpus=1\n")
	w.runs(101, "/slurm/uid_1000/job_123/step_0/task_0", gpu0, "")
	_, s := w.look()
	require.Len(t, s.Owners, 2)
	assert.True(t, s.Owners[0].Conflict && s.Owners[0].Running && !s.Owners[0].Allocated)
	assert.True(t, s.Owners[1].Conflict && !s.Owners[1].Running && s.Owners[1].Allocated)
	assert.Equal(t, []string{"Slurm job 123 was given " + gpu1 + ", but its processes run on " + gpu0 + ": the processes are believed"}, s.Notices)
}

// Slurm's daemon may run in a pod that holds all GPUs.
func TestAJobInAPod(t *testing.T) {
	w := newWorld(t)
	w.kubelet()
	w.pod("worker-0", gpu0)
	w.named("worker-0", 1)
	w.file("jobs/5.job", "job=5\nuser=ben\ngpus=0\n")
	w.runs(101, podCgroup(1)+"/system.slice/slurmstepd.scope/job_5/step_0/user/task_1", gpu0, "")
	_, s := w.look()
	want := onPod(gpu0, "", "worker-0", 1)
	want.Source, want.SlurmJob, want.SlurmStep, want.Rank, want.User = FromSlurmCgroup, "5", "0", "1", "ben"
	assert.Equal(t, []Owner{want}, s.Owners)
}

func TestPodsWithoutNames(t *testing.T) {
	w := newWorld(t)
	w.options.PodLogs, w.options.ContainerLogs = "", ""
	w.kubelet()
	w.pod("train-0", gpu0)
	w.pod("a", mig7+"::0")
	w.pod("b", mig7+"::1")
	w.runs(101, podCgroup(1), gpu0, "")
	w.runs(102, podCgroup(2), gpu1, "7")
	a, s := w.look()
	assert.Equal(t, []string{
		"2 pods on GPUs are known by UID only, and 1 of them were named by the GPUs that they were given: let the agent list /var/log/pods to learn names",
	}, s.Notices)
	require.Len(t, s.Owners, 4)
	assert.Equal(t, onPod(gpu0, "", "train-0", 1), s.Owners[0])
	assert.Equal(t, Owner{UUID: gpu1, GPUInstance: "7", Source: FromCgroup, Running: true,
		Workload: Workload{PodUID: podUID(2), ContainerID: containerID(2), Runtime: "containerd"}}, s.Owners[1], "it may be either of two")
	info, ok := a.Describe(101)
	require.True(t, ok)
	assert.Equal(t, "train-0", info.Pod)

	w.runs(103, podCgroup(3), gpu0, "")
	_, s = w.look()
	assert.Empty(t, s.Owners[0].Pod, "it may be either of two")
}

// D15: without the host's namespace of pids, no name may come from the container's own processes.
func TestPIDsOfTheHost(t *testing.T) {
	w := newWorld(t)
	w.namespace(containerNamespace)
	w.kubelet()
	w.pod("train-0", gpu0)
	w.runs(1, "/docker/"+containerID(1), gpu0, "")
	w.runs(4242, "/docker/"+containerID(1), gpu0, "")
	a, s := w.look()
	assert.Equal(t, []Owner{{UUID: gpu0, Source: FromKubelet, Allocated: true, Workload: Workload{Namespace: "lab", Pod: "train-0", Container: "main"}}}, s.Owners)
	assert.Equal(t, []string{proc.HostPIDHint}, s.Notices)
	for _, pid := range []int{1, 4242, 9} {
		info, ok := a.Describe(pid)
		assert.True(t, ok)
		assert.Equal(t, ProcessInfo{PID: pid, HostPID: true, Hint: proc.HostPIDHint}, info)
	}
	assert.NoError(t, testutil.GatherAndCompare(w.registry, strings.NewReader(`# HELP warpwatch_agent_owner_source_up Whether a source of owners answers: 1 when it does, 0 when it fails, no series when it is not on this node.
# TYPE warpwatch_agent_owner_source_up gauge
warpwatch_agent_owner_source_up{source="kubelet"} 1
warpwatch_agent_owner_source_up{source="processes"} 0
`), "warpwatch_agent_owner_source_up"))
}

func TestDescribe(t *testing.T) {
	w := newWorld(t)
	w.runs(101, "/docker/"+containerID(1), gpu0, "")
	a, _ := w.look()
	info, ok := a.Describe(101)
	require.True(t, ok)
	assert.Equal(t, ProcessInfo{PID: 101, Name: "python3", User: "ana", Start: 100, Workload: Workload{ContainerID: containerID(1), Runtime: "docker"}}, info)

	w.exists(101, "other", "/", 200) // the number was given to another process
	info, ok = a.Describe(101)
	require.True(t, ok)
	assert.Equal(t, ProcessInfo{PID: 101, Name: "other", User: "ana", Start: 200, Workload: Workload{User: "ana"}}, info)

	w.exists(102, "new", "/", 300)
	info, ok = a.Describe(102)
	require.True(t, ok)
	assert.Equal(t, "new", info.Name)
	_, ok = a.Describe(103)
	assert.False(t, ok)
}

func TestAKubeletThatGoesAway(t *testing.T) {
	w := newWorld(t)
	stop := w.kubelet()
	w.pod("train-0", gpu0)
	a, s := w.look()
	before := s.Owners
	require.Len(t, before, 1)
	stop()
	a.refresh(t.Context())
	assert.Equal(t, before, a.Snapshot().Owners, "its pods still run")
	require.Len(t, a.Snapshot().Notices, 1)
	assert.Contains(t, a.Snapshot().Notices[0], "still counts")
	a.kubelet.at = a.kubelet.at.Add(-time.Hour)
	a.refresh(t.Context())
	assert.Empty(t, a.Snapshot().Owners)
	assert.Contains(t, a.Snapshot().Notices[0], "ask the kubelet")
	assert.Equal(t, 0.0, testutil.ToFloat64(a.m.up.WithLabelValues(sourceKubelet)))
}

func TestUnknownDevicesAreCountedOnce(t *testing.T) {
	w := newWorld(t)
	w.kubelet()
	w.pod("train-0", "junk", "MIG-unknown")
	w.file("jobs/1.job", "job=1\ngpus=9\n")
	a, s := w.look()
	assert.Len(t, s.Notices, 3)
	a.refresh(t.Context())
	assert.Len(t, a.Snapshot().Notices, 3)
	assert.Equal(t, 2.0, testutil.ToFloat64(a.m.unresolved.WithLabelValues(sourceKubelet)))
	assert.Equal(t, 1.0, testutil.ToFloat64(a.m.unresolved.WithLabelValues(sourceSlurm)))
}

func TestTooManyOwners(t *testing.T) {
	w := newWorld(t)
	w.kubelet()
	var ids []string
	for i := range 50 {
		ids = append(ids, fmt.Sprintf("%s::%d", gpu0, i), fmt.Sprintf("junk%d", i))
	}
	w.pod("train-0", ids...)
	w.options.MaxOwners = 20
	a, s := w.look()
	assert.Len(t, s.Owners, 20)
	assert.Equal(t, 30.0, testutil.ToFloat64(a.m.refused))
	assert.Equal(t, 20.0, testutil.ToFloat64(a.m.owners))
	assert.Len(t, s.Notices, maxNotices+1)
	assert.Equal(t, "and 19 more of this kind", s.Notices[maxNotices])
}

func TestOrderDoesNotMatter(t *testing.T) {
	w := newWorld(t)
	w.runs(101, "/slurm/uid_1000/job_12/step_0/task_10", gpu0, "")
	w.runs(102, "/slurm/uid_1000/job_12/step_0/task_9", gpu0, "")
	w.runs(103, "/docker/"+containerID(1), gpu1, "7")
	w.runs(104, "/docker/"+containerID(1), gpu1, "10")
	w.runs(105, "/docker/"+containerID(1), gpu1, "")
	_, forwards := w.look()
	slices.Reverse(w.usage)
	_, backwards := w.look()
	assert.Equal(t, forwards.Owners, backwards.Owners)
	assert.Equal(t, "9", forwards.Owners[0].Rank)
	assert.Equal(t, "10", forwards.Owners[4].GPUInstance)
}

func TestRun(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w.options.Usage = func() []Usage { asked++; return nil }
		a := New(w.options)
		assert.True(t, a.Snapshot().At.IsZero())
		done := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- a.Run(ctx) }()
		time.Sleep(25 * time.Second)
		synctest.Wait()
		assert.Equal(t, 3, asked)
		assert.Equal(t, 5*time.Second, time.Since(a.Snapshot().At))
		cancel()
		assert.NoError(t, <-done)
	})
}

func TestDescribeBesideRefresh(t *testing.T) {
	w := newWorld(t)
	w.runs(101, "/docker/"+containerID(1), gpu0, "")
	a, _ := w.look()
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 50 {
				info, ok := a.Describe(101)
				assert.True(t, ok && info.Name == "python3")
				assert.Len(t, a.Snapshot().List().Owners, 1)
			}
		})
	}
	for range 20 {
		a.refresh(t.Context())
	}
	asking.Wait()
}

func BenchmarkRefresh(b *testing.B) {
	w := newWorld(b)
	for pid := range 64 {
		w.runs(100+pid, podCgroup(pid), gpu0, "")
	}
	a, _ := w.look()
	b.ReportAllocs()
	for b.Loop() {
		a.refresh(b.Context())
	}
}
