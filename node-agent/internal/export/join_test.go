package export

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// textOf is an Appender of fixed text.
type textOf string

func (t textOf) Append(dst []byte) []byte { return append(dst, t...) }

func gauge(name string) prometheus.Collector {
	return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "h"})
}

func TestOthersMetricsAreJoined(t *testing.T) {
	e, store, rows := setup(t, node())
	require.NoError(t, store.Append(split(node(), rows)))
	own, cooling, rules := prometheus.NewRegistry(), prometheus.NewRegistry(), prometheus.NewRegistry()
	own.MustRegister(gauge("warpwatch_agent_something"))
	cooling.MustRegister(gauge("coolant_flow"), gauge("gpu_power_watts"))
	rules.MustRegister(gauge("coolant_flow_other"), gauge("warpwatch_agent_something"))
	h := Handler(HandlerOptions{
		Exporter: e, Own: own, Gatherers: []prometheus.Gatherer{cooling, rules}, Logger: slog.New(slog.DiscardHandler),
		Appenders: []Appender{
			textOf("# HELP train_loss Loss.\n# TYPE train_loss gauge\ntrain_loss 2\n# TYPE gpu_fake gauge\ngpu_fake 1\n" +
				"# HELP train_seconds Time.\n# TYPE train_seconds histogram\ntrain_seconds_bucket{le=\"+Inf\"} 1\ntrain_seconds_sum 1\ntrain_seconds_count 1\n"),
			textOf("# TYPE train_loss gauge\ntrain_loss 3\n# TYPE train_seconds_sum gauge\ntrain_seconds_sum 9\ncoolant_flow 1\nrate 7"),
		},
	})
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := answer.Body.String()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	parsed, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	for _, name := range []string{"warpwatch_agent_something", "coolant_flow", "coolant_flow_other", "train_loss", "train_seconds", "rate"} {
		assert.Len(t, parsed[name].GetMetric(), 1, name)
	}
	assert.Equal(t, 2.0, parsed["train_loss"].GetMetric()[0].GetGauge().GetValue(), "who comes first keeps the name")
	assert.NotContains(t, text, "gpu_fake")
	assert.NotContains(t, text, "train_seconds_sum 9")
	assert.Equal(t, 1, strings.Count(text, "# TYPE gpu_power_watts "))

	again := httptest.NewRecorder()
	h.ServeHTTP(again, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Contains(t, again.Body.String(), "warpwatch_agent_metrics_left_out_total 6\n")
}

// A reader that fails costs its own figures alone.
func TestABrokenGathererCostsItsOwnFigures(t *testing.T) {
	e, store, rows := setup(t, node())
	require.NoError(t, store.Append(split(node(), rows)))
	own, broken := prometheus.NewRegistry(), prometheus.NewRegistry()
	broken.MustRegister(gauge("coolant_pressure"), invalid{prometheus.NewDesc("coolant_flow", "h", nil, nil)})
	h := Handler(HandlerOptions{
		Exporter: e, Own: own, Gatherers: []prometheus.Gatherer{broken}, Logger: slog.New(slog.DiscardHandler),
	})
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Equal(t, 200, answer.Code)
	assert.Contains(t, answer.Body.String(), "gpu_power_watts{")
	assert.Contains(t, answer.Body.String(), "coolant_pressure 0")
}

// invalid is a collector that has nothing but an error.
type invalid struct{ desc *prometheus.Desc }

func (i invalid) Describe(ch chan<- *prometheus.Desc) { ch <- i.desc }
func (i invalid) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(i.desc, assert.AnError)
}

// Text that a scraper can read stays so, whatever it is joined with.
func FuzzJoin(f *testing.F) {
	f.Add("# HELP a b\n# TYPE a gauge\na 1\na{x=\"y\"} 2\n", "# TYPE a counter\na 1\n")
	f.Add("# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n", "h_sum 3\n\n# a comment\nb 1")
	f.Add("gpu_x 1\n", "# TYPE warpwatch_y gauge\nwarpwatch_y 1\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, text := range []string{a, b} {
			parser := expfmt.NewTextParser(model.LegacyValidation)
			if _, err := parser.TextToMetricFamilies(strings.NewReader(text)); err != nil {
				t.Skip("not what a scraper can read")
			}
		}
		j := &joiner{taken: map[string]bool{}, refused: func(string) {}}
		both := j.add(j.add(nil, []byte(a)), []byte(b))
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(string(both)))
		require.NoError(t, err, "%s", both)
		for name := range families {
			assert.False(t, reserved(name), name)
		}
	})
}
