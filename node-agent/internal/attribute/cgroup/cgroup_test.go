package cgroup

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const (
	id  = "3f1c5e0000000000000000000000000000000000000000000000000000000abc"
	id2 = "99ffee0000000000000000000000000000000000000000000000000000000def"
	uid = "0a1b2c3d-1111-2222-3333-444455556666"
)

var systemdUID = strings.ReplaceAll(uid, "-", "_")

func TestContainersAndPods(t *testing.T) {
	for path, want := range map[string]Place{
		"/":                                {},
		"/user.slice/user-1000.slice":      {},
		"/docker/" + id:                    {ContainerID: id, Runtime: "docker"},
		"/system.slice/docker-" + id:       {ContainerID: id, Runtime: "docker"},
		"/docker-" + id + ".scope":         {ContainerID: id, Runtime: "docker"},
		"/docker/" + id + "/docker/" + id2: {ContainerID: id2, Runtime: "docker"},
		"/machine.slice/libpod-" + id + ".scope/container": {ContainerID: id, Runtime: "podman"},
		"/libpod_parent/libpod-" + id:                      {ContainerID: id, Runtime: "podman"},
		"/machine.slice/libpod-conmon-" + id + ".scope":    {},
		"/default/" + id:                           {ContainerID: id},
		"/system.slice/nerdctl-" + id + ".scope":   {ContainerID: id, Runtime: "containerd"},
		"/kubepods/burstable/pod" + uid + "/" + id: {ContainerID: id, PodUID: uid},
		"/kubepods/pod" + uid + "/crio-" + id:      {ContainerID: id, Runtime: "crio", PodUID: uid},
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + systemdUID + ".slice/cri-containerd-" + id + ".scope": {
			ContainerID: id, Runtime: "containerd", PodUID: uid},
		"/kubepods.slice/kubepods-pod" + systemdUID + ".slice/crio-" + id + ".scope/container": {ContainerID: id, Runtime: "crio", PodUID: uid},
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + systemdUID + ".slice/docker-" + id + ".scope": {
			ContainerID: id, Runtime: "docker", PodUID: uid},
		// containerd asked for systemd paths by a kubelet with cgroupfs
		"/system.slice/containerd.service/kubepods-burstable-pod" + systemdUID + ".slice:cri-containerd:" + id: {
			ContainerID: id, Runtime: "containerd", PodUID: uid},
		// a static pod
		"/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" + id: {ContainerID: id, PodUID: "0123456789abcdef0123456789abcdef"},
		// seen from a control group namespace beside it
		"/../../kubepods-pod" + systemdUID + ".slice/cri-containerd-" + id + ".scope": {ContainerID: id, Runtime: "containerd", PodUID: uid},
		// kubelet in docker, as kind does it
		"/docker/" + id2 + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + systemdUID + ".slice/cri-containerd-" + id + ".scope": {
			ContainerID: id, Runtime: "containerd", PodUID: uid},
		"/kubepods/podcast/x":                {},
		"/docker/" + strings.ToUpper(id):     {},
		"/docker/" + id[1:]:                  {},
		"/crio-conmon-" + id + ".scope":      {},
		"/" + strings.Repeat("a/", maxPath):  {},
		"/system.slice/cron.service/job_123": {},
	} {
		assert.Equal(t, want, Parse([]string{path}), path)
	}
}

func TestSlurm(t *testing.T) {
	for path, want := range map[string]Slurm{
		"/slurm/uid_1000/job_123/step_0/task_0":                                    {Job: "123", Step: "0", Task: "0", UID: "1000"},
		"/slurm_node7/uid_1000/job_123/step_batch":                                 {Job: "123", Step: "batch", UID: "1000"},
		"/system.slice/slurmstepd.scope/job_123/step_batch/user/task_0":            {Job: "123", Step: "batch", Task: "0"},
		"/system.slice/node7_slurmstepd.scope/job_9/step_extern/user/task_special": {Job: "9", Step: "extern"},
		"/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_12":        {SLUID: "s5K1KKYAYG5D00", Step: "0", Task: "12"},
		"/system.slice/slurmstepd.scope/job_s5K1KKYAYG5D00/step_0":                 {SLUID: "s5K1KKYAYG5D00", Step: "0"},
		"/system.slice/slurmstepd.scope/job_7/step_3/slurm":                        {Job: "7", Step: "3"},
		"/system.slice/slurmstepd.scope/job_7/step_3+1/user/task_0":                {Job: "7", Step: "3+1", Task: "0"},
		"/system.slice/slurmstepd.scope/system":                                    {},
		"/system.slice/slurmd.service":                                             {},
		"/job_1/step_2":                                                            {},
		"/slurm/uid_x/job_/step_0":                                                 {},
	} {
		assert.Equal(t, want, Parse([]string{path}).Slurm, path)
	}
}

// Hierarchies of version 1 differ in how deep they go.
func TestHierarchiesAddUp(t *testing.T) {
	got := Parse([]string{
		"/", "/slurm/uid_1000/job_123/step_0", "/slurm/uid_1000/job_123/step_0/task_3", "/slurm/uid_1001/job_124/step_9/task_9", "/docker/" + id,
	})
	assert.Equal(t, Place{ContainerID: id, Runtime: "docker", Slurm: Slurm{Job: "123", Step: "0", Task: "3", UID: "1000"}}, got)
}

func TestAJobInAPod(t *testing.T) {
	got := Parse([]string{"/kubepods.slice/kubepods-pod" + systemdUID + ".slice/cri-containerd-" + id + ".scope/system.slice/slurmstepd.scope/job_5/step_0/user/task_1"})
	assert.Equal(t, Place{ContainerID: id, Runtime: "containerd", PodUID: uid, Slurm: Slurm{Job: "5", Step: "0", Task: "1"}}, got)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"/docker/" + id, "/kubepods.slice/kubepods-pod" + systemdUID + ".slice/cri-containerd-" + id + ".scope",
		"/slurm/uid_1000/job_123/step_0/task_0", "/system.slice/slurmstepd.scope/s5K1KKYAYG5D00/step_0/user/task_12", "::::///", "/pod-", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p := Parse([]string{path})
		if p.ContainerID != "" && !isHex(p.ContainerID, 64) {
			t.Errorf("container id %q", p.ContainerID)
		}
		if p.PodUID != "" && !isHex(strings.ReplaceAll(p.PodUID, "-", ""), 32) {
			t.Errorf("pod UID %q", p.PodUID)
		}
		for _, word := range []string{p.Slurm.Job, p.Slurm.SLUID, p.Slurm.Step, p.Slurm.Task, p.Slurm.UID} {
			if word != "" && !isWord(word) {
				t.Errorf("word %q", word)
			}
		}
		if again := Parse([]string{path, path}); again != p {
			t.Errorf("twice the same path is %+v, once %+v", again, p)
		}
	})
}
