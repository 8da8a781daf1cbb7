package health

import (
	"fmt"
	"math"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// kind is a model in a cluster. Its GPUs should run the same software.
type kind struct{ cluster, model string }

// census of versions of one kind.
type versions struct {
	count map[string]int
	all   int
}

// most is the version that most have, "" while two are level: nobody knows then which is the odd one.
func (v *versions) most() string {
	best, level := "", false
	for name, n := range v.count {
		switch {
		case best == "" || n > v.count[best]:
			best, level = name, false
		case n == v.count[best]:
			level = true
		}
	}
	if level {
		return ""
	}
	return best
}

// oddFirmware finds boards whose driver or VBIOS is not that of most of the same model in the same cluster. It is
// information: during an upgrade it is so on purpose.
func (p *pass) oddFirmware(boards [][]int, vbios map[gpu.Identity]string) map[int][]insight.Reason {
	drivers, firmware := make(map[kind]*versions), make(map[kind]*versions)
	note := func(all map[kind]*versions, k kind, version string) {
		if version == "" || k.model == "" {
			return
		}
		v := all[k]
		if v == nil {
			v = &versions{count: make(map[string]int, 1)}
			all[k] = v
		}
		v.count[version]++
		v.all++
	}
	of := func(rows []int) *insight.Subject { return &p.grid.Subjects[rows[0]] }
	for _, rows := range boards {
		d := of(rows)
		k := kind{d.Cluster, d.Model}
		note(drivers, k, d.Driver)
		if len(vbios) > 0 {
			note(firmware, k, vbios[d.Parent()])
		}
	}
	odd := make(map[int][]insight.Reason)
	look := func(all map[kind]*versions, id, what string, version func(*insight.Subject) string) {
		usual := make(map[kind]string)
		for k, v := range all {
			if len(v.count) > 1 {
				usual[k] = v.most()
			}
		}
		if len(usual) == 0 {
			return
		}
		for i, rows := range boards {
			d := of(rows)
			k := kind{d.Cluster, d.Model}
			most, mine := usual[k], version(d)
			if most == "" || mine == "" || mine == most {
				continue
			}
			v := all[k]
			odd[i] = append(odd[i], insight.Reason{
				ID: id, Severity: insight.Info,
				Text: fmt.Sprintf("The %s is %s; %d of %d %s in the cluster have %s.", what, mine, v.count[most], v.all, gpu.ShortModel(d.Model), most),
				Evidence: []insight.Evidence{{Metric: id, Value: float64(v.count[mine]), Unit: gpu.Count, Limit: math.NaN(),
					Text: fmt.Sprintf("%s %s on %d of %d GPUs", what, mine, v.count[mine], v.all)}},
				Action: operator("Bring the node to the version of the others, when no upgrade is under way.", "version-mismatch"),
			})
		}
	}
	look(drivers, "driver-mismatch", "driver", func(d *insight.Subject) string { return d.Driver })
	look(firmware, "vbios-mismatch", "VBIOS", func(d *insight.Subject) string { return vbios[d.Parent()] })
	return odd
}
