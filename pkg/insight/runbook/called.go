package runbook

import (
	"slices"
	"strconv"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Called is how people call what a judgement found under an id: "XID 79: …" for xid-79, else the title of the page of that id,
// else the words that the id is made of, "Fabric health" for fabric-health.
func Called(id string) string {
	if text, is := strings.CutPrefix(id, "xid-"); is {
		if code, err := strconv.ParseUint(text, 10, 32); err == nil {
			return gpu.XIDText(code)
		}
	}
	if page, known := Lookup(id); known {
		return page.Title
	}
	words := strings.FieldsFunc(id, func(r rune) bool { return r == '-' || r == '_' })
	for i, word := range words {
		switch word {
		case "gpu", "mig", "kv", "oom":
			words[i] = strings.ToUpper(word)
		case "pcie":
			words[i] = "PCIe"
		case "nvlink":
			words[i] = "NVLink"
		default:
			if i == 0 {
				words[i] = strings.ToUpper(word[:1]) + word[1:]
			}
		}
	}
	return strings.Join(words, " ")
}

// AllCalled are the names of findings, each once, in one text.
func AllCalled(ids []string) string {
	var names []string
	for _, id := range ids {
		if name := Called(id); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, "; ")
}
