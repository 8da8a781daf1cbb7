package history

import (
	"encoding/json"
	"testing"
)

// Messages as the servers send them, with what to do about them behind.
func TestLimitsOfServersAreExplained(t *testing.T) {
	for message, want := range map[string]string{
		"the query time range exceeds the limit (query length: 745h0m0s, limit: 720h0m0s) (err-mimir-max-query-length). To adjust the related " +
			"per-tenant limit, configure -querier.max-partial-query-length, or contact your service administrator.": "(narrow the time range, or let whoever runs the server raise the tenant's limit",
		"expanding series: the query time range exceeds the limit (query length: 745h0m0s, limit: 720h0m0s)":                                      "(narrow the time range, or let whoever runs",
		"the query exceeded the maximum number of series (limit: 1000 series) (err-mimir-max-series-per-query). Consider reducing the time range": "(narrow the scope to fewer clusters, nodes or GPUs, or the time range)",
		"query processing would load too many samples into memory in query execution":                                                             "recording rules help, and so does a higher --query.max-samples)",
		"too many points for the given step=1000, start=0 and end=99000000: 99001; cannot exceed -search.maxPointsPerTimeseries=30000":            "(raise the minimum step of the query)",
		"the number of matching timeseries exceeds 300000; either narrow down the search or increase -search.max* command-line flag values":       "(narrow the scope to fewer clusters, nodes or GPUs)",
	} {
		body, err := json.Marshal(map[string]string{"status": "error", "errorType": "execution", "error": message})
		if err != nil {
			t.Fatal(err)
		}
		failed := failure(t, status(422, "application/json", string(body)))
		wantError(t, failed, KindBadQuery, 422, message)
		wantError(t, failed, KindBadQuery, 422, want)
	}
	if got := explain("parse error"); got != "parse error" {
		t.Errorf("got %s", got)
	}
}

func TestMissingTenantIsExplained(t *testing.T) {
	wantError(t, failure(t, status(401, "text/plain", "no org id\n")), KindUnauthorized, 401,
		"the server wants to know the tenant (401, no org id); add the header X-Scope-OrgID to the endpoint's headers")
}
