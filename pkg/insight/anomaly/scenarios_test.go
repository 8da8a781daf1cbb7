package anomaly

import (
	"embed"
	"fmt"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

//go:embed testdata/*.test
var scenarios embed.FS

// brief is an answer in lines: a device, the direction, from when to when.
func brief(s *insighttest.Scenario, args []string) ([]string, error) {
	o := Options{Against: Against(args[0]), Metric: args[1]}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	a := Judge(s.Devices, s.Workloads, nil, o, DefaultLimits())
	var out []string
	for _, r := range a.Results {
		d := s.Devices.Subjects[r.Subject]
		name := d.UUID
		if d.IsMIG() {
			name += "/" + d.GPUInstance
		}
		for _, e := range r.Episodes {
			word, ongoing := "below", ""
			if e.Above {
				word = "above"
			}
			if e.Ongoing && r.Reason != nil {
				ongoing = " ongoing"
			}
			out = append(out, fmt.Sprintf("%s %s %s-%s%s", name, word, s.Offset(e.Start), s.Offset(e.End), ongoing))
		}
	}
	for _, n := range a.Notes {
		out = append(out, "note "+n)
	}
	if len(out) == 0 {
		out = []string{"none"}
	}
	return out, nil
}

func TestScenarios(t *testing.T) {
	insighttest.Run(t, scenarios, insighttest.Evals{"anomaly": brief})
}
