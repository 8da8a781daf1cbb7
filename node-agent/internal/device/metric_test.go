package device

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/catalog"
)

// xidErrors is counted from events and has a label of its own, so it is no column.
const xidErrors = "gpu_xid_errors_total"

func TestMetricsAreTheCataloguesRows(t *testing.T) {
	rows, err := catalog.Load()
	require.NoError(t, err)

	known := map[string]Metric{}
	for m := range NumMetrics {
		require.NotEmpty(t, m.String(), "metric %d has no name", m)
		require.NotContains(t, known, m.String())
		known[m.String()] = m

		row, ok := rows.Metric(m.String())
		require.True(t, ok, "%s is not in the catalogue", m)
		require.Equal(t, row.PerInstance, m.PerInstance(), m.String())
	}
	for _, row := range rows.Metrics() {
		if row.Agent && row.Name != xidErrors {
			require.Contains(t, known, row.Name)
		}
	}
	require.Equal(t, "unknown metric", NumMetrics.String())
}
