package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// windowOn is a window on an answer that is in memory.
func windowOn(body []byte) *textWindow {
	return &textWindow{from: bytes.NewReader(body), reading: &budget{}}
}

// smallWindow is one that begins with very little room, so that it is moved again and again.
func smallWindow(from io.Reader, room int) *textWindow {
	memory := make([]byte, room)
	return &textWindow{from: from, reading: &budget{}, room: &memory}
}

// plainSeries is all that an answer says, in a form that can be compared.
func plainSeries(a *answer) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%q %q %q %q %q %q %v %v %d\n", a.Status, a.ErrorType, a.Error, a.ResultType, a.Warnings, a.Infos, a.found, a.Partial, a.Histograms)
	for _, s := range a.Series {
		fmt.Fprintln(&out, s.Labels.all(), s.Times, s.Values)
	}
	if a.Instant != nil {
		for i := range a.Instant.Values {
			for _, c := range a.Instant.Labels {
				fmt.Fprintf(&out, "%s=%q ", c.Name, c.Texts[c.Codes[i]])
			}
			fmt.Fprintln(&out, a.Instant.Times[i], a.Instant.Values[i])
		}
	}
	return out.String()
}

// However little of an answer is in memory at once, and wherever it is cut, it says the same.
func TestDecodeInWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		body := randomBody(random)
		switch rapid.SampledFrom([]string{"random", "like exporters", "columns", "one pair"}).Draw(t, "kind") {
		case "like exporters":
			body = rangeBody(rapid.IntRange(0, 30).Draw(t, "series"), rapid.IntRange(0, 20).Draw(t, "points"))
		case "columns":
			body = instantBody(rapid.IntRange(0, 200).Draw(t, "rows"))
		case "one pair":
			kind := rapid.SampledFrom([]string{"scalar", "string"}).Draw(t, "of")
			body = []byte(` {"status":"success","data":{"result": [ 17.5 , "4"],"resultType":"` + kind + `"},"isPartial":true,"infos":["i"]} `)
		}
		if rapid.IntRange(0, 9).Draw(t, "broken") == 0 {
			body = body[:rapid.IntRange(0, len(body)).Draw(t, "end")]
		}
		room := rapid.IntRange(1, len(body)+10).Draw(t, "room")
		open := func(small bool) *textWindow {
			if !small {
				return windowOn(body)
			}
			var from io.Reader = bytes.NewReader(body)
			if rapid.Bool().Draw(t, "byte by byte") {
				from = iotest.OneByteReader(from)
			}
			return smallWindow(from, room)
		}
		for name, read := range map[string]func(*textWindow) (*answer, error){
			"series": func(w *textWindow) (*answer, error) { return decode(w, nil) },
			"shared": func(w *textWindow) (*answer, error) { return decode(w, &cardfile{cards: map[string]*card{}}) },
			"rows":   decodeInstant,
		} {
			want, wantErr := read(open(false))
			got, err := read(open(true))
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%s in a window of %d: got %v, want %v\n%s", name, room, err, wantErr, body)
			}
			if err != nil {
				continue
			}
			if diff := cmp.Diff(plainSeries(want), plainSeries(got)); diff != "" {
				t.Fatalf("%s in a window of %d: %s\n%s", name, room, diff, body)
			}
		}
	})
}

// Lists of label sets are read in windows as well.
func TestDecodeSetsInWindows(t *testing.T) {
	sets := make([]map[string]string, 50)
	for i := range sets {
		sets[i] = map[string]string{"__name__": []string{"a", "b"}[i%2], "gpu": fmt.Sprint(i / 2), "Größe": "\"\n"}
	}
	body, err := json.Marshal(map[string]any{"status": "success", "data": sets, "warnings": []string{"w"}})
	if err != nil {
		t.Fatal(err)
	}
	var lists []string
	for room := 1; room <= len(body)+1; room++ {
		var list []string
		status, _, _, err := decodeSets(smallWindow(bytes.NewReader(body), room), &cardfile{cards: map[string]*card{}}, func(l labelSet) {
			list = append(list, fmt.Sprint(l.all()))
		})
		if err != nil || status != "success" || len(list) != len(sets) {
			t.Fatalf("in a window of %d: %d sets, %q, %v", room, len(list), status, err)
		}
		if lists = append(lists, strings.Join(list, "\n")); lists[0] != lists[len(lists)-1] {
			t.Fatalf("in a window of %d: got\n%s\nwant\n%s", room, lists[len(lists)-1], lists[0])
		}
	}
}

// An answer of any length takes little more memory than what is made of it.
func TestDecodeTakesAWindow(t *testing.T) {
	const series = 20_000
	head, tail := `{"status":"success","data":{"resultType":"vector","result":[`, `{"metric":{},"value":[1,"1"]}]}}`
	element := `{"metric":{},"histogram":[1,{"count":"` + strings.Repeat("1", 1000) + `"}]},`
	w := &textWindow{from: io.MultiReader(strings.NewReader(head), strings.NewReader(strings.Repeat(element, series)), strings.NewReader(tail)), reading: &budget{}}
	a, err := decode(w, nil)
	if err != nil || a.Histograms != series || len(a.Series) != 1 {
		t.Fatalf("got %+v, %v", a, err)
	}
	if room := len(*w.room); room > piece {
		t.Errorf("the window is %d bytes large", room)
	}
	if begin := string(w.begin()); !strings.HasPrefix(begin, head) || len(begin) > startKept {
		t.Errorf("of its beginning is left %q", begin)
	}
}

// What went wrong with a text is told as it was, however much of it was read.
func TestDecodeOfTextsThatFail(t *testing.T) {
	broken := errors.New("the line is down")
	body := rangeBody(10, 10)
	for n := range len(body) {
		_, err := decode(smallWindow(io.MultiReader(bytes.NewReader(body[:n]), iotest.ErrReader(broken)), 64), nil)
		if !errors.Is(err, broken) {
			t.Fatalf("after %d bytes: got %v", n, err)
		}
	}
}
