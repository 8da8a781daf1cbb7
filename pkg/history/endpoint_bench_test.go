package history

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// fanOutDeadline is the endpoints' time limit.
const fanOutDeadline = time.Second

// BenchmarkFanOut asks 47 servers of as many clusters, of which one never answers and one is broken. What matters is how
// long the slowest in a hundred answers takes, against the time limit: a stalled server must cost that and nothing more.
func BenchmarkFanOut(b *testing.B) {
	const upstreams = 47
	body := string(rangeBody(50, 60))
	var endpoints []Endpoint
	for i := range upstreams {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch i {
			case 7:
				_, _ = io.Copy(io.Discard, r.Body) // only then does the server watch the connection
				<-r.Context().Done()
			case 11:
				http.Error(w, "broken", http.StatusInternalServerError)
			default:
				_, _ = io.WriteString(w, body)
			}
		})
		name := fmt.Sprintf("c%d", i)
		endpoints = append(endpoints, Endpoint{ID: name, Cluster: name, URL: promtest.Serve(b, handler), Timeout: fanOutDeadline})
	}
	h, err := New(endpoints, mustCatalog(b), Options{CacheBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	q, err := query.Parse([]byte(`{"expr":"up"}`), query.TypePromQL)
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		result := h.PromQL(b.Context(), q, window(3600, time.Minute))
		took = append(took, time.Since(began))
		notices := ""
		for _, n := range result.Notices {
			notices += n.Text + "\n"
		}
		if len(result.Series) != 50*(upstreams-2) || len(result.Notices) != 2 || !strings.Contains(notices, "c7: no answer within") || !strings.Contains(notices, "c11: the server answered 500") {
			b.Fatalf("%d series, notices:\n%s", len(result.Series), notices)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[(len(took)*99+99)/100-1].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}
