package history

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// A GPU that is split into instances, given to pods, on a node whose dcgm-exporter is upgraded halfway: the instances, their
// values and their owners are those of a node that was not.
func TestUpgradeHalfwayKeepsInstancesAndOwners(t *testing.T) {
	const uuid = "GPU-5e1f0000-0a00-4a00-8b00-000000000001"
	const metric = "gpu_memory_used_bytes"
	c := mustCatalog(t)
	m, _ := c.Metric(metric)
	generations := writers()[1:4]             // those that know instances
	owner := map[string][2]map[string]string{ // as the pods' own labels, and where Prometheus keeps its own labels apart
		"plain":    {{"pod": "train-%s", "namespace": "lab", "container": "main"}, {"pod": "train-%s", "namespace": "lab", "container": "main"}},
		"exported": {{"exported_pod": "train-%s", "exported_namespace": "lab", "pod": "dcgm-exporter-x2x9z"}, {"exported_pod": "train-%s", "exported_namespace": "lab", "pod": "dcgm-exporter-k8v7q"}},
		"changed":  {{"exported_pod": "train-%s", "exported_namespace": "lab", "pod": "dcgm-exporter-x2x9z"}, {"pod": "train-%s", "namespace": "lab", "exported_pod": ""}},
	}
	for _, before := range generations {
		for _, after := range generations {
			for name, owners := range owner {
				t.Run(before.name+" to "+after.name+", "+name, func(t *testing.T) {
					s := &promtest.Store{}
					add := func(w writer, owner map[string]string, instance string, from, to int64) {
						source, ok := w.source(m)
						if !ok {
							t.Fatalf("%s does not write %s", w.name, metric)
						}
						labels := w.labels("n1", uuid)
						labels["__name__"], labels["GPU_I_ID"], labels["GPU_I_PROFILE"] = source.Series, instance, "1g.18gb"
						for label, value := range owner {
							if value != "" {
								labels[label] = value
								if value == "train-%s" {
									labels[label] = fmt.Sprintf(value, instance)
								}
							}
						}
						var points []promtest.Point
						for at := from; at < to; at += 15 {
							value := truth(m, at) * source.Conversion.Divisor / source.Conversion.Multiplier
							points = append(points, promtest.Point{Time: (t0 + at) * 1000, Value: value})
						}
						if to < 600 {
							points = append(points, promtest.Point{Time: (t0 + to) * 1000, Value: promtest.Stale()})
						}
						s.Add(labels, points...)
					}
					for _, instance := range []string{"1", "2", "9"} {
						if before.name == after.name && maps.Equal(owners[0], owners[1]) {
							add(before, owners[0], instance, -600, 615)
							continue
						}
						add(before, owners[0], instance, -600, 300)
						add(after, owners[1], instance, 300, 615)
					}
					h := open(t, s)
					for scope, want := range map[string][]string{
						"": {"1", "2", "9"}, `"pods":["train-2"]`: {"2"}, `"namespaces":["lab"]`: {"1", "2", "9"}, `"pods":["dcgm-exporter-x2x9z"]`: nil,
						`"migs":["` + uuid + `/9"]`: {"9"}, `"nodes":["n1"],"namespaces":["lab"],"pods":["train-1","train-9"]`: {"1", "9"},
					} {
						result := askOver(t, h, metric, scope, window(600, time.Minute))
						if result.Err != nil || len(result.Series) != len(want) {
							t.Errorf("%s: %d series, want %v: %v %v", scope, len(result.Series), want, result.Err, result.Notices)
							continue
						}
						for i, line := range result.Series {
							d := line.Device
							if d.UUID != uuid || d.GPUInstance != want[i] || d.Node != "n1" || d.MIGProfile != "1g.18gb" || len(line.Times) != 11 {
								t.Errorf("%s: %+v with %d points", scope, d, len(line.Times))
							}
							for n, at := range line.Times {
								if value := truth(m, at/1000-t0); math.Abs(line.Values[n]-value) > 1e-6*value {
									t.Errorf("%s: %v at %d, want %v", scope, line.Values[n], at/1000-t0, value)
									break
								}
							}
						}
					}
				})
			}
		}
	}
}
