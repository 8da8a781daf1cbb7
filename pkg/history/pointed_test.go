package history

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARefusedExpressionIsPointedAt(t *testing.T) {
	refuse := oneAnswer(t, 400, []byte(`{"status":"error","errorType":"bad_data","error":"1:20: parse error: unexpected character: '&'"}`))
	h := openAt(t, Endpoint{ID: "p", URL: refuse})
	result := promQL(t, h, `{"expr":"DCGM_FI_DEV_CLOCK_THROTTLE_REASONS & 0x40","nodes":["n1"]}`)
	require.EqualError(t, result.Err, `p: field "expr": column 36, at "& 0x40": unexpected character: '&'; PromQL has no operators for bits; `+
		`to test this one write floor(x / 64) % 2 == 1 (the server says: 1:20: parse error: unexpected character: '&')`)
	result = promQL(t, h, `{"expr":"up[5m]"}`)
	require.ErrorContains(t, result.Err, `p: field "expr": the result is a range vector`)
	result = promQL(t, h, `{"expr":"up"}`)
	require.EqualError(t, result.Err, `p: 1:20: parse error: unexpected character: '&'`)
}

// Other servers know more than Prometheus' parser does.
func TestWhatAServerAcceptsIsNotRefused(t *testing.T) {
	h := openAt(t, Endpoint{ID: "vm", URL: oneAnswer(t, 200, []byte(
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1793400000,"1"]]}]}}`))})
	result := promQL(t, h, `{"expr":"WITH (x = up) x default 0"}`)
	require.NoError(t, result.Err)
	require.Len(t, result.Series, 1)
	require.Empty(t, result.Notices)
}

func TestATextHasNothingToShow(t *testing.T) {
	h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, []byte(
		`{"status":"success","data":{"resultType":"string","result":[1793400000,"x"]}}`))})
	result := promQL(t, h, `{"expr":"\"x\"","instant":true}`)
	require.NoError(t, result.Err)
	wantNotice(t, result.Notices, `The expression is a text, which has no value to show: "x"`)
}

func TestTheScopeReachesTheServer(t *testing.T) {
	h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, []byte(`{"status":"success","data":{"resultType":"matrix","result":[]}}`))})
	result := promQL(t, h, `{"expr":"gpu_power_watts / up","nodes":["a"],"injectScope":true,"adhocFilters":[{"key":"job","operator":"!=","value":"x"}]}`)
	require.NoError(t, result.Err)
	require.Equal(t, `gpu_power_watts{job!="x",node=~"a"} / up{job!="x"} (step 1m0s)`, result.Executed)
	wantNotice(t, result.Notices, "Not restricted to the scope, because these are not known to be series of GPUs: up.")
	result = promQL(t, h, `{"expr":"up &","adhocFilters":[{"key":"job","operator":"!=","value":"x"}]}`)
	require.ErrorContains(t, result.Err, `query: field "expr": column 4, at "&"`)
}
