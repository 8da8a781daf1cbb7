package insight

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestGridHoldsWhatItWasGiven(t *testing.T) {
	from := time.UnixMilli(60_000)
	g := NewGrid(from, from.Add(150*time.Second), time.Minute, []string{"a", "b"})
	assert.Equal(t, []int64{60_000, 120_000}, g.Times, "the step that is not over is left out")

	power, spike := Field{Metric: "gpu_power_watts"}, Field{Metric: "gpu_power_watts", Of: Max}
	g.Set(power, 1, []float64{1, math.Inf(1)})
	assert.Nil(t, g.Values(power, 0), "not measured")
	assert.Nil(t, g.Values(spike, 1))
	assert.False(t, g.Has(spike))
	got := g.Values(power, 1)
	assert.InDelta(t, 1, got[0], 0)
	assert.True(t, math.IsNaN(got[1]), "what is infinite was not measured")

	field, values := g.First(1, spike, power)
	assert.Equal(t, power, field)
	assert.Len(t, values, 2)
	_, values = g.First(0, spike, power)
	assert.Nil(t, values)
}

func TestAbsentValuesAreLeftOut(t *testing.T) {
	assert.Equal(t, []float64{0, 3}, Present(nil, []float64{math.NaN(), 0, 3, math.NaN()}))
	assert.True(t, math.IsNaN(At(nil, 0)))
	assert.True(t, math.IsNaN(At([]float64{1}, 1)))
	assert.True(t, math.IsNaN(At([]float64{1}, -1)))
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		90 * time.Second: "90 seconds", 119 * time.Minute: "119 minutes", 6 * time.Hour: "6 hours", 72 * time.Hour: "3 days",
	} {
		assert.Equal(t, want, Span(d))
	}
}

func TestWords(t *testing.T) {
	assert.Equal(t, "none", NoConfidence.String())
	assert.Equal(t, "medium", Medium.String())
	assert.Equal(t, "unknown", Unknown.String())
	assert.Equal(t, "critical", Critical.String())
	assert.Less(t, OK, Unknown, "what is not known is worse than what is well")
}
