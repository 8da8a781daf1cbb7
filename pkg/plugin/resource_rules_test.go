package plugin

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
)

func TestResourceRules(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		status, body := f.resource(t, http.MethodGet, "rules")
		if want := `{"servers":[],"notices":[]}`; status != http.StatusOK || body != want {
			t.Errorf("without a server: %d %s", status, body)
		}
		f.past.recorded = []history.Recorded{
			{Endpoint: "n", Cluster: "north", Names: []string{"gpu:power_watts:sum_by_node"}}, {Endpoint: "s", Cluster: "south"},
		}
		f.past.notices = []gpu.Notice{{Severity: gpu.Warning, Text: "west: refused."}}
		status, body = f.resource(t, http.MethodGet, "rules")
		want := `{"servers":[{"server":"n","cluster":"north","recorded":["gpu:power_watts:sum_by_node"]},` +
			`{"server":"s","cluster":"south","recorded":[]}],"notices":[{"severity":"warning","text":"west: refused."}]}`
		if status != http.StatusOK || body != want {
			t.Errorf("got %d %s\nwant %s", status, body, want)
		}
		f.past.err = errors.New("no server answers")
		if status, body = f.resource(t, http.MethodGet, "rules"); status == http.StatusOK || !strings.Contains(body, "no server answers") {
			t.Errorf("%d %s", status, body)
		}
	})
}
