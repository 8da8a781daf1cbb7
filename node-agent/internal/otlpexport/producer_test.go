package otlpexport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

func TestEveryColumnIsASeriesOfItsOwn(t *testing.T) {
	s := testSchema(t)
	all := map[int]map[device.Metric]float64{}
	for _, c := range s.Columns {
		if all[c.Device] == nil {
			all[c.Device] = map[device.Metric]float64{}
		}
		all[c.Device][c.Metric] = 1
	}
	seen := map[string]bool{}
	n := 0
	for _, m := range newLayout(s).readings(testFrame(s, time.Now(), all)) {
		require.False(t, seen[m.Name], "%s twice", m.Name)
		seen[m.Name] = true
		require.Regexp(t, `^hw\.[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*$`, m.Name)
		require.NotEmpty(t, m.Unit, m.Name)
		require.NotEmpty(t, m.Description, m.Name)
		if m.Name == "hw.gpu.memory.utilization" {
			continue // computed
		}
		sets := map[attribute.Set]bool{}
		for _, p := range pointsOf(m) {
			require.False(t, sets[p.Attributes], "%s: the same attributes twice", m.Name)
			sets[p.Attributes] = true
			n++
		}
	}
	assert.Equal(t, len(s.Columns), n)
}

func pointsOf(m metricdata.Metrics) []metricdata.DataPoint[float64] {
	switch d := m.Data.(type) {
	case metricdata.Gauge[float64]:
		return d.DataPoints
	case metricdata.Sum[float64]:
		return d.DataPoints
	}
	return nil
}

func TestACounterThatFallsStartsAnew(t *testing.T) {
	s := testSchema(t)
	l := newLayout(s)
	at := time.Unix(1_800_000_000, 0)
	var starts []time.Time
	for i, energy := range []float64{100, 200, 5, 6} {
		f := testFrame(s, at.Add(time.Duration(i)*time.Minute), map[int]map[device.Metric]float64{0: {device.Energy: energy}})
		starts = append(starts, pointsOf(l.readings(f)[0])[0].StartTime)
	}
	assert.Equal(t, []time.Time{at, at, at.Add(2 * time.Minute), at.Add(2 * time.Minute)}, starts)
}

func TestAnOldFrameSaysNothingAboutNow(t *testing.T) {
	s := testSchema(t)
	at := time.Unix(1_800_000_000, 0)
	store := snapshot.NewStore(1*time.Second, 1<<24)
	f := testFrame(s, at, map[int]map[device.Metric]float64{0: {device.Power: 1}})
	f.Status.Boards[1].Condition.State = snapshot.StateHung
	require.NoError(t, store.Append(f))
	p := &producer{store: store, node: testNode, now: func() time.Time { return at.Add(time.Hour) }}
	scopes, err := p.Produce(t.Context())
	require.NoError(t, err)
	require.Len(t, scopes, 1)
	require.Len(t, scopes[0].Metrics, 1, "only how the boards are")
	assert.Equal(t, "hw.status", scopes[0].Metrics[0].Name)
	assert.Len(t, pointsOf(scopes[0].Metrics[0]), 3, "the board that does not answer; of the other nothing is known")
}

func BenchmarkProduce(b *testing.B) {
	t := testing.TB(b)
	s := testSchema(t)
	store := snapshot.NewStore(1*time.Second, 1<<24)
	require.NoError(b, store.Append(testFrame(s, time.Now(), map[int]map[device.Metric]float64{0: {device.Power: 1, device.Energy: 2}})))
	p := &producer{store: store, node: testNode, now: time.Now}
	for b.Loop() {
		if _, err := p.Produce(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
