package plugin

import (
	"encoding/json"
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// cachedIn is what the first frame tells of the cache; nil when nothing is told.
func cachedIn(t *testing.T, got data.Frames) *cachedMeta {
	t.Helper()
	var custom struct {
		Explain *explainMeta `json:"explain"`
	}
	if err := json.Unmarshal(mustJSON(t, got[0].Meta.Custom), &custom); err != nil {
		t.Fatal(err)
	}
	if custom.Explain == nil {
		return nil
	}
	return &custom.Explain.Cached
}

func TestAnswersTellWhatCameFromTheCache(t *testing.T) {
	s := &scripted{}
	d := openScripted(t, s, nil)
	gpusNamed(s.Store, []string{"n1"})
	for _, raw := range []string{metricQuery(), `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE"}`} {
		first := cachedIn(t, responseTo(t.Context(), t, d, raw).Frames)
		if first == nil || first.Of == 0 {
			t.Fatalf("%s: told %+v", raw, first)
		}
		if again := cachedIn(t, responseTo(t.Context(), t, d, raw).Frames); again == nil || again.Of != first.Of || again.Steps != again.Of {
			t.Errorf("%s: told %+v, and before %+v", raw, again, first)
		}
	}
}

func TestAlertRulesAndTablesTellNothingOfTheCache(t *testing.T) {
	s := &scripted{}
	d := openScripted(t, s, nil)
	gpusNamed(s.Store, []string{"n1"})
	if told := cachedIn(t, responseTo(t.Context(), t, d, `{"queryType":"promql","expr":"DCGM_FI_DEV_POWER_USAGE","instant":true}`).Frames); told != nil {
		t.Errorf("an instant query: %+v", told)
	}
	response, err := d.QueryData(t.Context(), &backend.QueryDataRequest{Headers: map[string]string{"FromAlert": "true"}, Queries: []backend.DataQuery{{
		RefID: "A", JSON: json.RawMessage(metricQuery()), QueryType: queryTypeIn(metricQuery()), MaxDataPoints: 1000,
		TimeRange: backend.TimeRange{From: recordedAt, To: d.now()},
	}}})
	if err != nil || response.Responses["A"].Error != nil {
		t.Fatal(err, response.Responses["A"].Error)
	}
	if told := cachedIn(t, response.Responses["A"].Frames); told != nil {
		t.Errorf("an alert rule: %+v", told)
	}
}
