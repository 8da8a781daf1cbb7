package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// oracle decodes a matrix or vector body with encoding/json and client_golang's model. It reports false when it cannot.
func oracle(body []byte) (matrix model.Matrix, ok bool) {
	var envelope map[string]json.RawMessage
	var data map[string]json.RawMessage
	var list []map[string]json.RawMessage
	if json.Unmarshal(body, &envelope) != nil || json.Unmarshal(envelope["data"], &data) != nil || json.Unmarshal(data["result"], &list) != nil {
		return nil, false
	}
	for _, element := range list {
		var stream model.SampleStream
		if raw, has := element["metric"]; has && json.Unmarshal(raw, &stream.Metric) != nil {
			return nil, false
		}
		if raw, has := element["values"]; has && json.Unmarshal(raw, &stream.Values) != nil {
			return nil, false
		}
		if raw, has := element["value"]; has {
			var pair model.SamplePair
			if json.Unmarshal(raw, &pair) != nil {
				return nil, false
			}
			stream.Values = []model.SamplePair{pair}
		}
		if len(stream.Values) == 0 && (element["histogram"] != nil || element["histograms"] != nil) {
			continue
		}
		matrix = append(matrix, &stream)
	}
	return matrix, true
}

func sameAsOracle(t *testing.T, body []byte, got *answer) {
	t.Helper()
	want, ok := oracle(body)
	if !ok {
		return
	}
	if len(got.Series) != len(want) {
		t.Fatalf("%d series, client_golang has %d\n%s", len(got.Series), len(want), body)
	}
	for i, stream := range want {
		s := got.Series[i]
		if s.Labels.len() != len(stream.Metric) {
			t.Fatalf("series %d: labels %v, client_golang has %v", i, s.Labels, stream.Metric)
		}
		for _, l := range s.Labels.all() {
			if v, has := stream.Metric[model.LabelName(l.Name)]; !has || string(v) != l.Value {
				t.Fatalf("series %d: label %q is %q, client_golang has %q", i, l.Name, l.Value, v)
			}
		}
		if !slices.IsSortedFunc(stream.Values, func(a, b model.SamplePair) int { return int(min(max(a.Timestamp-b.Timestamp, -1), 1)) }) || !risingPairs(stream.Values) {
			continue // ours are put in order
		}
		if len(s.Times) != len(stream.Values) || len(s.Values) != len(s.Times) {
			t.Fatalf("series %d: %d times, %d values, client_golang has %d", i, len(s.Times), len(s.Values), len(stream.Values))
		}
		for j, pair := range stream.Values {
			sameValue := math.Float64bits(s.Values[j]) == math.Float64bits(float64(pair.Value)) || math.IsNaN(s.Values[j]) && math.IsNaN(float64(pair.Value))
			if s.Times[j] != int64(pair.Timestamp) || !sameValue {
				t.Fatalf("series %d point %d: %d %v, client_golang has %d %v", i, j, s.Times[j], s.Values[j], pair.Timestamp, pair.Value)
			}
		}
	}
}

func risingPairs(pairs []model.SamplePair) bool {
	for i := 1; i < len(pairs); i++ {
		if pairs[i].Timestamp <= pairs[i-1].Timestamp {
			return false
		}
	}
	return true
}

func mustDecode(t *testing.T, body []byte) *answer {
	t.Helper()
	a, err := decode(windowOn(body), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return a
}

func TestDecodeIsClientGolangOnFixtures(t *testing.T) {
	for _, name := range []string{
		"nan_inf.json", "utf8_labels.json", "label_values.json", "util_garbage_range.json", "hostname_useless.json", "exported_pod.json",
	} {
		body := fixture(t, name)
		if _, ok := oracle(body); !ok {
			t.Fatalf("%s: client_golang does not read it", name)
		}
		sameAsOracle(t, body, mustDecode(t, body))
	}
}

// randomBody writes answers in every way a server might: with and without white space, shared and broken grids, labels
// that need escapes, and fields in any order.
func randomBody(random *rand.Rand) []byte {
	type member struct {
		name  string
		value any
	}
	values := []string{"NaN", "+Inf", "-Inf", "0", "-0", "1e-7", "1.7976931348623157e+308", "0.30000000000000004", "100", "12345678901234567890", "5e-324"}
	texts := []string{"a", "", "NVIDIA H100", "C:\\x", "a\"b", "line\nend", "Größe 東京 🤘", "<b>&</b>", "\u2028"}
	var result []any
	instant := random.IntN(4) == 0
	start, count := 1793400000, random.IntN(12)
	for range random.IntN(6) {
		metric := map[string]string{}
		for range random.IntN(4) {
			metric[texts[random.IntN(len(texts))]] = texts[random.IntN(len(texts))]
		}
		var points []any
		for j := range count {
			if random.IntN(6) == 0 {
				continue
			}
			var when any = start + 15*j
			if random.IntN(5) == 0 {
				when = float64(start+15*j) + float64(random.IntN(1000))/1000
			}
			v := values[random.IntN(len(values))]
			if random.IntN(2) == 0 {
				v = fmt.Sprint(random.Float64() * 1000)
			}
			points = append(points, []any{when, v})
		}
		element := map[string]any{"metric": metric}
		switch {
		case random.IntN(8) == 0:
			element["histograms"] = []any{[]any{start, map[string]any{"count": "1", "buckets": []any{[]any{0, "1", "2", "3"}}}}}
		case instant && len(points) > 0:
			element["value"] = points[0]
		case points == nil:
			element["values"] = []any{}
		default:
			element["values"] = points
		}
		result = append(result, element)
	}
	if result == nil {
		result = []any{}
	}
	members := []member{{"resultType", "matrix"}, {"result", result}, {"stats", map[string]any{"x": []any{1, nil, true, "]"}}}}
	random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var data bytes.Buffer
	data.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			data.WriteByte(',')
		}
		text, _ := json.Marshal(m.value)
		fmt.Fprintf(&data, "%q:%s", m.name, text)
	}
	data.WriteByte('}')
	body := []byte(`{"status":"success","warnings":["w \"1\""],"data":` + data.String() + `,"infos":null}`)
	if random.IntN(3) == 0 {
		var indented bytes.Buffer
		if err := json.Indent(&indented, body, "", "\t"); err == nil {
			body = indented.Bytes()
		}
	}
	return body
}

func TestDecodeIsClientGolangOnRandomAnswers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		body := randomBody(random)
		if _, ok := oracle(body); !ok {
			t.Fatalf("client_golang does not read\n%s", body)
		}
		got := mustDecode(t, body)
		sameAsOracle(t, body, got)
		if got.Status != "success" || got.ResultType != "matrix" || !slices.Equal(got.Warnings, []string{`w "1"`}) {
			t.Fatalf("%+v", got)
		}
	}
}

func TestDecodeSharesTimes(t *testing.T) {
	a := mustDecode(t, rangeBody(50, 40))
	for i, s := range a.Series {
		if &s.Times[0] != &a.Series[0].Times[0] || len(s.Times) != 40 || cap(s.Times) != 40 {
			t.Fatalf("series %d has times of its own", i)
		}
	}
	sub := mustDecode(t, []byte(`{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{},"values":[[1,"1"],[2,"2"],[3,"3"],[4,"4"]]},
		{"metric":{},"values":[[2,"2"],[3,"3"]]},
		{"metric":{},"values":[[2,"2"],[4,"4"]]},
		{"metric":{},"values":[[3,"3"],[4,"4"],[5,"5"]]}]}}`))
	if s := sub.Series; &s[1].Times[0] != &s[0].Times[1] || s[2].Times[1] != 4000 || s[3].Times[2] != 5000 || s[0].Times[3] != 4000 {
		t.Errorf("times %v", sub.Series)
	}
}

func TestDecodeOfEveryResult(t *testing.T) {
	for _, tc := range []struct {
		body   string
		series int
		first  float64
	}{
		{`{"status":"success","data":{"resultType":"scalar","result":[1793400000.5,"42"]}}`, 1, 42},
		{`{"data":{"result":[1793400000,"42"],"resultType":"scalar"},"status":"success"}`, 1, 42},
		{`{"status":"success","data":{"resultType":"string","result":[1793400000,"hello"]}}`, 0, 0},
		{`{"status":"success","data":{"result":[1793400000,"7"],"resultType":"string"}}`, 0, 0},
		{`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"0.5"]}]}}`, 1, 0.5},
		{`{"status":"success","data":{"result":[{"values":[[1,"0.5"]],"metric":{"a":"b"}}],"resultType":"matrix"}}`, 1, 0.5},
		{`{"status":"success","data":{"resultType":"matrix","result":[]}}`, 0, 0},
		{`{"status":"success","data":{"resultType":"matrix","result":null}}`, 0, 0},
	} {
		a := mustDecode(t, []byte(tc.body))
		if len(a.Series) != tc.series || tc.series > 0 && a.Series[0].Values[0] != tc.first {
			t.Errorf("%s: %+v", tc.body, a.Series)
		}
	}
	h := mustDecode(t, []byte(`{"status":"success","data":{"resultType":"matrix","result":[
		{"metric":{"a":"h"},"histograms":[[1,{"count":"1","sum":"2","buckets":[[0,"0","1","1"]]}]]},
		{"metric":{"a":"f"},"values":[[1,"1"]],"histograms":[[2,{}]]}]},"isPartial":true}`))
	if h.Histograms != 1 || len(h.Series) != 1 || !h.Partial {
		t.Errorf("%+v", h)
	}
	e := mustDecode(t, fixture(t, "error_422.json"))
	if e.Status != "error" || e.ErrorType != "execution" || !strings.HasPrefix(e.Error, `found duplicate series for the match group {pod="train-a-0"}`) {
		t.Errorf("%+v", e)
	}
}

func TestDecodePutsPointsInOrder(t *testing.T) {
	a := mustDecode(t, []byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[3,"3"],[1,"1"],[2,"2"],[1,"9"]]},{"metric":{},"values":[[1,"1"],[2,"2"]]}]}}`))
	if !slices.Equal(a.Series[0].Times, []int64{1000, 2000, 3000}) || !slices.Equal(a.Series[0].Values, []float64{9, 2, 3}) || !rising(a.Series[1].Times) {
		t.Errorf("%+v", a.Series)
	}
}

// An answer that was cut off must never pass for a whole one.
func TestDecodeOfEveryPrefix(t *testing.T) {
	for _, body := range [][]byte{bytes.TrimSpace(fixture(t, "nan_inf.json")), bytes.TrimSpace(fixture(t, "label_values.json")), rangeBody(2, 3)} {
		for n := range len(body) {
			if _, err := decode(windowOn(body[:n]), nil); !errors.Is(err, errTruncated) {
				t.Fatalf("the first %d of %d bytes: %v", n, len(body), err)
			}
		}
	}
}

func TestDecodeRefusesWhatIsNoAnswer(t *testing.T) {
	for body, want := range map[string]string{
		`<html>`:                "byte 0 is '<' where { is expected",
		`[]`:                    "byte 0 is '[' where { is expected",
		`{"status":200}`:        `byte 10 is '2' where " is expected`,
		`{"status":"success"}}`: "byte 20 is '}' where the end is expected",
		`{"data":{"result":[{"metric":{},"values":[[1,2]]}]}}`:              `byte 45 is '2' where " is expected`,
		`{"data":{"result":[{"metric":{},"values":[[1,"x"]]}]}}`:            `byte 48: "x" is not a number: invalid syntax`,
		`{"data":{"result":[{"metric":{},"values":[["1","x"]]}]}}`:          `byte 43: "" is not a time`,
		`{"data":{"result":[{"metric":{},"values":[[1,"1",2]]}]}}`:          "byte 48 is ',' where ] is expected",
		`{"data":{"result":[{"metric":{},"values":[[1,"1e999"]]}]}}`:        `byte 52: "1e999" is not a number: value out of range`,
		`{"data":{"result":[{"metric":{"a":1},"values":[]}]}}`:              `byte 34 is '1' where " is expected`,
		`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`: "nested too deep",
	} {
		if _, err := decode(windowOn([]byte(body)), nil); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", body, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 20 {
		f.Add(randomBody(random))
	}
	f.Add([]byte(`{"data":{"result":[{"metric":{"a":"b\u0041"},"values":[[1793400000.123,"1.5"],[1793400015,"2"]]}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := decode(windowOn(body), nil)
		if err != nil {
			return
		}
		for _, s := range got.Series {
			if len(s.Times) != len(s.Values) || !rising(s.Times) {
				t.Fatalf("%+v", s)
			}
		}
		sameAsOracle(t, body, got)
	})
}
