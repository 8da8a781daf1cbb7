package runbook

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFindingsAreCalledByWords(t *testing.T) {
	for id, want := range map[string]string{
		"xid-79":              "XID 79: GPU has fallen off the bus",
		"xid-999999":          "XID 999999",
		"thermal-share":       "Time lost to heat",
		"xid-application":     "Fault of an application", // a page, not a code
		"fabric-health":       "Fabric health",
		"pcie-link-width":     "PCIe link width",
		"gpu-gone":            "GPU gone",
		"near_full":           "Near full",
		"":                    "",
		"-":                   "",
		"xid-184467440737095": "Xid 184467440737095",
	} {
		assert.Equal(t, want, Called(id), id)
	}
	assert.Equal(t, "Time lost to heat; XID 79: GPU has fallen off the bus", AllCalled([]string{"thermal-share", "xid-79", "thermal-share"}))
	assert.Empty(t, AllCalled(nil))
}
