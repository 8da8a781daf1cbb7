package locate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const (
	gpu0 = "GPU-5e1f0000-0a00-4a00-8b00-000000000000"
	gpu1 = "GPU-5e1f0001-0a00-4a00-8b00-000000000001"
	mig7 = "MIG-5e1f0007-0a00-4a00-8b00-000000000007"
	mig9 = "MIG-5e1f0009-0a00-4a00-8b00-000000000009"
	part = "MIG-5e1f00aa-0a00-4a00-8b00-0000000000aa"
)

// node has GPU 0, and GPU 1 split into instances 7 and 9.
func node() []Device {
	mig := func(instance, uuid, profile string) gpu.Device {
		return gpu.Device{Identity: gpu.Identity{UUID: gpu1, GPUInstance: instance}, Index: 1, MIGUUID: uuid, MIGProfile: profile}
	}
	return Devices([]gpu.Device{
		{Identity: gpu.Identity{UUID: gpu0}, Index: 0},
		{Identity: gpu.Identity{UUID: gpu1}, Index: 1, MIGEnabled: true},
		mig("7", mig7, "1g.24gb+me"), mig("9", mig9, "1g.24gb"),
	})
}

// told is the same node when minor numbers, the wrong way around, and placements are known.
func told() []Device {
	devices := node()
	devices[0].Minor, devices[1].Minor = 1, 0
	devices[2].Start, devices[3].Start = 0, 4
	devices[3].Aliases = []string{part}
	return devices
}

func TestParseID(t *testing.T) {
	for text, want := range map[string]ID{
		gpu0:                      {UUID: gpu0, Minor: Unknown},
		mig7:                      {UUID: mig7, Minor: Unknown},
		gpu0 + "::0":              {UUID: gpu0, Minor: Unknown, Replica: "0"},
		mig7 + "::12":             {UUID: mig7, Minor: Unknown, Replica: "12"},
		"MIG-" + gpu0 + "/3/0":    {UUID: gpu0, Minor: Unknown, GPUInstance: "3"},
		"MIG-" + gpu0 + "/3/0::1": {UUID: gpu0, Minor: Unknown, GPUInstance: "3", Replica: "1"},
		"nvidia0":                 {Minor: 0},
		"nvidia12/gi7":            {Minor: 12, GPUInstance: "7"},
		"nvidia0/vgpu3":           {Minor: 0, Replica: "3"},
		"nvidia0/gi7/vgpu3":       {Minor: 0, GPUInstance: "7", Replica: "3"},
	} {
		got, err := ParseID(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "0", "GPU-", "MIG-", "GPU-1::", "GPU-1::x", "GPU-1::-1", "nvidia", "nvidia-1", "nvidia0/", "nvidia0/gi", "nvidia0/vgpu1/gi7", "nvidia0::1",
		"nvidia0/gi1/vgpu1/x", "nvidia9999999", "MIG-GPU-1/2", "MIG-GPU-1/x/0", "GPU-1\n", "GPU-1\"", "gpu-0", "::1",
	} {
		_, err := ParseID(text)
		assert.ErrorContains(t, err, "device id", text)
	}
	_, err := ParseID(string(make([]byte, 5000)))
	assert.EqualError(t, err, "device id of 5000 bytes: at most 128 are expected")
}

func TestPlugin(t *testing.T) {
	for text, want := range map[string]Target{
		gpu0:                {UUID: gpu0},
		"GPU-that-was-lost": {UUID: "GPU-that-was-lost"},
		mig7:                {UUID: gpu1, GPUInstance: "7"},
		part + "::2":        {UUID: gpu1, GPUInstance: "9", Replica: "2"},
		"nvidia0":           {UUID: gpu1},
		"nvidia1/vgpu2":     {UUID: gpu0, Replica: "2"},
		"nvidia0/gi9":       {UUID: gpu1, GPUInstance: "9"},
	} {
		got, err := NewTable(told()).Plugin(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	got, err := NewTable(node()).Plugin("nvidia0")
	require.NoError(t, err)
	assert.Equal(t, Target{UUID: gpu0, Note: "/dev/nvidia0 was taken for the GPU with index 0, because minor numbers are not known"}, got)

	_, err = NewTable(told()).Plugin("nvidia4")
	assert.EqualError(t, err, `device id "nvidia4": this node has no GPU with the device file /dev/nvidia4`)
	_, err = NewTable(told()).Plugin("MIG-unknown")
	assert.EqualError(t, err, `device id "MIG-unknown": no MIG instance of this node has this UUID`)
}

func TestJobAndIndex(t *testing.T) {
	table := NewTable(told())
	got, err := table.Job("0")
	require.NoError(t, err)
	assert.Equal(t, Target{UUID: gpu1}, got, "Slurm counts device files")
	got, err = table.Job(mig9)
	require.NoError(t, err)
	assert.Equal(t, Target{UUID: gpu1, GPUInstance: "9"}, got)
	got, err = table.Index("0")
	require.NoError(t, err)
	assert.Equal(t, Target{UUID: gpu0}, got)
	got, err = table.Index("1.7")
	require.NoError(t, err)
	assert.Equal(t, Target{UUID: gpu1, GPUInstance: "7"}, got)
	for _, text := range []string{"", "x", "-1", "1.", "1.x", "4"} {
		_, err := table.Index(text)
		assert.ErrorContains(t, err, "GPU", text)
	}
	_, err = table.Job("9")
	assert.EqualError(t, err, `GPU "9": this node has no GPU with the device file /dev/nvidia9`)
}

func TestClaims(t *testing.T) {
	for _, tc := range []struct {
		name string
		cdi  []string
		want Target
	}{
		{name: "gpu-0", want: Target{UUID: gpu1}},
		{name: "gpu-1", want: Target{UUID: gpu0}},
		{name: "gpu-0-mig-1g24gb-19-4", want: Target{UUID: gpu1, GPUInstance: "9"}},
		{name: "gpu-0-mig-1g24gb-me-20-0", want: Target{UUID: gpu1, GPUInstance: "7"}},
		{name: "gpu-0-mig-19-4-1", want: Target{UUID: gpu1, GPUInstance: "9"}},
		{name: "gpu-0", cdi: []string{"nvidia.com/gpu=" + gpu0}, want: Target{UUID: gpu0}},
		{cdi: []string{"junk", "k8s.gpu.nvidia.com/claim=0a1b-gpu-1"}, want: Target{UUID: gpu0}},
		{cdi: []string{"k8s.gpu.nvidia.com/device=gpu-0-mig-19-4-1"}, want: Target{UUID: gpu1, GPUInstance: "9"}},
	} {
		got, err := NewTable(told()).Claim(tc.name, tc.cdi)
		require.NoError(t, err, tc.name)
		assert.Equal(t, tc.want, got, tc.name)
	}
	for name, want := range map[string]string{
		"":                      "DRA claim without the name of a device",
		"gpu-x":                 `DRA device "gpu-x": expected gpu-<minor> or gpu-<minor>-mig-<profile>-<id>-<start>`,
		"gpu-vfio-0":            `DRA device "gpu-vfio-0": expected gpu-<minor> or gpu-<minor>-mig-<profile>-<id>-<start>`,
		"gpu-0-mig-19-4":        `DRA device "gpu-0-mig-19-4": expected gpu-<minor> or gpu-<minor>-mig-<profile>-<id>-<start>`,
		"gpu-0-mig-1g24gb-19-x": `DRA device "gpu-0-mig-1g24gb-19-x": expected gpu-<minor> or gpu-<minor>-mig-<profile>-<id>-<start>`,
		"gpu-0-mig-1g24gb-19-6": `DRA device "gpu-0-mig-1g24gb-19-6": its GPU has no MIG instance of profile 1g24gb at memory slice 6`,
		"gpu-7":                 `DRA device "gpu-7": this node has no GPU with the device file /dev/nvidia7`,
	} {
		_, err := NewTable(told()).Claim(name, nil)
		assert.EqualError(t, err, want)
	}
}

func TestClaimsWithoutPlacements(t *testing.T) {
	table := NewTable(node())
	got, err := table.Claim("gpu-1-mig-1g24gb-19-4", nil)
	require.NoError(t, err)
	assert.Equal(t, "9", got.GPUInstance)
	assert.Contains(t, got.Note, "a claim was taken for the only MIG instance of profile 1g24gb of its GPU, because placements are not known")
	assert.Contains(t, got.Note, "/dev/nvidia1 was taken for the GPU with index 1")
	_, err = table.Claim("gpu-1-mig-19-4-1", nil)
	assert.EqualError(t, err, `DRA device "gpu-1-mig-19-4-1": its GPU has 2 instances that it could be, and their placements are not known`)
}

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{gpu0, mig7 + "::3", "nvidia0/gi3/vgpu1", "MIG-" + gpu0 + "/3/0", "nvidia0/", "::"} {
		f.Add(seed)
	}
	table := NewTable(told())
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseID(text)
		if err == nil && (id.UUID == "") == (id.Minor == Unknown) {
			t.Errorf("%q is %+v", text, id)
		}
		if target, err := table.Plugin(text); err == nil && target.UUID == "" {
			t.Errorf("%q means %+v", text, target)
		}
	})
}

func FuzzClaim(f *testing.F) {
	f.Add("gpu-0-mig-1g24gb-19-4", "nvidia.com/gpu="+gpu0)
	f.Add("gpu-0-mig-19-4-1", "k8s.gpu.nvidia.com/claim=0a1b-gpu-1")
	f.Add("", "=gpu-")
	table := NewTable(told())
	f.Fuzz(func(t *testing.T, name, cdi string) {
		if target, err := table.Claim(name, []string{cdi}); err == nil && target.UUID == "" {
			t.Errorf("%q, %q mean %+v", name, cdi, target)
		}
		if _, err := table.Index(name); err == nil && len(name) > 20 {
			t.Errorf("index %q", name)
		}
	})
}
