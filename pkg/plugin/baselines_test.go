package plugin

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/insight"
	"github.com/warpwatch/warpwatch/pkg/insight/anomaly"
)

// counted counts the samples that a store sends for ranges. It fails while broken is set.
type counted struct {
	*promtest.Store
	samples atomic.Int64
	broken  atomic.Bool
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.broken.Load() && strings.HasSuffix(r.URL.Path, "/query_range") {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	r.Header.Del("Accept-Encoding")
	recorded := httptest.NewRecorder()
	c.Store.ServeHTTP(recorded, r)
	var body struct {
		Data struct {
			Result []struct{ Values []json.RawMessage }
		}
	}
	if json.Unmarshal(recorded.Body.Bytes(), &body) == nil {
		for _, s := range body.Data.Result {
			c.samples.Add(int64(len(s.Values)))
		}
	}
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

// uncached is a data source that reads every sample that it needs from servers.
func uncached(t *testing.T, r prometheus.Registerer, stores ...*counted) *Datasource {
	t.Helper()
	var endpoints []string
	for i, s := range stores {
		endpoints = append(endpoints, fmt.Sprintf(`{"id":"e%d","url":%q}`, i, promtest.Serve(t, s)))
	}
	factory, err := Factory(r)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := factory(t.Context(), backend.DataSourceInstanceSettings{JSONData: []byte(
		`{"cache":{"maxBytes":0},"clusters":[{"name":"north","endpoints":[` + strings.Join(endpoints, ",") + `]}],"agents":{"discovery":"off"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	d := instance.(*Datasource)
	t.Cleanup(d.Dispose)
	return d
}

func wavy(i int, odd bool) func(hour float64) float64 {
	return func(hour float64) float64 {
		if odd && hour > 16*24-1 {
			return 650
		}
		return 300 + float64(10*i) + 100*math.Sin(hour/24*2*math.Pi) + 5*math.Sin(hour*7)
	}
}

// shownAt is an answer as Grafana gets it, at some time after the data was recorded, and how many samples it took.
func shownAt(t *testing.T, d *Datasource, of *counted, late time.Duration, raw string, headers map[string]string) (answer string, samples int64) {
	t.Helper()
	d.now = func() time.Time { return recordedAt.Add(late) }
	before := of.samples.Load()
	response, err := d.QueryData(t.Context(), &backend.QueryDataRequest{Headers: headers, Queries: []backend.DataQuery{{
		RefID: "A", JSON: json.RawMessage(raw), QueryType: queryTypeIn(raw), MaxDataPoints: 1000,
		TimeRange: backend.TimeRange{From: d.now().Add(-10 * time.Minute), To: d.now()},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Responses["A"].Error; err != nil {
		t.Fatal(err)
	}
	for _, f := range response.Responses["A"].Frames {
		// How it was asked for differs, and how much of that was cached.
		f.Meta.ExecutedQueryString, f.Meta.Custom = "", nil
		text, err := data.FrameToJSON(f, data.IncludeAll)
		if err != nil {
			t.Fatal(err)
		}
		answer += string(text) + "\n"
	}
	return answer, of.samples.Load() - before
}

const oddPower = `{"queryType":"anomaly","options":{"metric":"gpu_power_watts","hours":6}}`

func TestTheSecondQueryLearnsOnlyWhatIsNew(t *testing.T) {
	of := &counted{Store: &promtest.Store{}}
	for i := range 3 {
		weeks(of.Store, "DCGM_FI_DEV_POWER_USAGE", i, wavy(i, i == 1))
	}
	registry := prometheus.NewRegistry()
	d := uncached(t, registry, of)
	first, much := shownAt(t, d, of, 0, oddPower, nil)
	again, little := shownAt(t, d, of, 0, oddPower, nil)
	if again != first || !strings.Contains(first, "650") {
		t.Errorf("first\n%s\nthen\n%s", first, again)
	}
	if much < 50*little || little == 0 {
		t.Errorf("%d samples, then %d", much, little)
	}
	later, little := shownAt(t, d, of, 10*time.Minute, oddPower, nil)
	if fresh, _ := shownAt(t, uncached(t, prometheus.NewRegistry(), of), of, 10*time.Minute, oddPower, nil); later != fresh {
		t.Errorf("ten minutes later\n%s\nwant\n%s", later, fresh)
	}
	if much < 50*little {
		t.Errorf("%d samples, then %d", much, little)
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`# HELP warpwatch_insight_baselines_total Devices that were compared with their past, by whether that was known: hit (but for what is new), miss (it was learned), or bypass (read and not kept); and sets of one metric that made room for others: forgotten.
# TYPE warpwatch_insight_baselines_total counter
warpwatch_insight_baselines_total{result="bypass"} 0
warpwatch_insight_baselines_total{result="forgotten"} 0
warpwatch_insight_baselines_total{result="hit"} 6
warpwatch_insight_baselines_total{result="miss"} 3
`), "warpwatch_insight_baselines_total"); err != nil {
		t.Error(err)
	}
}

// What one user may see is learned for them alone, and of a selection only those devices are learned that are not known yet.
func TestWhatIsLearnedIsOfAUserAndOfDevices(t *testing.T) {
	of := &counted{Store: &promtest.Store{}}
	for i := range 3 {
		weeks(of.Store, "DCGM_FI_DEV_POWER_USAGE", i, wavy(i, false))
	}
	d := uncached(t, prometheus.NewRegistry(), of)
	one := strings.Replace(oddPower, `{`, `{"gpus":["GPU-n1-0"],`, 1)
	_, alone := shownAt(t, d, of, 0, one, nil)
	_, rest := shownAt(t, d, of, 0, oddPower, nil)
	if rest < 3*alone/2 || rest > 5*alone/2 {
		t.Errorf("%d samples of one GPU, then %d of two more", alone, rest)
	}
	if _, again := shownAt(t, d, of, 0, oddPower, nil); 20*again > rest {
		t.Errorf("%d samples again", again)
	}
	if _, other := shownAt(t, d, of, 0, oddPower, map[string]string{backend.OAuthIdentityTokenHeaderName: "Bearer b"}); other < rest {
		t.Errorf("another user got by with %d samples", other)
	}
	// A range that ended before what is known is not judged by what came later.
	if _, old := shownAt(t, d, of, -48*time.Hour, oddPower, nil); old < rest {
		t.Errorf("%d samples of two days before", old)
	}
}

// While a part of the past cannot be read nothing is learned, or the hole would stay.
func TestNothingIsLearnedFromAPart(t *testing.T) {
	all := [2]*counted{{Store: &promtest.Store{}}, {Store: &promtest.Store{}}}
	for i, of := range all {
		weeks(of.Store, "DCGM_FI_DEV_POWER_USAGE", i, wavy(i, false))
	}
	d := uncached(t, prometheus.NewRegistry(), all[0], all[1])
	all[1].broken.Store(true)
	shownAt(t, d, all[0], 0, oddPower, nil)
	for _, s := range d.baselines.sets {
		if s.set.Len() != 0 {
			t.Errorf("%d were learned", s.set.Len())
		}
	}
	all[1].broken.Store(false)
	d = uncached(t, prometheus.NewRegistry(), all[0], all[1])
	shownAt(t, d, all[0], 0, oddPower, nil)
	for _, s := range d.baselines.sets {
		if s.set.Len() != 2 {
			t.Errorf("%d are known", s.set.Len())
		}
	}
}

func TestBaselinesAreBounded(t *testing.T) {
	b := &baselines{most: 10}
	key := func(i int) baselineKey { return baselineKey{tenant: fmt.Sprint(i)} }
	first := b.of(key(0))
	if !b.reserve(first, 6) || b.reserve(first, 11) {
		t.Error("room for 6 of 10, not for 11")
	}
	second := b.of(key(1))
	if !b.reserve(second, 6) || len(b.sets) != 1 || b.of(key(1)) != second || b.of(key(0)) == first {
		t.Errorf("%d sets", len(b.sets))
	}
	for i := range 2 * mostBaselineSets {
		b.of(key(i))
	}
	if len(b.sets) > mostBaselineSets {
		t.Errorf("%d sets", len(b.sets))
	}
}

// A device whose class of work changes is held against what it did in that class.
func TestAClassHasAPastOfItsOwn(t *testing.T) {
	from := recordedAt
	grid := func(hours int, class insight.Class) *insight.Devices {
		g := insight.NewGrid(from, from.Add(time.Duration(hours)*time.Hour), time.Hour, []insight.Subject{{
			Device: gpu.Device{Identity: gpu.Identity{Node: "n", UUID: "GPU-1"}}, Class: class,
		}})
		values := make([]float64, len(g.Times))
		for i := range values {
			values[i] = float64(i)
		}
		g.Set(field(power), 0, values)
		return g
	}
	s := anomaly.NewSet(10)
	s.Update(grid(48, insight.Training), field(power))
	s.UpdateUntil(grid(60, insight.Unclassified), field(power), from.Add(55*time.Hour+30*time.Minute).UnixMilli())
	key := anomaly.Key{Identity: gpu.Identity{Node: "n", UUID: "GPU-1"}, Field: field(power)}
	if b := s.Of(key); b == nil || b.Newest() != from.Add(54*time.Hour).UnixMilli() || b.At(from.Add(71*time.Hour).UnixMilli()).Basis != anomaly.Nothing {
		t.Error("the new class began with the values of the old one, or with a step that is not over")
	}
	if at, ok := s.Known(key.Identity, key.Field); !ok || at != from.Add(54*time.Hour).UnixMilli() {
		t.Errorf("known up to %v", time.UnixMilli(at).UTC())
	}
}
