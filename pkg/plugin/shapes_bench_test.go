package plugin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/data/utils/jsoniter"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// benchStart is the first time of the generated answers, Unix seconds on the grid of 15 s.
const benchStart = 1_793_400_000

// promBody is what Prometheus answers for series with the labels of dcgm-exporter: a matrix, or a vector of the first
// points. Values are whole numbers, have three decimals, or 16 to 17 digits, a third each.
func promBody(series, points int, matrix bool) []byte {
	random := rand.New(rand.NewPCG(5, 6))
	var b bytes.Buffer
	kind := "vector"
	if matrix {
		kind = "matrix"
	}
	fmt.Fprintf(&b, `{"status":"success","data":{"resultType":%q,"result":[`, kind)
	value := func(i, j int) {
		v := strconv.Itoa(random.IntN(101))
		switch (i + j) % 3 {
		case 1:
			v = strconv.FormatFloat(float64(random.IntN(700_000))/1000, 'f', -1, 64)
		case 2:
			v = strconv.FormatFloat(random.Float64(), 'f', -1, 64)
		}
		fmt.Fprintf(&b, `[%d,"%s"]`, benchStart+15*j, v)
	}
	for i := range series {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","DCGM_FI_DRIVER_VERSION":"550.54.15","Hostname":"node-%05d",`+
			`"UUID":"GPU-%08x-0a00-4a00-8b00-%012x","device":"nvidia%d","gpu":"%d","instance":"10.9.%d.%d:9400","job":"dcgm-exporter",`+
			`"modelName":"NVIDIA H100 80GB HBM3","namespace":"gpu","pci_bus_id":"00000000:%02x:00.0"},`,
			i/8, i, i, i%8, i%8, i/8/250, i/8%250, 16+i%8)
		if !matrix {
			b.WriteString(`"value":`)
			value(i, 0)
			b.WriteByte('}')
			continue
		}
		b.WriteString(`"values":[`)
		for j := range points {
			if j > 0 {
				b.WriteByte(',')
			}
			value(i, j)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

// always answers every request with one body.
type always struct{ body []byte }

func (a always) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}, nil
}

// pastOf is a history without a cache whose only server answers with the body.
func pastOf(b *testing.B, body []byte) *history.History {
	b.Helper()
	known, err := catalog.Load()
	if err != nil {
		b.Fatal(err)
	}
	past, err := history.New([]history.Endpoint{{ID: "a", URL: "http://prometheus", HTTP: &http.Client{Transport: always{body}}}}, known,
		history.Options{CacheBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	return past
}

// eachSeries is the other way: reading value by value, one frame for each series, as Grafana's own data source answers.
func eachSeries(b *testing.B, body []byte) data.Frames {
	b.Helper()
	iter, err := jsoniter.Parse(jsoniter.ConfigDefault, bytes.NewReader(body), 1024)
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(err)
	var all data.Frames
	size := 0
	var times []time.Time
	var values []float64
	sample := func() {
		_, err := iter.ReadArray()
		must(err)
		at, err := iter.ReadFloat64()
		must(err)
		_, err = iter.ReadArray()
		must(err)
		text, err := iter.ReadString()
		must(err)
		v, err := strconv.ParseFloat(text, 64)
		must(err)
		_, err = iter.ReadArray()
		must(err)
		times, values = append(times, time.UnixMilli(int64(at*1000)).UTC()), append(values, v)
	}
	series := func() {
		labels := data.Labels{}
		times, values = make([]time.Time, 0, size), make([]float64, 0, size)
		for field, err := iter.ReadObject(); field != ""; field, err = iter.ReadObject() {
			must(err)
			switch field {
			case "metric":
				must(iter.ReadVal(&labels))
			case "value":
				sample()
			case "values":
				for more, err := iter.ReadArray(); more; more, err = iter.ReadArray() {
					must(err)
					sample()
				}
			}
		}
		size = len(times)
		name := labels["__name__"]
		delete(labels, "__name__")
		frame := data.NewFrame(name, data.NewField("Time", nil, times), data.NewField("Value", labels, values))
		frame.Fields[1].Config = &data.FieldConfig{DisplayNameFromDS: name + labels.String()}
		frame.Fields[0].Config = &data.FieldConfig{Interval: 15_000}
		frame.Meta = &data.FrameMeta{
			Type: data.FrameTypeTimeSeriesMulti, TypeVersion: data.FrameTypeVersion{0, 1}, Custom: map[string]string{"resultType": "matrix"},
		}
		all = append(all, frame)
	}
	var walk func()
	walk = func() {
		for field, err := iter.ReadObject(); field != ""; field, err = iter.ReadObject() {
			must(err)
			switch field {
			case "data":
				walk()
			case "result":
				for more, err := iter.ReadArray(); more; more, err = iter.ReadArray() {
					must(err)
					series()
				}
			default:
				_, err := iter.Read()
				must(err)
			}
		}
	}
	walk()
	return all
}

func benchWindow(points int) query.Window {
	return query.Window{From: time.Unix(benchStart, 0), To: time.Unix(benchStart+int64(points-1)*15, 0), Step: 15 * time.Second, ScrapeInterval: 15 * time.Second}
}

// The name in the benchmark runner is history-chain: an answer of 1,000 series of 1,000 points from the server's body to
// what Grafana holds.
func BenchmarkChain(b *testing.B) {
	for _, count := range []int{100, 1000} {
		body := promBody(count, 1000, true)
		through := func(b *testing.B, want int, frames func() data.Frames) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			size := 0
			for b.Loop() {
				raw, err := frames().MarshalArrow()
				if err != nil {
					b.Fatal(err)
				}
				size = 0
				for _, part := range raw {
					size += len(part)
				}
				got, err := data.UnmarshalArrowFrames(raw)
				if err != nil || len(got) != want {
					b.Fatal(err, len(got))
				}
			}
			b.ReportMetric(float64(size), "wire-bytes")
		}
		b.Run(fmt.Sprintf("ours-%d", count), func(b *testing.B) {
			past := pastOf(b, body)
			through(b, 1, func() data.Frames {
				result := past.PromQL(context.Background(), query.Query{Type: query.TypePromQL, Expr: "x"}, benchWindow(1000))
				if result.Err != nil || len(result.Series) != count {
					b.Fatal(result.Err, len(result.Series))
				}
				frames.Sort(result.Series)
				return data.Frames{frames.Wide(result.Series, frames.Options{Naming: frames.NamingFor(result.Series, ""), Step: result.Step})}
			})
		})
		b.Run(fmt.Sprintf("frames-%d", count), func(b *testing.B) {
			through(b, count, func() data.Frames { return eachSeries(b, body) })
		})
	}
}

// The name in the benchmark runner is history-instant-arrow: 100,000 series of an instant query from the server's body to
// what goes to Grafana, and the encoding alone, of a table of all labels and of the GPUs that the series are of, which is
// what a metric query answers. The rival is one frame for each series.
func BenchmarkInstantArrow(b *testing.B) {
	known, err := catalog.Load()
	if err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{10_000, 100_000} {
		body := promBody(count, 1, false)
		past := pastOf(b, body)
		labelled := func() []gpu.Series {
			result := past.PromQL(context.Background(), query.Query{Type: query.TypePromQL, Expr: "x", Instant: true}, benchWindow(1))
			if result.Err != nil || len(result.Series) != count {
				b.Fatal(result.Err, len(result.Series))
			}
			return result.Series
		}
		table := func(all []gpu.Series) data.Frames {
			frames.Sort(all)
			return data.Frames{frames.Latest(all, frames.Options{Naming: frames.NamingFor(all, "")})}
		}
		gpus := func() []gpu.Series {
			all := labelled()
			for i, s := range all {
				all[i].Device, _, _ = known.Identify(catalog.LabelMap(s.Labels))
				all[i].Labels = nil
			}
			return all
		}
		encode := func(b *testing.B, name string, answer func() data.Frames) {
			b.Run(fmt.Sprintf("%s-%d", name, count), func(b *testing.B) {
				all := answer()
				b.ReportAllocs()
				for b.Loop() {
					if _, err := all.MarshalArrow(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		whole := func(b *testing.B, name string, answer func() data.Frames) {
			b.Run(fmt.Sprintf("%s-%d", name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := answer().MarshalArrow(); err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				b.ReportMetric(held(b, answer), "held-MiB")
			})
		}
		encode(b, "encode-gpus", func() data.Frames { return table(gpus()) })
		encode(b, "encode-labels", func() data.Frames { return table(labelled()) })
		encode(b, "encode-frames", func() data.Frames { return eachSeries(b, body) })
		whole(b, "whole-table", func() data.Frames {
			result := past.PromQLTable(context.Background(), query.Query{Type: query.TypePromQL, Expr: "x", Instant: true}, benchWindow(1))
			if result.Err != nil || result.Instant.Len() != count {
				b.Fatal(result.Err)
			}
			return data.Frames{frames.SortInstant(result.Instant).Latest(frames.Options{})}
		})
		whole(b, "whole-frames", func() data.Frames { return eachSeries(b, body) })
	}
}

// held is the memory that an answer takes while it is sent: what it was made of, its frames, and their bytes.
func held(b *testing.B, answer func() data.Frames) float64 {
	b.Helper()
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC() // a second time for what pools keep
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	all := answer()
	raw, err := all.MarshalArrow()
	if err != nil {
		b.Fatal(err)
	}
	after := heap()
	runtime.KeepAlive(all)
	runtime.KeepAlive(raw)
	return (float64(after) - float64(before)) / (1 << 20)
}
