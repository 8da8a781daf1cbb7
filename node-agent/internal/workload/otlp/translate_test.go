package otlp

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

func TestNamesAndUnits(t *testing.T) {
	gauge, counter, histogram := otlptranslator.MetricType(otlptranslator.MetricTypeGauge),
		otlptranslator.MetricType(otlptranslator.MetricTypeMonotonicCounter), otlptranslator.MetricType(otlptranslator.MetricTypeHistogram)
	for _, c := range []struct {
		name, unit string
		kind       otlptranslator.MetricType
		want       naming
	}{
		{"train_loss", "", gauge, naming{"train_loss", 1}},
		{"train_step_total", "", counter, naming{"train_step_total", 1}},
		{"train_checkpoint_seconds_total", "s", counter, naming{"train_checkpoint_seconds_total", 1}},
		{"train_memory_allocated_bytes", "By", gauge, naming{"train_memory_allocated_bytes", 1}},
		{"http.server.duration", "ms", histogram, naming{"http_server_duration_seconds", 1e-3}},
		{"wait_ms", "ms", gauge, naming{"wait_seconds", 1e-3}},
		{"cache.size", "MiBy", gauge, naming{"cache_size_bytes", 1 << 20}},
		{"disk.io", "MiBy/s", gauge, naming{"disk_io_bytes_per_second", 1 << 20}},
		{"cpu_percent", "%", gauge, naming{"cpu_ratio", 0.01}},
		{"mfu", "1", gauge, naming{"mfu_ratio", 1}},
		{"tokens", "{token}/s", gauge, naming{"tokens_per_second", 1}},
		{"megatron.training.loss", "", gauge, naming{"train_loss", 1}},
		{"megatron.training.skipped_iters", "", counter, naming{"train_skipped_steps_total", 1}},
		{"megatron.training.memory_allocated_gb", "GB", gauge, naming{"train_memory_allocated_bytes", 1e9}},
		{"megatron.training.throughput_tflops", "TFLOP/s", gauge, naming{"train_gpu_flops_per_second", 1e12}},
		{"megatron.training.tokens_per_sec", "tokens/s", gauge, naming{"train_tokens_per_second", 1}},
		{"megatron.training.step_duration_ms", "ms", histogram, naming{"megatron_training_step_duration_seconds", 1e-3}},
		{"megatron.training.new_thing", "", gauge, naming{"megatron_training_new_thing", 1}},
	} {
		got, err := named(c.name, c.unit, c.kind)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%s in %q", c.name, c.unit)
	}
}

const times = `"startTimeUnixNano":"1","timeUnixNano":`

func TestSums(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{})
	sum := func(name string, monotonic bool, temporality int, value string, at int) string {
		return fmt.Sprintf(`{"name":%q,"sum":{"isMonotonic":%t,"aggregationTemporality":%d,"dataPoints":[{%s"%d","asDouble":%s}]}}`,
			name, monotonic, temporality, times, at, value)
	}
	a.json(``, sum("total", true, 2, "5", 10)+","+sum("delta", true, 1, "5", 10)+","+sum("level", false, 2, "-5", 10)+","+sum("move", false, 1, "5", 10))
	a.json(``, sum("total", true, 2, "3", 20)+","+sum("delta", true, 1, "3", 20)+","+sum("level", false, 2, "-3", 20)+","+sum("move", false, 1, "-3", 20))
	const want = "delta_total{node=\"n1\"} 8\nlevel{node=\"n1\"} -3\nmove{node=\"n1\"} 2\ntotal_total{node=\"n1\"} 3\n"
	assert.Equal(t, strings.ReplaceAll(want, "total_total", "total"), a.lines(), "a total that falls began anew")

	rejected, message := a.json(``, sum("delta", true, 1, "3", 20)+","+sum("total", true, 2, "2", 19)+","+sum("neither", true, 0, "2", 19)+","+
		sum("negative", true, 2, "-1", 1)+","+sum("endless", true, 1, `"Infinity"`, 1)+","+sum("nothing", true, 2, `"NaN"`, 1))
	assert.Equal(t, "6", rejected)
	assert.Contains(t, message, "a point is not newer than the one before it")
	assert.Contains(t, message, "this one is neither")
	assert.Contains(t, message, "does not fall")
	assert.Equal(t, strings.ReplaceAll(want, "total_total", "total"), a.lines(), "a retry counts nothing twice")
}

func TestGauges(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{})
	a.json(``, `{"name":"train.loss","description":"The loss.","gauge":{"dataPoints":[{"timeUnixNano":"1","asDouble":"NaN"}]}},
		{"name":"inf","gauge":{"dataPoints":[{"asDouble":"-Infinity"}]}},{"name":"int","gauge":{"dataPoints":[{"asInt":"-7"}]}}`)
	assert.Equal(t, "inf{node=\"n1\"} -Inf\nint{node=\"n1\"} -7\ntrain_loss{node=\"n1\"} NaN\n", a.lines())
	assert.Contains(t, string(a.store.Append(nil)), "# HELP train_loss The loss.\n")
	a.json(``, `{"name":"train.loss","gauge":{"dataPoints":[{"timeUnixNano":"2","flags":1}]}}`)
	assert.NotContains(t, a.lines(), "train_loss", "the sender says that it has ended")
	a.clock.now = a.clock.now.Add(time.Hour)
	assert.Empty(t, a.lines())
}

func TestHistograms(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{})
	send := func(temporality, at int, body string) (string, string) {
		return a.json(``, fmt.Sprintf(`{"name":"wait","unit":"ms","histogram":{"aggregationTemporality":%d,"dataPoints":[{%s"%d",%s}]}}`,
			temporality, times, at, body))
	}
	send(1, 10, `"count":"3","sum":600,"bucketCounts":["1","1","1"],"explicitBounds":[100,500]`)
	send(1, 20, `"count":"1","sum":50,"bucketCounts":["1","0","0"],"explicitBounds":[100,500]`)
	assert.Equal(t, `wait_seconds_bucket{node="n1",le="0.1"} 2
wait_seconds_bucket{node="n1",le="0.5"} 3
wait_seconds_bucket{node="n1",le="+Inf"} 4
wait_seconds_sum{node="n1"} 0.65
wait_seconds_count{node="n1"} 4
`, a.lines())
	send(1, 30, `"count":"1","bucketCounts":["1","0"],"explicitBounds":[100]`)
	assert.Contains(t, a.lines(), "wait_seconds_sum{node=\"n1\"} NaN\n", "no sum is not 0")
	assert.Contains(t, a.lines(), "wait_seconds_count{node=\"n1\"} 1\n")
	send(2, 40, `"count":"9","sum":1000`)
	assert.Equal(t, "wait_seconds_bucket{node=\"n1\",le=\"+Inf\"} 9\nwait_seconds_sum{node=\"n1\"} 1\nwait_seconds_count{node=\"n1\"} 9\n", a.lines())
	for body, want := range map[string]string{
		`"count":"1","bucketCounts":["1"],"explicitBounds":[1]`:           "one bucket more than bounds",
		`"count":"1","bucketCounts":["1","1"],"explicitBounds":[1]`:       "not the sum of its buckets",
		`"count":"1","bucketCounts":["1","0","0"],"explicitBounds":[2,1]`: "bounds of a histogram rise",
	} {
		rejected, message := send(2, 50, body)
		assert.Equal(t, "1", rejected)
		assert.Contains(t, message, want)
	}
}

func TestSummaries(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{})
	a.json(``, `{"name":"wait","unit":"ms","summary":{"dataPoints":[{"count":"2","sum":300,"quantileValues":[{"quantile":1,"value":200},{"quantile":0.5,"value":100}]}]}}`)
	assert.Equal(t, `wait_seconds{node="n1",quantile="0.5"} 0.1
wait_seconds{node="n1",quantile="1"} 0.2
wait_seconds_sum{node="n1"} 0.3
wait_seconds_count{node="n1"} 2
`, a.lines())
}

func TestMegatronsStepIsAGaugeToo(t *testing.T) {
	a := newAgent(t, Options{}, workload.Limits{})
	send := func(at, count, sum int) {
		rejected, _ := a.json(``, fmt.Sprintf(`{"name":"megatron.training.step_duration_ms","unit":"ms","histogram":{"aggregationTemporality":2,"dataPoints":[{%s"%d","count":"%d","sum":%d}]}}`, times, at, count, sum))
		assert.Empty(t, rejected)
	}
	send(1, 10, 2000)
	assert.Contains(t, a.lines(), "train_step_seconds{node=\"n1\"} 0.2\n")
	assert.Contains(t, a.lines(), "megatron_training_step_duration_seconds_count{node=\"n1\"} 10\n")
	send(2, 12, 3000)
	assert.Contains(t, a.lines(), "train_step_seconds{node=\"n1\"} 0.5\n")
	send(3, 12, 3000)
	assert.Contains(t, a.lines(), "train_step_seconds{node=\"n1\"} 0.5\n", "no step, nothing new")
	send(4, 1, 100)
	assert.Contains(t, a.lines(), "train_step_seconds{node=\"n1\"} 0.1\n", "the trainer began anew")
}

func attribute(key, value string) string {
	return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, key, value)
}

func TestLabels(t *testing.T) {
	for name, c := range map[string]struct {
		resource []string
		point    string
		want     string
	}{
		"service": {[]string{"service.name", "train", "service.namespace", "ml", "service.instance.id", "7", "telemetry.sdk.name", "x"}, ``,
			`{instance="7",job="ml/train",node="n1"}`},
		"this host":         {[]string{"host.name", "N1.example.com"}, ``, `{node="n1"}`},
		"a container's id":  {[]string{"host.name", "4f2a"}, ``, `{host_name="4f2a",node="n1"}`},
		"another node":      {[]string{"k8s.node.name", "n2", "host.name", "n2"}, ``, `{node="n2"}`},
		"kubernetes":        {[]string{"k8s.namespace.name", "ml", "k8s.pod.name", "p", "k8s.container.name", "c"}, ``, `{container="c",namespace="ml",node="n1",pod="p"}`},
		"slurm":             {[]string{"slurm.job.id", "42", "rank", "3"}, ``, `{job_id="42",node="n1",rank="3"}`},
		"the point's wins":  {[]string{"rank", "3"}, attribute("rank", "4"), `{node="n1",rank="4"}`},
		"names become one":  {nil, attribute("a.b", "1") + "," + attribute("a-b", "2"), `{a_b="2;1",node="n1"}`},
		"other values":      {nil, `{"key":"i","value":{"intValue":"5"}},{"key":"t","value":{"boolValue":true}},{"key":"l","value":{"arrayValue":{"values":[{"doubleValue":1.5},{}]}}}`, `{i="5",l="[1.5,]",node="n1",t="true"}`},
		"names with points": {nil, attribute("gen_ai.model", "ä"), `{gen_ai_model="ä",node="n1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, Options{}, workload.Limits{})
			var resource []string
			for i := 0; i < len(c.resource); i += 2 {
				resource = append(resource, attribute(c.resource[i], c.resource[i+1]))
			}
			rejected, message := a.json(strings.Join(resource, ","), `{"name":"m","gauge":{"dataPoints":[{"asDouble":1,"attributes":[`+c.point+`]}]}}`)
			assert.Empty(t, rejected+message)
			assert.Equal(t, "m"+c.want+" 1\n", a.lines())
		})
	}
}

func exponentialPoint(scale, offset int32, counts ...uint64) *metrics.ExponentialHistogramDataPoint {
	p := &metrics.ExponentialHistogramDataPoint{
		Scale: scale, Positive: &metrics.ExponentialHistogramDataPoint_Buckets{Offset: offset, BucketCounts: counts}, Sum: proto.Float64(1),
	}
	for _, n := range counts {
		p.Count += n
	}
	return p
}

func TestExponentialBuckets(t *testing.T) {
	p := exponentialPoint(0, -1, 1, 0, 2) // (0.5,1] (1,2] (2,4]
	p.ZeroCount, p.Count = 3, 6
	p.Negative = &metrics.ExponentialHistogramDataPoint_Buckets{Offset: 0, BucketCounts: []uint64{4, 5}}
	p.Count += 9
	e, why := readExponential(p)
	require.Empty(t, why)
	var got []string
	for _, b := range e.metric(1).GetHistogram().GetBucket() {
		got = append(got, fmt.Sprintf("%g:%d", b.GetUpperBound(), b.GetCumulativeCount()))
	}
	assert.Equal(t, []string{"-2:5", "-1:9", "0:12", "0.5:12", "1:13", "2:13", "4:15"}, got)
}

func TestExponentialBucketsAreFewAndStay(t *testing.T) {
	var before *exponential
	shown := map[float64]bool{}
	for i, p := range []*metrics.ExponentialHistogramDataPoint{
		exponentialPoint(3, 0, 1, 2), exponentialPoint(3, -40, append(make([]uint64, 40), 5)...), exponentialPoint(20, 1<<20, 3), exponentialPoint(-2, -3, 1, 1, 1, 1),
	} {
		p.Positive.BucketCounts[0]++
		p.Count++
		e, why := readExponential(p)
		require.Empty(t, why)
		e = e.add(before)
		before = e
		h := e.metric(1).GetHistogram()
		assert.LessOrEqual(t, len(h.GetBucket()), maxExponential+2, i)
		now := map[float64]bool{}
		for _, b := range h.GetBucket() {
			now[b.GetUpperBound()] = true
		}
		if i == 1 {
			for b := range shown {
				assert.True(t, now[b], "%g is shown no more", b)
			}
		}
		shown = now
		assert.Equal(t, h.GetSampleCount(), h.GetBucket()[len(h.GetBucket())-1].GetCumulativeCount())
	}
	assert.EqualValues(t, 4+6+4+5, before.count)
}

func TestExponentialRefusals(t *testing.T) {
	for want, change := range map[string]func(*metrics.ExponentialHistogramDataPoint){
		"scale":          func(p *metrics.ExponentialHistogramDataPoint) { p.Scale = 21 },
		"zero threshold": func(p *metrics.ExponentialHistogramDataPoint) { p.ZeroThreshold = math.NaN() },
		"not the sum":    func(p *metrics.ExponentialHistogramDataPoint) { p.Count = 99 },
		"more than it can": func(p *metrics.ExponentialHistogramDataPoint) {
			p.Positive.BucketCounts = []uint64{math.MaxUint64, 2}
		},
	} {
		p := exponentialPoint(0, 0, 1)
		change(p)
		_, why := readExponential(p)
		assert.Contains(t, why, want)
	}
}

func FuzzHandler(f *testing.F) {
	f.Add([]byte(oneGauge), true, false)
	for _, p := range []*metrics.ExponentialHistogramDataPoint{exponentialPoint(0, 0, 1), exponentialPoint(-10, math.MaxInt32-1, 1, 1), exponentialPoint(20, math.MinInt32, 1)} {
		body, err := proto.Marshal(&metricsData{ResourceMetrics: []*metrics.ResourceMetrics{{ScopeMetrics: []*metrics.ScopeMetrics{{Metrics: []*metrics.Metric{{
			Name: "m", Unit: "ms", Data: &metrics.Metric_ExponentialHistogram{ExponentialHistogram: &metrics.ExponentialHistogram{
				AggregationTemporality: 1, DataPoints: []*metrics.ExponentialHistogramDataPoint{p, p},
			}},
		}}}}}}})
		require.NoError(f, err)
		f.Add(body, false, false)
	}
	f.Add([]byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"h","histogram":{"aggregationTemporality":1,"dataPoints":[{"count":"1","bucketCounts":["1","0"],"explicitBounds":[1]}]}}]}]}]}`), true, false)
	f.Fuzz(func(t *testing.T, body []byte, isJSON, isGzip bool) {
		a := newAgent(t, Options{TextBytes: 1 << 16}, workload.Limits{})
		headers := []string{"Content-Type", "application/x-protobuf"}
		if isJSON {
			headers[1] = "application/json"
		}
		if isGzip {
			headers = append(headers, "Content-Encoding", "gzip")
		}
		for range 2 {
			w := a.post(body, headers...)
			require.Contains(t, []int{200, 400, 413, 429}, w.Code)
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		_, err := parser.TextToMetricFamilies(strings.NewReader(string(a.store.Append(nil))))
		require.NoError(t, err)
	})
}
