package attribute

import (
	"maps"

	"github.com/warpwatch/warpwatch/node-agent/internal/attribute/kubelet"
)

// infer names pods of which only the UID is known, where it cannot be another: on each of its devices, no other pod runs and
// one pod alone was given the device, undivided. It tells how many pods it named and how many have no name.
func infer(pods []*allocation, processes []process) (named, nameless int) {
	type device struct{ uuid, instance string }
	given := map[device]map[kubelet.Pod]bool{}
	shared := map[device]bool{}
	for _, a := range pods {
		d := device{a.owner.UUID, a.owner.GPUInstance}
		if given[d] == nil {
			given[d] = map[kubelet.Pod]bool{}
		}
		given[d][kubelet.Pod{Namespace: a.owner.Namespace, Name: a.owner.Pod}] = true
		shared[d] = shared[d] || a.owner.Replica != ""
	}
	running := map[device]map[string]bool{} // UIDs of pods
	taken := map[kubelet.Pod]bool{}         // pods whose UID is known
	devices := map[string]map[device]bool{} // of pods without a name
	for _, p := range processes {
		if p.work.PodUID == "" {
			continue
		}
		d := device{p.uuid, p.instance}
		if running[d] == nil {
			running[d] = map[string]bool{}
		}
		running[d][p.work.PodUID] = true
		if p.work.Pod != "" {
			taken[kubelet.Pod{Namespace: p.work.Namespace, Name: p.work.Pod}] = true
			continue
		}
		if devices[p.work.PodUID] == nil {
			devices[p.work.PodUID] = map[device]bool{}
		}
		devices[p.work.PodUID][d] = true
	}
	candidates := map[string]kubelet.Pod{}
	times := map[kubelet.Pod]int{}
	for uid, on := range devices {
		possible := map[kubelet.Pod]bool{}
		certain := true
		for d := range on {
			certain = certain && !shared[d] && len(given[d]) == 1 && len(running[d]) == 1
			maps.Copy(possible, given[d])
		}
		for pod := range possible {
			if certain && len(possible) == 1 && !taken[pod] {
				candidates[uid] = pod
				times[pod]++
			}
		}
	}
	for i := range processes {
		w := &processes[i].work
		if pod, ok := candidates[w.PodUID]; ok && w.Pod == "" && times[pod] == 1 {
			w.Namespace, w.Pod = pod.Namespace, pod.Name
		}
	}
	for uid := range devices {
		if pod, ok := candidates[uid]; ok && times[pod] == 1 {
			named++
		} else {
			nameless++
		}
	}
	return named, nameless
}
