package frames

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// instantOf draws an instant, whose texts may be in their column twice.
func instantOf(t *rapid.T) *gpu.Instant {
	rows := rapid.IntRange(0, 40).Draw(t, "rows")
	in := &gpu.Instant{}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"__name__", "gpu", "node", "cluster", "a", "b", "model", "z"}), 0, 5, rapid.ID).Draw(t, "names")
	for _, name := range names {
		texts := append([]string{""}, rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "10", "2", "x", "µ"}), 1, 200).Draw(t, "texts")...)
		column := gpu.LabelColumn{Name: name, Texts: texts, Codes: make([]uint32, rows)}
		for i := range column.Codes {
			column.Codes[i] = uint32(rapid.IntRange(0, len(texts)-1).Draw(t, "code"))
		}
		in.Labels = append(in.Labels, column)
	}
	for i := range rows {
		in.Times = append(in.Times, 1000)
		in.Values = append(in.Values, rapid.SampledFrom([]float64{float64(i), math.NaN(), math.Inf(1)}).Draw(t, "value"))
	}
	return in
}

func TestRowsAreTheSameAsSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := instantOf(t)
		codes := make([][]uint32, len(in.Labels))
		for i, c := range in.Labels {
			codes[i] = slices.Clone(c.Codes)
		}
		series := make([]gpu.Series, in.Len())
		for i := range series {
			series[i] = in.Series(i)
		}
		Sort(series)
		rows := SortInstant(in)
		o := Options{Metric: "x", Unit: gpu.Watts, Naming: NamingFor(series, rapid.SampledFrom([]string{"", "{{node}}"}).Draw(t, "legend"))}
		want, err := json.Marshal(Latest(series, o))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(rows.Latest(o))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Fatalf("%s\nis not\n%s", got, want)
		}
		if got, want := rows.Silent(o.Naming), Silent(series, o.Naming); !slices.Equal(got, want) {
			t.Fatalf("%v is not %v", got, want)
		}
		for i, c := range in.Labels {
			if !slices.Equal(codes[i], c.Codes) {
				t.Fatal("the instant was written to")
			}
		}
	})
}

func TestRowsLimit(t *testing.T) {
	in := &gpu.Instant{Times: make([]int64, MaxLatest+1), Values: make([]float64, MaxLatest+1)}
	frame := SortInstant(in).Latest(Options{})
	if rows := frame.Rows(); rows != MaxLatest || len(frame.Meta.Notices) != 1 {
		t.Errorf("%d rows and %v", rows, frame.Meta.Notices)
	}
	if rows := SortInstant(in).Latest(Options{Complete: true}).Rows(); rows != MaxLatest+1 {
		t.Errorf("%d rows of a complete table", rows)
	}
}
