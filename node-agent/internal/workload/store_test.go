package workload

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func store(l Limits) (*Store, *clock) {
	c := &clock{now: time.Unix(1_800_000_000, 0)}
	return New(Options{Node: "n1", Cluster: "north", Limits: l, Now: c.Now, GPU: func(index string) (string, bool) {
		return "GPU-" + index, index != "9"
	}}), c
}

func families(t testing.TB, text string) []*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	var all []*dto.MetricFamily
	for _, f := range byName {
		all = append(all, f)
	}
	return all
}

// valid fails unless a scraper can read the text: no family twice, no series twice.
func valid(t testing.TB, text []byte) {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	byName, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	require.NoError(t, err, string(text))
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		series := line[:strings.LastIndex(line, " ")]
		require.False(t, seen[series], "twice: %s", series)
		seen[series] = true
	}
	require.Equal(t, len(byName), strings.Count(string(text), "# TYPE "))
}

func TestSeriesGetTheLabelsThatTheAgentKnows(t *testing.T) {
	s, _ := store(Limits{})
	r := s.Replace("a", families(t, `# HELP train_loss The loss.
# TYPE train_loss gauge
train_loss{gpu="3",rank="3"} NaN
train_loss{gpu="9",node="login",empty="",name="läuft \"gut\""} 1
`))
	assert.Equal(t, 2, r.Accepted)
	assert.Equal(t, `# HELP train_loss The loss.
# TYPE train_loss gauge
train_loss{cluster="north",gpu="3",gpu_uuid="GPU-3",node="n1",rank="3"} NaN
train_loss{cluster="north",gpu="9",name="läuft \"gut\"",node="login"} 1
`, string(s.Append(nil)))
}

func TestReservedNamesAreRefusedAndTheRestIsTaken(t *testing.T) {
	for _, name := range []string{
		"gpu_power_watts", "warpwatch_agent_info", "DCGM_FI_DEV_GPU_UTIL", "dcgm_gpu_temp", "nvidia_smi_x", "hw_gpu_io",
		"go_goroutines", "process_cpu_seconds_total", "promhttp_x", "scrape_duration_seconds", "up",
	} {
		s, _ := store(Limits{})
		r := s.Replace("textfile/x.prom", families(t, name+" 1\nupload_bytes 2\nserve_queue_seconds 3\n"))
		assert.Equal(t, 2, r.Accepted, name)
		assert.Equal(t, 1, r.Refused, name)
		require.Len(t, r.Messages, 1)
		assert.Equal(t, Reserved, r.Messages[0].Reason)
		assert.Contains(t, r.Messages[0].Text, "textfile/x.prom: "+name+": ")
		assert.Contains(t, r.Messages[0].Text, "another name")
		assert.NotContains(t, string(s.Append(nil)), name+"{")
	}
}

func TestNamesOfOtherPartsOfTheAgentAreRefused(t *testing.T) {
	s := New(Options{Node: "n1", Reserved: []string{"coolant_"}})
	r := s.Replace("a", families(t, "coolant_leak_detected 0\ncool 1\n"))
	assert.Equal(t, 1, r.Accepted)
	assert.Contains(t, r.Messages[0].Text, "names that begin with coolant_ are kept")
}

func TestOneFamilyOfTwoInputs(t *testing.T) {
	s, _ := store(Limits{})
	s.Replace("a", families(t, "# HELP jobs Of a.\n# TYPE jobs gauge\njobs{of=\"a\"} 1\n"))
	r := s.Replace("b", families(t, "# HELP jobs Of b.\n# TYPE jobs gauge\njobs{of=\"b\"} 2\njobs{of=\"a\"} 3\n"))
	assert.Equal(t, 1, r.Accepted)
	require.Len(t, r.Messages, 1)
	assert.Equal(t, Duplicate, r.Messages[0].Reason)
	assert.Contains(t, r.Messages[0].Text, "b: jobs: a has the series")
	text := s.Append(nil)
	valid(t, text)
	assert.Contains(t, string(text), "# HELP jobs Of a.\n")

	r = s.Replace("c", families(t, "# TYPE jobs counter\njobs{of=\"c\"} 1\n"))
	assert.Equal(t, Conflict, r.Messages[0].Reason)
	assert.Equal(t, "c: jobs: a counter is in the way of jobs, which a, b sent before as gauge: use one type, or another name", r.Messages[0].Text)

	s.Drop("a")
	s.Drop("b")
	assert.Empty(t, s.Append(nil))
	assert.Equal(t, 1, s.Replace("c", families(t, "# TYPE jobs counter\njobs{of=\"c\"} 1\n")).Accepted, "the way is free again")
}

func TestNamesOfAHistogramAreTaken(t *testing.T) {
	s, _ := store(Limits{})
	s.Replace("a", families(t, "# TYPE wait histogram\nwait_bucket{le=\"1\"} 1\nwait_bucket{le=\"+Inf\"} 2\nwait_sum 3\nwait_count 2\n"))
	r := s.Replace("b", families(t, "wait_sum 1\n"))
	assert.Equal(t, Conflict, r.Messages[0].Reason)
	s.Replace("c", families(t, "rest_count 1\n"))
	r = s.Replace("d", families(t, "# TYPE rest summary\nrest{quantile=\"0.5\"} 1\nrest_sum 3\nrest_count 2\n"))
	assert.Equal(t, Conflict, r.Messages[0].Reason)
	valid(t, s.Append(nil))
}

func TestReplaceIsWhole(t *testing.T) {
	s, _ := store(Limits{})
	s.Replace("a", families(t, "one 1\ntwo 2\n"))
	s.Replace("a", families(t, "two 3\n"))
	assert.Equal(t, "# HELP two "+noHelp+"\n# TYPE two untyped\ntwo{cluster=\"north\",node=\"n1\"} 3\n", string(s.Append(nil)))
}

func TestMergedSeriesEnd(t *testing.T) {
	s, c := store(Limits{})
	s.Replace("file", families(t, "stays 1\n"))
	merge := func(text string) { s.Merge("otlp", Batch{Families: families(t, text), Lifetime: time.Minute}) }
	merge("old 1\nkept 1\n")
	c.now = c.now.Add(40 * time.Second)
	merge("kept 2\ngone 1\n")
	c.now = c.now.Add(40 * time.Second)
	text := string(s.Append(nil))
	assert.NotContains(t, text, "old")
	assert.Contains(t, text, "kept{")
	s.Merge("otlp", Batch{Gone: families(t, "gone 0\nstays 0\n")})
	text = string(s.Append(nil))
	assert.NotContains(t, text, "gone")
	assert.Contains(t, text, "stays", "it is another input's")
	c.now = c.now.Add(time.Hour)
	text = string(s.Append(nil))
	assert.NotContains(t, text, "kept")
	assert.Contains(t, text, "stays", "a file's series do not expire")
}

func TestLimits(t *testing.T) {
	s, _ := store(Limits{LinesPerInput: 3, Lines: 5, Labels: 4, NameBytes: 10, ValueBytes: 5, Inputs: 3})
	r := s.Replace("a", families(t, "a{x=\"1\"} 1\na{x=\"2\"} 1\na{x=\"3\"} 1\na{x=\"4\"} 1\n"))
	assert.Equal(t, 3, r.Accepted)
	assert.Equal(t, 1, r.Full)
	r = s.Replace("b", families(t, "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n"))
	assert.Equal(t, 1, r.Full, "a histogram is as many lines as it has")
	r = s.Replace("b", families(t, "b{x=\"1\"} 1\nb{x=\"2\"} 1\nb{x=\"3\"} 1\n"))
	assert.Equal(t, 2, r.Accepted)
	assert.Contains(t, r.Messages[0].Text, "all inputs together")
	r = s.Replace("a", families(t, "a{x=\"4\"} 1\nlongerthanten 1\nc{x=\"123456\"} 1\nd{a=\"1\",b=\"1\",c=\"1\"} 1\n"))
	assert.Equal(t, 1, r.Accepted, "what was replaced makes room")
	assert.Equal(t, 3, r.Refused)
	s.Replace("c", nil)
	assert.Equal(t, TooMany, s.Replace("d", families(t, "a 1\n")).Messages[0].Reason)
	valid(t, s.Append(nil))
}

func TestMessagesAreBounded(t *testing.T) {
	s, _ := store(Limits{})
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "gpu_%d 1\n", i)
	}
	r := s.Replace("a", families(t, text.String()))
	assert.Equal(t, 1000, r.Refused)
	assert.Len(t, r.Messages, maxMessages)
}

func TestWhatCannotBeShownIsRefused(t *testing.T) {
	gauge := &dto.Gauge{Value: proto.Float64(1)}
	pair := func(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }
	histogram := func(count uint64, bounds ...float64) *dto.Metric {
		h := &dto.Histogram{SampleCount: proto.Uint64(count), SampleSum: proto.Float64(1)}
		for i, b := range bounds {
			h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: proto.Float64(b), CumulativeCount: proto.Uint64(uint64(i))})
		}
		return &dto.Metric{Histogram: h}
	}
	for name, c := range map[string]struct {
		kind   dto.MetricType
		metric string
		m      *dto.Metric
		want   Reason
	}{
		"dotted name":        {dto.MetricType_GAUGE, "train.loss", &dto.Metric{Gauge: gauge}, InvalidName},
		"dotted label":       {dto.MetricType_GAUGE, "m", &dto.Metric{Gauge: gauge, Label: []*dto.LabelPair{pair("a.b", "1")}}, InvalidName},
		"reserved label":     {dto.MetricType_GAUGE, "m", &dto.Metric{Gauge: gauge, Label: []*dto.LabelPair{pair("__name__", "1")}}, InvalidName},
		"label twice":        {dto.MetricType_GAUGE, "m", &dto.Metric{Gauge: gauge, Label: []*dto.LabelPair{pair("a", "1"), pair("a", "2")}}, InvalidName},
		"not UTF-8":          {dto.MetricType_GAUGE, "m", &dto.Metric{Gauge: gauge, Label: []*dto.LabelPair{pair("a", "\xff")}}, InvalidData},
		"another type":       {dto.MetricType_COUNTER, "m", &dto.Metric{Gauge: gauge}, InvalidData},
		"own le":             {dto.MetricType_HISTOGRAM, "m", &dto.Metric{Label: []*dto.LabelPair{pair("le", "1")}, Histogram: &dto.Histogram{}}, InvalidName},
		"bucket twice":       {dto.MetricType_HISTOGRAM, "m", histogram(9, 1, 1), InvalidData},
		"falling buckets":    {dto.MetricType_HISTOGRAM, "m", histogram(9, 2, 1), InvalidData},
		"bucket above count": {dto.MetricType_HISTOGRAM, "m", histogram(0, 1, 2), InvalidData},
		"wrong +Inf":         {dto.MetricType_HISTOGRAM, "m", histogram(9, 1, math.Inf(1)), InvalidData},
		"NaN bound":          {dto.MetricType_HISTOGRAM, "m", histogram(9, math.NaN()), InvalidData},
		"gauge histogram":    {dto.MetricType_GAUGE_HISTOGRAM, "m", histogram(9, 1), Unsupported},
		"quantile of 2": {dto.MetricType_SUMMARY, "m", &dto.Metric{Summary: &dto.Summary{
			Quantile: []*dto.Quantile{{Quantile: proto.Float64(2)}},
		}}, InvalidData},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := store(Limits{})
			r := s.Replace("in", []*dto.MetricFamily{{Name: &c.metric, Type: c.kind.Enum(), Metric: []*dto.Metric{c.m}}})
			require.Len(t, r.Messages, 1)
			assert.Equal(t, c.want, r.Messages[0].Reason, r.Messages[0].Text)
			assert.Empty(t, s.Append(nil))
			assert.Empty(t, s.families)
			assert.Empty(t, s.exposed)
			assert.Zero(t, s.lines)
		})
	}
}

func TestCollector(t *testing.T) {
	s, _ := store(Limits{})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(s))
	s.Replace("textfile/a.prom", families(t, "a 1\ngpu_b 1\n"))
	s.Refuse("otlp", TooLarge, 2)
	s.Refuse("bad\xffname", Syntax, 1)
	assert.Equal(t, `# HELP warpwatch_agent_workload_last_success_timestamp_seconds When an input was last read without its being refused whole.
# TYPE warpwatch_agent_workload_last_success_timestamp_seconds gauge
warpwatch_agent_workload_last_success_timestamp_seconds{input="textfile/a.prom"} 1.8e+09
# HELP warpwatch_agent_workload_refused_total Series, or whole files and requests, that were refused.
# TYPE warpwatch_agent_workload_refused_total counter
warpwatch_agent_workload_refused_total{input="bad�name",reason="syntax"} 1
warpwatch_agent_workload_refused_total{input="otlp",reason="too_large"} 2
warpwatch_agent_workload_refused_total{input="textfile/a.prom",reason="reserved_name"} 1
# HELP warpwatch_agent_workload_series Lines on /metrics that an input brought.
# TYPE warpwatch_agent_workload_series gauge
warpwatch_agent_workload_series{input="bad�name"} 0
warpwatch_agent_workload_series{input="otlp"} 0
warpwatch_agent_workload_series{input="textfile/a.prom"} 1
`, gathered(t, registry))
}

func TestManyAtOnce(t *testing.T) {
	s, _ := store(Limits{Lines: 100})
	batches := make([][]*dto.MetricFamily, 4)
	for i := range batches {
		batches[i] = families(t, fmt.Sprintf("shared{of=\"%d\"} 1\nown_%d 1\n", i, i))
	}
	var group sync.WaitGroup
	for i, b := range batches {
		group.Go(func() {
			name := fmt.Sprintf("in%d", i)
			for range 50 {
				s.Replace(name, b)
				valid(t, s.Append(nil))
				s.Drop(name)
			}
		})
	}
	group.Wait()
	assert.Zero(t, s.lines)
	assert.Empty(t, s.families)
}

func FuzzStore(f *testing.F) {
	f.Add("# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 3\nh_count 2\n", "h_sum 1\n")
	f.Add("a{x=\"ä\\n\"} NaN\n", "# TYPE a summary\na{quantile=\"0.5\"} 1\na_sum 1\na_count 1\n")
	f.Add("{\"a.b\"} 1\n", "up 1\n")
	f.Fuzz(func(t *testing.T, one, two string) {
		s, _ := store(Limits{})
		for name, text := range map[string]string{"one": one, "two": two} {
			parser := expfmt.NewTextParser(model.UTF8Validation)
			byName, err := parser.TextToMetricFamilies(strings.NewReader(text))
			if err != nil {
				continue
			}
			for _, mf := range byName {
				s.Merge(name, Batch{Families: []*dto.MetricFamily{mf}})
			}
		}
		valid(t, s.Append(nil))
	})
}

// gathered is what a registry shows, as text.
func gathered(t *testing.T, g prometheus.Gatherer) string {
	t.Helper()
	families, err := g.Gather()
	require.NoError(t, err)
	var text strings.Builder
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&text, f)
		require.NoError(t, err)
	}
	return text.String()
}
