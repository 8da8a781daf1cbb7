package history

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestNativeHistograms(t *testing.T) {
	const histogram = `{"count":"6","sum":"3","buckets":[[3,"-0.5","0.5","2"],[0,"0.5","1","0"],[0,"1","+Inf","4"]]}`
	cells := func(at int64) []gpu.Cell {
		return []gpu.Cell{{Time: at, Low: -0.5, High: 0.5, Count: 2}, {Time: at, Low: 1, High: math.Inf(1), Count: 4}}
	}
	h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, []byte(`{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"job":"a"},"histograms":[[1793400000,`+histogram+`],[1793400060.5,`+histogram+`]]},
		{"metric":{"job":"b"},"values":[[1793400000,"1"]]},{"metric":{"job":"c"},"histograms":[[1793400000,{"count":"0","sum":"0"}]]}]}}`))})
	result := promQL(t, h, `{"expr":"rate(serve_ttft[5m])"}`)
	require.NoError(t, result.Err)
	require.Equal(t, []gpu.Histogram{{Labels: map[string]string{"job": "a"}, Cells: append(cells(1793400000000), cells(1793400060500)...)}}, result.Histograms)
	require.Len(t, result.Series, 1)
	wantNotice(t, result.Notices, "p: 1 series are native histograms that have counted nothing.")

	h = openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, []byte(`{"status":"success","data":{"resultType":"vector","result":[
		{"metric":{},"histogram":[1793400000,`+histogram+`]}]}}`))})
	result = promQL(t, h, `{"expr":"serve_ttft","instant":true}`)
	require.Equal(t, []gpu.Histogram{{Labels: map[string]string{}, Cells: cells(1793400000000)}}, result.Histograms)
	require.Empty(t, result.Notices)
}

func TestTooManyBucketsAreCounted(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&b, `,[0,"%d","%d","1"]`, i, i+1)
	}
	series := func(job string) string {
		return `{"metric":{"job":"` + job + `"},"histogram":[1793400000,{"buckets":[` + b.String()[1:] + `]}]}`
	}
	h := openAt(t, Endpoint{ID: "p", URL: oneAnswer(t, 200, []byte(
		`{"status":"success","data":{"resultType":"vector","result":[`+series("a")+`,`+series("b")+`]}}`))})
	result := promQL(t, h, `{"expr":"x","instant":true}`)
	require.Len(t, result.Histograms, 1)
	wantNotice(t, result.Notices, "Showing 1 of 2 native histograms: the others have 60000 buckets, and an answer at most 100000; raise the minimum step")
}

func FuzzHistogramPoint(f *testing.F) {
	f.Add([]byte(`[1793400000.123,{"count":"6","sum":"3","buckets":[[3,"-0.5","0.5","2"],[0,"1","+Inf","4"]]}]`))
	f.Add([]byte(`[1e400,{"buckets":null}]`))
	f.Add([]byte(`["NaN",[]]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p bucketsPoint
		if p.UnmarshalJSON(text) != nil {
			return
		}
		for _, c := range p.cells {
			if math.IsNaN(c.Low) || math.IsNaN(c.High) || math.IsNaN(c.Count) || c.Count == 0 {
				t.Fatalf("%s: %+v", text, c)
			}
		}
	})
}
