package stragglers

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/insighttest"
)

// Jobs of GPUs that differ by nature, as chips do, with evaluations and input that stalls all of them now and then. In every
// second one a GPU lost a tenth of its clock in the first third of the range. Only the exporter's default fields are there.
func TestGPUsAreToldApartByDefaultFields(t *testing.T) {
	const jobs, members, steps = 300, 16, 60
	from := insighttest.Start
	var subjects []insight.Subject
	for i := range jobs * members {
		subjects = append(subjects, insight.Subject{
			Device: gpu.Device{Identity: gpu.Identity{Node: fmt.Sprintf("n%d", i/8), UUID: fmt.Sprintf("GPU-%d", i)}, Index: i % 8},
			Owners: []gpu.Owner{{Namespace: "ml", Pod: fmt.Sprintf("job%dx-%d", i/members, i%members/8)}},
		})
	}
	grid := insight.NewGrid(from, from.Add(steps*time.Minute), time.Minute, subjects)
	r := rand.New(rand.NewPCG(5, 6))
	for job := range jobs {
		slow, since := -1, 5+r.IntN(15)
		if job%2 == 0 {
			slow = r.IntN(members)
		}
		pause, long := r.IntN(steps), r.IntN(6) // all of the job evaluates
		for m := range members {
			clock, watts, use := make([]float64, steps), make([]float64, steps), make([]float64, steps)
			fast, draws := 1.9e9*(1+0.008*r.NormFloat64()), 560*(1+0.05*r.NormFloat64())
			for i := range steps {
				clock[i], watts[i], use[i] = fast*(1+0.004*r.NormFloat64()), draws*(1+0.03*r.NormFloat64()), 1
				if i >= pause && i < pause+long {
					watts[i], use[i] = 200*(1+0.3*r.Float64()), 0.5*r.Float64()
				}
				if m == slow && i >= since {
					clock[i] *= 0.9
				}
			}
			row := job*members + m
			grid.Set(insight.Field{Metric: smClock}, row, clock)
			grid.Set(insight.Field{Metric: power}, row, watts)
			grid.Set(insight.Field{Metric: utilization}, row, use)
		}
	}
	var right, wrong, missed int
	for _, j := range Judge(Input{Devices: grid}, DefaultLimits(), Options{}) {
		var job int
		if _, err := fmt.Sscanf(j.Name, "job%dx", &job); err != nil {
			t.Fatal(err)
		}
		switch found := j.ID == Straggler && len(j.Suspects) == 1; {
		case found && job%2 == 0:
			right++
		case job%2 == 0:
			missed++
		case j.ID == Straggler:
			wrong++
		}
	}
	assert.GreaterOrEqual(t, float64(right)/float64(right+wrong), 0.98, "precision: %d right, %d wrong", right, wrong)
	assert.GreaterOrEqual(t, float64(right)/float64(right+missed), 0.95, "recall: %d right, %d missed", right, missed)
}
