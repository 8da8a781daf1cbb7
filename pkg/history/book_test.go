package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// plainOf is an answer's series in a form that can be compared.
func plainOf(a *answer) []string {
	out := make([]string, len(a.Series))
	for i, s := range a.Series {
		labels := slices.Clone(s.Labels.all())
		slices.SortStableFunc(labels, compareNames)
		out[i] = fmt.Sprint(labels, s.Times, s.Values)
	}
	return out
}

func TestSharedLabelsAreThoseOfTheBody(t *testing.T) {
	names := []string{"A", "Hostname", "UUID", "__name__", "a", "pod", tag, "z"}
	values := []string{"", "x", "y", `a\"b`, `\u00e4`, "ä", `\\`, "GPU-1"}
	rapid.Check(t, func(t *rapid.T) {
		file := &cardfile{cards: map[string]*card{}}
		for range rapid.IntRange(1, 4).Draw(t, "answers") {
			var series []string
			for range rapid.IntRange(0, 6).Draw(t, "series") {
				var labels []string
				for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 5, rapid.ID).Draw(t, "names") {
					labels = append(labels, fmt.Sprintf(`"%s":"%s"`, name, rapid.SampledFrom(values).Draw(t, name)))
				}
				if rapid.Bool().Draw(t, "sorted") {
					slices.Sort(labels)
				}
				space := rapid.SampledFrom([]string{"", "", "", " "}).Draw(t, "space")
				series = append(series, `{"metric":{`+space+strings.Join(labels, ","+space)+`},"values":[[1,"2"]]}`)
			}
			body := []byte(`{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(series, ",") + `]}}`)
			want, err := decode(windowOn(body), nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				got, err := decode(windowOn(body), file)
				if err != nil || !slices.Equal(plainOf(got), plainOf(want)) {
					t.Fatalf("%s\n%v\n got %q\nwant %q", body, err, plainOf(got), plainOf(want))
				}
				for i := range got.Series {
					ours, theirs := got.Series[i].Labels, want.Series[i].Labels
					if ours.len() != theirs.len() {
						t.Fatalf("%d labels of %d", ours.len(), theirs.len())
					}
					for _, name := range names {
						if ours.Get(name) != theirs.Get(name) {
							t.Fatalf("%s is %q, want %q", name, ours.Get(name), theirs.Get(name))
						}
					}
				}
			}
		}
	})
}

// What two metrics say of the same device is kept once.
func TestLabelsAreSharedByAnswers(t *testing.T) {
	file := &cardfile{cards: map[string]*card{}}
	answerOf := func(before, after string) *answer {
		var series []string
		for i := range 3 {
			series = append(series, fmt.Sprintf(`{"metric":{"UUID":"GPU-%d",%s"gpu":"%d"%s},"values":[[1,"2"]]}`, i, before, i, after))
		}
		a, err := decode(windowOn([]byte(`{"status":"success","data":{"resultType":"matrix","result":[`+strings.Join(series, ",")+`]}}`)), file)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	named, tagged := answerOf(`"__name__":"a",`, ""), answerOf("", `,"`+tag+`":"b"`)
	for i := range 3 {
		if shared := named.Series[i].Labels.shared; shared == nil || shared != tagged.Series[i].Labels.shared {
			t.Errorf("series %d: %p and %p", i, shared, tagged.Series[i].Labels.shared)
		}
		if got := tagged.Series[i].Labels.Get(tag); got != "b" {
			t.Errorf("the tag is %q", got)
		}
	}
	if len(file.cards) != 3 {
		t.Errorf("%d cards", len(file.cards))
	}
}

// Whatever is said in whatever order, a roll knows what a roster of its own would, and leaves the one it goes on from alone.
func TestRollIsARoster(t *testing.T) {
	said := func(node, model, instance string, index int) catalog.Identified {
		return catalog.Identified{Device: gpu.Device{
			Identity: gpu.Identity{Node: node, UUID: "GPU-1", GPUInstance: instance}, Index: index, Model: model,
		}, NodeLabel: "host"}
	}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		next := func() (catalog.Identified, int) {
			return said([]string{"", "n1", "n2"}[random.IntN(3)], []string{"", "H100", "H200"}[random.IntN(3)],
				[]string{"", "1", "2"}[random.IntN(3)], random.IntN(3)-1), random.IntN(3)
		}
		base, whole := roster{}, roster{}
		for range random.IntN(5) {
			id, rank := next()
			base.add(id, rank)
			whole.add(id, rank)
		}
		before := map[deviceKey]resident{}
		for key, known := range base {
			before[key] = *known
		}
		own, other := roll{base: base}, roll{}
		otherWhole := roster{}
		for range random.IntN(6) {
			id, rank := next()
			b := &bearer{id: id, key: keyOf(id.Device)}
			for range 2 {
				own.add(b, rank)
				whole.add(id, rank)
			}
			id, rank = next()
			other.add(&bearer{id: id, key: keyOf(id.Device)}, rank)
			otherWhole.add(id, rank)
		}
		own.take(other)
		whole.take(otherWhole)
		own.complete()
		whole.complete()
		got := map[deviceKey]gpu.Device{}
		for key, known := range own.all() {
			got[key] = known.device
		}
		want := map[deviceKey]gpu.Device{}
		for key, known := range whole {
			want[key] = known.device
		}
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d:\n got %v\nwant %v", seed, got, want)
		}
		for key, known := range base {
			was := before[key]
			if known.device != was.device || known.rank != was.rank || !slices.Equal(known.hosts, was.hosts) {
				t.Fatalf("seed %d: the base was changed", seed)
			}
		}
	}
}

// Of one label set there is one text without a label, wherever its labels are kept and in whatever order they came.
func TestTextOfALabelSetWithoutOne(t *testing.T) {
	for _, body := range []string{
		`{"__name__":"up","gpu":"0","name":"Größe \u2028"}`, `{"__name__":"up","gpu":"0","name":"a\"b"}`, `{"__name__":"up","gpu":"0","name":"H100"}`, `{"__name__":"up"}`, `{"gpu":"1"}`,
	} {
		text := []byte(`{"status":"success","data":{"result":[{"metric":` + body + `,"value":[1,"1"]}]}}`)
		shared, err := decode(windowOn(text), &cardfile{cards: map[string]*card{}})
		if err != nil {
			t.Fatal(err)
		}
		own, err := decode(windowOn(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		turned := labelSet{own: slices.Clone(own.Series[0].Labels.own)}
		slices.Reverse(turned.own)
		want := own.Series[0].Labels.textWithout("__name__")
		for _, labels := range []labelSet{shared.Series[0].Labels, turned} {
			if got := labels.textWithout("__name__"); got != want || strings.Contains(got, "__name__") {
				t.Errorf("%s: got %s, want %s", body, got, want)
			}
		}
	}
}
