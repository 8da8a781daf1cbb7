package release

import (
	"os"
	"strings"
	"testing"
)

func TestTheUnitOfPackages(t *testing.T) {
	text, err := os.ReadFile("../../node-agent/deploy/warpwatch-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	unit, err := packagedUnit(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(unit, "\nExecStart=/usr/bin/warpwatch-agent ") || strings.Contains(unit, "/usr/local") {
		t.Errorf("the program is elsewhere in\n%s", unit)
	}
	for _, spoilt := range []string{"", "# Put the binary into /usr/local/bin\n[Service]\n", "[Service]\nExecStart=/usr/local/bin/x\n"} {
		if got, err := packagedUnit(spoilt); err == nil {
			t.Errorf("%q became %q", spoilt, got)
		}
	}
}

func TestNewer(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"2.34", "2.4", true}, {"2.4", "2.34", false}, {"2.34", "2.34", false}, {"2.2.5", "2.2", true}, {"2.17", "", true}} {
		if got := newer(c.a, c.b); got != c.want {
			t.Errorf("newer(%q, %q) is %v", c.a, c.b, got)
		}
	}
}
