package bottleneck

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/sku"
)

var start = time.Unix(1_700_000_000, 0)

func TestTheBuiltInTableIsRight(t *testing.T) {
	limits := DefaultLimits()
	require.NoError(t, limits.Validate())
	for _, row := range names() {
		assert.NotEmpty(t, row.name)
		assert.Contains(t, limits.Default, Limit(row.name))
	}
	for model := range limits.Models {
		found, ok := sku.Lookup(model)
		require.True(t, ok, model)
		assert.Equal(t, model, found.Name(), "models go by their names in the table of models")
	}
}

func TestMergeLeavesTheTableAlone(t *testing.T) {
	limits := DefaultLimits()
	merged, err := limits.Merge(json.RawMessage(`{"default":{"idle":0.1},"models":{"T4":{"idle":0.2},"Unheard of":{"idle":0.3}},"classes":{"training":{"idle":0.15}}}`))
	require.NoError(t, err)
	assert.Equal(t, DefaultLimits(), limits)
	of := newLimitsOf(merged)
	for _, c := range []struct {
		class insight.Class
		model string
		idle  float64
	}{
		{insight.Unclassified, "NVIDIA H100 80GB HBM3", 0.1}, {insight.Training, "NVIDIA H100 80GB HBM3", 0.15},
		{insight.Training, "Tesla T4", 0.2}, {insight.Unclassified, "NVIDIA Unheard of", 0.3},
	} {
		assert.InDelta(t, c.idle, of.of(c.class, c.model).numbers[idleActivity], 0, "%s %s", c.class, c.model)
	}
	assert.InDelta(t, 0.4, of.of("", "Tesla T4").numbers[capDeficit], 0, "the built-in row stays")
	empty, err := limits.Merge(nil)
	require.NoError(t, err)
	assert.Equal(t, limits, empty)
}

func TestWrongLimitsAreNamed(t *testing.T) {
	limits := DefaultLimits()
	delete(limits.Default, "idle")
	limits.Default["stick"] = math.NaN()
	limits.Models[""] = nil
	err := limits.Validate()
	require.ErrorContains(t, err, "default.idle is missing")
	require.ErrorContains(t, err, "default.stick: NaN must be from 0 to 0.9")
	require.ErrorContains(t, err, "a model without a name")
	_, err = Judge(insight.NewGrid[insight.Subject](start, start, 1, nil), nil, limits)
	require.ErrorContains(t, err, "default.idle is missing")
	_, err = Options{Of: "nodes"}.Resolve(DefaultLimits())
	require.ErrorContains(t, err, "gpus, jobs or nothing")
}

func TestGridsMustFit(t *testing.T) {
	devices := insight.NewGrid[insight.Subject](start, start.Add(5), 1, nil)
	workloads := insight.NewGrid[insight.Workload](start, start.Add(4), 1, nil)
	_, err := Judge(devices, workloads, DefaultLimits())
	require.ErrorContains(t, err, "the grid of workloads has 4 steps, that of devices 5")
	report, err := Judge(insight.NewGrid[insight.Subject](start, start, 1, make([]insight.Subject, 2)), nil, DefaultLimits())
	require.NoError(t, err)
	require.Len(t, report.Devices, 2)
	assert.Equal(t, Unknown, report.Devices[0].Now().Verdict)
	assert.Equal(t, [Verdicts]float64{}, report.Devices[0].Shares())
}

func TestFieldsAreInTheCatalogue(t *testing.T) {
	metrics, err := catalog.Load()
	require.NoError(t, err)
	for _, f := range Fields() {
		m, known := metrics.Metric(f.Metric)
		require.True(t, known, f.Metric)
		assert.Equal(t, catalog.SubjectDevice, m.Subject)
	}
	for _, f := range WorkloadFields() {
		m, known := metrics.Metric(f.Metric)
		require.True(t, known, f.Metric)
		assert.Equal(t, catalog.SubjectWorkload, m.Subject)
	}
	for _, name := range needs(math.MaxUint32).names() {
		_, known := metrics.Metric(name)
		assert.True(t, known, name)
	}
}

func TestEveryVerdictHasWords(t *testing.T) {
	seen := map[string]bool{}
	for v := range Verdict(Verdicts) {
		k := v.kind()
		assert.NotEmpty(t, k.text)
		assert.NotEmpty(t, k.action)
		assert.NotEmpty(t, k.who)
		assert.False(t, seen[k.id], k.id)
		seen[k.id] = true
		text, err := v.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, k.id, string(text))
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(`{"default":{"idle":0.1}}`)
	f.Add(`{"models":{"T4":{"idle":0.2}},"classes":{"training":null}}`)
	f.Add(`{"default":null}`)
	f.Fuzz(func(t *testing.T, part string) {
		merged, err := DefaultLimits().Merge(json.RawMessage(part))
		if err != nil {
			return
		}
		require.NoError(t, merged.Validate())
		report, err := Judge(fleet(8, 6, time.Minute), nil, merged)
		require.NoError(t, err)
		require.Len(t, report.Devices, 8)
	})
}
