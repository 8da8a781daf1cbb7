package efficiency

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

func TestDefaultsAreValid(t *testing.T) {
	require.NoError(t, DefaultLimits().Validate())
	require.NoError(t, Tariff{}.Validate())
	require.NoError(t, Options{}.Validate())
	require.NoError(t, Options{By: Dimensions(), Charge: ChargeMost, JobGPUs: 4}.Validate())
}

func TestErrorsNameTheKey(t *testing.T) {
	limits := Limits{IdleActivity: math.NaN(), IdleMinutes: 0, Missing: "?"}.Validate()
	for _, key := range []string{"idleActivity", "idleMinutes", "missing"} {
		require.ErrorContains(t, limits, key)
	}
	tariff := Tariff{PUE: 0.5, CarbonKgPerKWh: -1, EnergyPerKWh: math.Inf(1), Prices: []Price{{Model: "H100", PerGPUHour: math.NaN()}}}.Validate()
	for _, key := range []string{"pue", "carbonKgPerKWh", "energyPerKWh", "prices[0].perGPUHour", "prices[0].currency", "currency: energyPerKWh"} {
		require.ErrorContains(t, tariff, key)
	}
	require.ErrorContains(t, Tariff{Prices: make([]Price, mostPrices+1), Currency: "EUR"}.Validate(), "prices")
	require.ErrorContains(t, Options{JobGPUs: -1}.Validate(), "options.jobGPUs")
}

func TestLimitsAreMerged(t *testing.T) {
	l, err := DefaultLimits().Merge([]byte(`{"idleMinutes": 10}`))
	require.NoError(t, err)
	assert.Equal(t, Limits{IdleActivity: 0.05, IdleMinutes: 10, Missing: MissingIsBroken}, l)
	_, err = DefaultLimits().Merge([]byte(`{"idleMinute": 10}`))
	require.ErrorContains(t, err, "idleMinute")
	_, err = DefaultLimits().Merge([]byte(`{"idleActivity": 2}`))
	require.ErrorContains(t, err, "idleActivity")
	_, err = DefaultLimits().Merge(nil)
	require.NoError(t, err)
}

func TestFieldsAreCanonical(t *testing.T) {
	metrics, err := catalog.Load()
	require.NoError(t, err)
	for _, f := range append(Fields(), WorkloadFields()...) {
		_, known := metrics.Metric(f.Metric)
		assert.True(t, known, f.Metric)
	}
}

func TestNothingIsAnAnswer(t *testing.T) {
	r := Measure(Input{}, DefaultLimits(), Tariff{}, Options{})
	assert.Zero(t, r.Total.Hours.Total())
	assert.True(t, math.IsNaN(r.Total.Hours.Coverage()))
	assert.Equal(t, ChargeAllocated, r.Charge)
}
