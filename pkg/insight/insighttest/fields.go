package insighttest

import (
	"testing"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/insight"
)

// FieldsAreKnown fails on fields of devices and of workloads whose metrics the catalogue does not have, or has of the other kind.
func FieldsAreKnown(t *testing.T, devices, workloads []insight.Field) {
	t.Helper()
	metrics, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	check := func(fields []insight.Field, ofWorkloads bool) {
		for _, f := range fields {
			m, known := metrics.Metric(f.Metric)
			if !known || (m.Subject == catalog.SubjectWorkload) != ofWorkloads {
				t.Errorf("%s is no metric of the catalogue of this kind", f.Metric)
			}
		}
	}
	check(devices, false)
	check(workloads, true)
}
