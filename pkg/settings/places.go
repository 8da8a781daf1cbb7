package settings

import "strings"

// Places are labels of series by what their values name. Of several the first that a node has counts.
type Places struct {
	Rack   []string
	Power  []string // what feeds a node: a PDU
	Fabric []string // the NVLink domain
	Leaf   []string // the switch of the network
}

type storedPlaces struct {
	Rack   []string `json:"rack"`
	Power  []string `json:"power"`
	Fabric []string `json:"fabric"`
	Leaf   []string `json:"leaf"`
}

// DefaultPlaces are labels that are in use for it. Those of the NVLink domain are what the fabric manager gives to a GPU, as the
// label of Kubernetes nodes and as dcgm-exporter's string fields have it.
func DefaultPlaces() Places {
	return Places{
		Rack:   []string{"rack", "rack_id"},
		Power:  []string{"pdu", "power_feed"},
		Fabric: []string{"nvlink_domain", "gpu_clique", "nvidia_com_gpu_clique", "label_nvidia_com_gpu_clique", "clique", "DCGM_FI_DEV_FABRIC_CLUSTER_UUID"},
		Leaf:   []string{"leaf", "leaf_switch"},
	}
}

// read keeps the defaults of what is left out; an empty list turns a place off.
func (in storedPlaces) read() Places {
	p := DefaultPlaces()
	for into, list := range map[*[]string][]string{&p.Rack: in.Rack, &p.Power: in.Power, &p.Fabric: in.Fabric, &p.Leaf: in.Leaf} {
		if list == nil {
			continue
		}
		*into = nil
		for _, name := range list {
			if name = strings.TrimSpace(name); name != "" {
				*into = append(*into, name)
			}
		}
	}
	return p
}

// maxPlaceLabels bounds the labels of one kind of place.
const maxPlaceLabels = 16

func (v *validator) places(p Places) {
	for _, place := range []struct {
		key    string
		labels []string
	}{{"rack", p.Rack}, {"power", p.Power}, {"fabric", p.Fabric}, {"leaf", p.Leaf}} {
		key := "insight.places." + place.key
		v.atMost(key, len(place.labels), maxPlaceLabels)
		for _, label := range place.labels {
			if !isLabelName(label) {
				v.add(key, "%q is no name of a label: write letters, digits and underscores, as Prometheus has it", label)
			}
		}
	}
}
