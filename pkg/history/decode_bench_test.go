package history

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// rangeBody is what query_range answers for DCGM-like series: 11 labels, and values that are whole numbers, have three
// decimals, or 16 to 17 digits, a third each.
func rangeBody(series, points int) []byte {
	random := rand.New(rand.NewPCG(5, 6))
	var b bytes.Buffer
	b.WriteString(`{"status":"success","data":{"resultType":"matrix","result":[`)
	for i := range series {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","DCGM_FI_DRIVER_VERSION":"550.54.15","Hostname":"node-%04d",`+
			`"UUID":"GPU-%08x-0a00-4a00-8b00-%012x","device":"nvidia%d","gpu":"%d","instance":"10.9.%d.%d:9400","job":"dcgm-exporter",`+
			`"modelName":"NVIDIA H100 80GB HBM3","namespace":"gpu","pci_bus_id":"00000000:%02x:00.0"},"values":[`,
			i/8, i, i, i%8, i%8, i/8/250, i/8%250, 16+i%8)
		for j := range points {
			if j > 0 {
				b.WriteByte(',')
			}
			var v string
			switch (i + j) % 3 {
			case 0:
				v = strconv.Itoa(random.IntN(101))
			case 1:
				v = strconv.FormatFloat(float64(random.IntN(700_000))/1000, 'f', -1, 64)
			default:
				v = strconv.FormatFloat(random.Float64(), 'f', -1, 64)
			}
			fmt.Fprintf(&b, `[%d,"%s"]`, 1793400000+15*j, v)
		}
		b.WriteString(`]}`)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

// canned is an api.Client whose every answer is the body, so that the benchmark measures decoding only.
type canned struct{ body []byte }

func (canned) URL(ep string, _ map[string]string) *url.URL { return &url.URL{Path: ep} }

func (c canned) Do(context.Context, *http.Request) (*http.Response, []byte, error) {
	return &http.Response{StatusCode: http.StatusOK}, c.body, nil
}

// The name in the benchmark runner is history-decode-range.
func BenchmarkDecodeRange(b *testing.B) {
	body, reading := rangeBody(1000, 1000), &budget{}
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			a, err := decode(&textWindow{from: bytes.NewReader(body), reading: reading}, nil)
			if err != nil || len(a.Series) != 1000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("client_golang", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		api := v1.NewAPI(canned{body})
		for b.Loop() {
			value, _, _, err := api.QueryRange(context.Background(), "x", v1.Range{Start: time.Unix(0, 0), End: time.Unix(1, 0), Step: time.Second})
			if err != nil || value.(model.Matrix).Len() != 1000 {
				b.Fatal(err)
			}
			for _, s := range value.(model.Matrix) {
				times, values := make([]int64, len(s.Values)), make([]float64, len(s.Values))
				for i, p := range s.Values {
					times[i], values[i] = int64(p.Timestamp), float64(p.Value)
				}
				kept = rawSeries{Times: times, Values: values}
			}
		}
	})
}

// kept is where a benchmark puts what it has made, so that it is made.
var kept rawSeries

// instantBody is what query answers for as many GPUs: labels like those of rangeBody, and one value each.
func instantBody(series int) []byte {
	random := rand.New(rand.NewPCG(7, 8))
	var b bytes.Buffer
	b.WriteString(`{"status":"success","data":{"resultType":"vector","result":[`)
	for i := range series {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","DCGM_FI_DRIVER_VERSION":"550.54.15","Hostname":"node-%05d",`+
			`"UUID":"GPU-%08x-0a00-4a00-8b00-%012x","device":"nvidia%d","gpu":"%d","instance":"10.9.%d.%d:9400","job":"dcgm-exporter",`+
			`"modelName":"NVIDIA H100 80GB HBM3","namespace":"gpu","pci_bus_id":"00000000:%02x:00.0"},"value":[1793400000.123,"%s"]}`,
			i/8, i, i, i%8, i%8, i/8/250, i/8%250, 16+i%8, strconv.FormatFloat(float64(random.IntN(700_000))/1000, 'f', -1, 64))
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

// The name in the benchmark runner is history-decode-instant.
func BenchmarkDecodeInstant(b *testing.B) {
	body, reading := instantBody(100_000), &budget{}
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			a, err := decode(&textWindow{from: bytes.NewReader(body), reading: reading}, nil)
			if err != nil || len(a.Series) != 100_000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("columns", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			a, err := decodeInstant(&textWindow{from: bytes.NewReader(body), reading: reading})
			if err != nil || a.Instant.Len() != 100_000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("client_golang", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		api := v1.NewAPI(canned{body})
		for b.Loop() {
			value, _, _, err := api.Query(context.Background(), "x", time.Unix(0, 0))
			if err != nil || len(value.(model.Vector)) != 100_000 {
				b.Fatal(err)
			}
		}
	})
}
