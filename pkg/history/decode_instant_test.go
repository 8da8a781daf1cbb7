package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sameRows compares an answer in columns with the same in series.
func sameRows(t interface {
	Helper()
	Fatalf(string, ...any)
}, body string) {
	t.Helper()
	series, failed := decode(windowOn([]byte(body)), nil)
	rows, err := decodeInstant(windowOn([]byte(body)))
	if fmt.Sprint(failed) != fmt.Sprint(err) {
		t.Fatalf("%s\nas series: %v\nas columns: %v", body, failed, err)
	}
	if err != nil {
		return
	}
	if rows.Instant == nil {
		if fmt.Sprint(rows) != fmt.Sprint(series) {
			t.Fatalf("%s\nas series: %v\nas columns: %v", body, series, rows)
		}
		return
	}
	if rows.Instant.Len() != len(series.Series) || rows.Histograms != series.Histograms || len(rows.Series) != 0 {
		t.Fatalf("%s: %d rows of %d", body, rows.Instant.Len(), len(series.Series))
	}
	for i, s := range series.Series {
		want := map[string]string{}
		for _, l := range s.Labels.all() {
			if l.Value != "" {
				want[l.Name] = l.Value
			}
		}
		got := rows.Instant.Series(i)
		if !maps.Equal(got.Labels, want) || got.Times[0] != s.Times[0] || math.Float64bits(got.Values[0]) != math.Float64bits(s.Values[0]) {
			t.Fatalf("%s\nrow %d is %v, not %v", body, i, got, s)
		}
	}
}

func TestInstantAsColumns(t *testing.T) {
	for name, result := range map[string]string{
		"nothing":                      `[]`,
		"null":                         `null`,
		"a scalar":                     `[1,"2"]`,
		"a matrix":                     `[{"metric":{"a":"b"},"values":[[1,"2"],[2,"3"]]}]`,
		"a histogram between":          `[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":{"a":"c"},"histogram":[1,{}]},{"metric":{"a":"b"},"value":[2,"2"]}]`,
		"value and histogram":          `[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":{"a":"c"},"value":[3,"2"],"histogram":[1,{}]},{"metric":{"a":"b"},"value":[1,"2"]}]`,
		"the value first":              `[{"metric":{"a":"b"},"value":[1,"2"]},{"value":[1,"2"],"metric":{"a":"b"}}]`,
		"a text that escapes":          `[{"metric":{"a":"x\\\\b"},"value":[1,"2"]},{"metric":{"a":"x\\b"},"value":[1,"2"]},{"metric":{"a":"x\\\\b"},"value":[1,"2"]}]`,
		"no labels":                    `[{"metric":{},"value":[1,"2"]},{"metric":{},"value":[1,"3"]}]`,
		"two results, the last counts": `[{"metric":{"a":"b"},"value":[1,"2"]}],"result":[{"metric":{"a":"c"},"value":[1,"2"]}]`,
		"cut off":                      `[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":{"a":"b"},"val`,
		"no number":                    `[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":{"a":"b"},"value":[1,"x"]}]`,
		"no time":                      `[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":{"a":"b"},"value":[-,"2"]}]`,
		"NaN":                          `[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":{"a":"c"},"value":[1,"NaN"]},{"metric":{"a":"d"},"value":[1,"1e-5"]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			sameRows(t, `{"status":"success","data":{"resultType":"vector","result":`+result+`}}`)
		})
	}
}

func TestInstantAsColumnsIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "b", "GPU-0", "x\\b", `say "x"`, "µ", "a\x00b"}), rapid.String())
		names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.SampledFrom([]string{"__name__", "gpu", "node"}), text), 1, 5, rapid.ID)
		sets := rapid.SliceOfN(names, 1, 3).Draw(t, "names")
		times := rapid.SampledFrom([]string{"1793400000", "1793400000.123", "1793400015", "1"})
		values := rapid.SampledFrom([]string{"0", "1", "-3.5", "NaN", "+Inf", "1e-7", "0.12345678901234567"})
		var rows []string
		for range rapid.IntRange(0, 90).Draw(t, "rows") {
			var labels []string
			for _, name := range rapid.SampledFrom(sets).Draw(t, "set") {
				labels = append(labels, quoted(t, name)+":"+quoted(t, text.Draw(t, "value")))
			}
			row := fmt.Sprintf(`{"metric":{%s},"value":[%s,"%s"]}`, strings.Join(labels, ","), times.Draw(t, "time"), values.Draw(t, "value"))
			if rapid.IntRange(0, 20).Draw(t, "spaced") == 0 {
				row = strings.ReplaceAll(row, "],", "] ,")
			}
			rows = append(rows, row)
		}
		sameRows(t, `{"status":"success","data":{"resultType":"vector","result":[`+strings.Join(rows, ",")+`]}}`)
	})
}

func quoted(t *rapid.T, text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
