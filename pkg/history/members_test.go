package history

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Which devices and workloads there were is asked of the index, within the range.
func TestMembers(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/label/__name__/values":
			fmt.Fprint(w, `{"status":"success","data":["DCGM_FI_DEV_GPU_UTIL","DCGM_FI_DEV_GPU_TEMP"]}`)
		case "/api/v1/labels":
			fmt.Fprint(w, `{"status":"success","data":["UUID","Hostname","gpu","modelName","exported_pod","exported_namespace","GPU_I_ID","GPU_I_PROFILE"]}`)
		case "/api/v1/series":
			asked = r.FormValue("match[]") + " " + r.FormValue("start") + " " + r.FormValue("end")
			const board = `"__name__":"DCGM_FI_DEV_GPU_UTIL","Hostname":"n1","gpu":"0","UUID":"GPU-5e1f0001-0000-4000-8000-000000000000","modelName":"NVIDIA H200"`
			fmt.Fprint(w, `{"status":"success","data":[`,
				`{`, board, `,"exported_namespace":"lab","exported_pod":"a","exported_container":"x"},`,
				`{`, board, `,"exported_namespace":"lab","exported_pod":"a","exported_container":"y"},`,
				`{`, board, `,"exported_namespace":"lab","exported_pod":"b"},`,
				`{"__name__":"DCGM_FI_DEV_GPU_UTIL","Hostname":"n0","gpu":"3","UUID":"GPU-5e1f0002-0000-4000-8000-000000000000"},`,
				`{"__name__":"DCGM_FI_DEV_GPU_UTIL","Hostname":"n9"}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	known, err := catalog.Load()
	require.NoError(t, err)
	h, err := New([]Endpoint{{ID: "a", Cluster: "north", URL: server.URL}}, known, Options{})
	require.NoError(t, err)
	members, notices, err := h.Members(t.Context(), query.Scope{}, time.Unix(1000, 0), time.Unix(4600, 0))
	require.NoError(t, err)
	require.Empty(t, notices)
	var got []string
	for _, m := range members {
		got = append(got, fmt.Sprintf("%s %s %s/%s", m.Device.Cluster, m.Device.Name(), m.Owner.Namespace, m.Owner.Pod))
	}
	require.Equal(t, []string{"north n0 · GPU 3 /", "north n1 · GPU 0 · H200 lab/a", "north n1 · GPU 0 · H200 lab/b"}, got)
	require.True(t, strings.HasSuffix(asked, " 1000 4600") && strings.Contains(asked, "DCGM_FI_DEV_GPU_UTIL"), asked)

	server.Close()
	h, err = New([]Endpoint{{ID: "a", Cluster: "north", URL: server.URL}}, known, Options{})
	require.NoError(t, err)
	_, _, err = h.Members(t.Context(), query.Scope{}, time.Unix(1000, 0), time.Unix(4600, 0))
	require.ErrorContains(t, err, "nothing listens")
}
