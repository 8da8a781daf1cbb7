package gpu

import (
	"fmt"
	"strings"
)

// Device is what a GPU or a MIG instance is: facts that do not change while it keeps its identity.
type Device struct {
	Identity

	Index      int // as nvidia-smi prints it; for display only, -1 when not known
	Model      string
	PCIBusID   string
	MIGProfile string // "1g.18gb"; "" for a whole GPU
	MIGUUID    string // "MIG-…"; "" for a whole GPU or when not known
	MIGEnabled bool   // of the physical GPU
	Driver     string
}

// Name is how people see the device: "node · GPU 3 · H200" or "node · GPU 3 · MIG 1g.18gb #7".
func (d Device) Name() string {
	parts := make([]string, 0, 3)
	if d.Node != "" {
		parts = append(parts, d.Node)
	}
	switch {
	case d.Index >= 0:
		parts = append(parts, fmt.Sprintf("GPU %d", d.Index))
	case d.UUID != "":
		parts = append(parts, "GPU "+shortUUID(d.UUID))
	}
	switch {
	case d.IsMIG() && d.MIGProfile != "":
		parts = append(parts, fmt.Sprintf("MIG %s #%s", d.MIGProfile, d.GPUInstance))
	case d.IsMIG():
		parts = append(parts, "MIG #"+d.GPUInstance)
	case d.Model != "":
		parts = append(parts, ShortModel(d.Model))
	}
	return strings.Join(parts, " · ")
}

// shortUUID keeps the first block of "GPU-5e1f0002-…".
func shortUUID(uuid string) string {
	id := strings.TrimPrefix(uuid, "GPU-")
	if block, _, ok := strings.Cut(id, "-"); ok {
		return block
	}
	return id
}

// ShortModel drops the vendor's words from a model name, and accepts the dashes that Kubernetes node
// labels put in place of blanks: "NVIDIA-H100-80GB-HBM3" and "NVIDIA H100 80GB HBM3" are both "H100 80GB HBM3".
func ShortModel(model string) string {
	short := strings.Join(strings.Fields(strings.ReplaceAll(model, "-", " ")), " ")
	for _, word := range []string{"NVIDIA ", "Tesla ", "GeForce "} {
		short = strings.TrimPrefix(short, word)
	}
	return short
}
