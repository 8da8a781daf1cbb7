package device

import (
	"slices"
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
	var keys []string
	for m := range NumMetrics {
		require.NotEmpty(t, m.String(), "metric %d has no name", m)
		label, value := m.Label()
		key := m.String() + label + value
		require.False(t, slices.Contains(keys, key), "%s is there twice", key)
		keys = append(keys, key)
		known[m.String()] = m

		row, ok := rows.Metric(m.String())
		require.True(t, ok, "%s is not in the catalogue", m)
		require.Equal(t, row.PerInstance, m.PerInstance(), m.String())
	}
	for _, row := range rows.Metrics() {
		if row.Agent && row.Name != xidErrors {
			m, ok := known[row.Name]
			require.True(t, ok, "%s is not measured", row.Name)
			label, _ := m.Label()
			require.Equal(t, row.SumOver, label, row.Name)
		}
	}
	require.Equal(t, "unknown metric", NumMetrics.String())
}

func TestVariantsHaveALabel(t *testing.T) {
	for m, want := range map[Metric][3]string{
		ECCUncorrectedAt.At(7):    {"gpu_ecc_location_uncorrected_errors_total", "location", "sram"},
		RowRemapBanks:             {"gpu_row_remap_banks", "availability", "max"},
		LinkState.At(17):          {"gpu_nvlink_link_active", "link", "17"},
		LinkRecoveryErrors.At(17): {"gpu_nvlink_link_recovery_errors_total", "link", "17"},
		XIDLast:                   {"gpu_xid_last", "", ""},
	} {
		label, value := m.Label()
		require.Equal(t, want, [3]string{m.String(), label, value})
	}
}

func TestProfilesGrow(t *testing.T) {
	lean, standard, deep := ProfileGroups(Lean), ProfileGroups(Standard), ProfileGroups(Deep)
	require.True(t, lean.Has(GroupPower) && !lean.Has(GroupPipes) && !lean.Has(GroupNVLinkLinks))
	require.True(t, standard.Has(GroupPower) && standard.Has(GroupPipes) && !standard.Has(GroupNVLinkLinks))
	require.Equal(t, AllGroups, deep)
	for g := range NumGroups {
		found, ok := GroupNamed(g.String())
		require.True(t, ok)
		require.Equal(t, g, found)
		require.Contains(t, Classes(), g.Class())
	}
}
