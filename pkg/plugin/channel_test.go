package plugin

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
	"github.com/warpwatch/warpwatch/pkg/timeline"
)

func sampleChannel(t testing.TB) channel {
	t.Helper()
	q, err := query.Parse(json.RawMessage(metricQuery(`"legend":"<b>{{node}}</b> & größe"`, `"nodes":["b","a","a"]`)), "metric")
	if err != nil {
		t.Fatal(err)
	}
	device := func(node, uuid, mig string) timeline.Field {
		d := gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: node, UUID: uuid, GPUInstance: mig}, Index: 3, Model: `NVIDIA "H200"`}
		if mig != "" {
			d.MIGProfile, d.ComputeInstance, d.MIGEnabled = "1g.10gb+me", "0", true
		}
		return timeline.Field{Device: d}
	}
	c := channel{Query: q.Canonical()}.with([]timeline.Field{device("n1", "GPU-a", ""), device("n1", "GPU-b", "7"), device("n2", "GPU-c", "")})
	c.StepMs, c.PeriodMs, c.IntervalMs, c.RangeMs, c.Clusters = 1000, 1000, 15_000, 900_000, true
	return c
}

// A channel survives the way through a browser, whatever that does to the order of keys and to escapes.
func TestChannelRoundTrip(t *testing.T) {
	c := sampleChannel(t)
	raw, path, err := c.encode()
	if err != nil {
		t.Fatal(err)
	}
	var loose any
	if err := json.Unmarshal(raw, &loose); err != nil {
		t.Fatal(err)
	}
	shuffled, err := json.Marshal(loose)
	if err != nil {
		t.Fatal(err)
	}
	for name, sent := range map[string][]byte{"as it was": raw, "shuffled and escaped": shuffled} {
		got, q, err := parseChannel(path, sent)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(got.fields(), c.fields()) || got.width() != 3 || q.Legend != "<b>{{node}}</b> & größe" {
			t.Errorf("%s: %+v, %q", name, got.fields(), q.Legend)
		}
	}
}

// Whatever is sent as a channel's data ends in a refusal, or in the channel of the path.
func FuzzParseChannel(f *testing.F) {
	raw, path, err := sampleChannel(f).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(path, raw)
	for _, text := range []string{`null`, `{}`, `{"nodes":[{"devices":[[]]}]}`, `{"nodes":[{"devices":[null]}]}`, `{"query":{"queryType":"promql","expr":"up"}}`, `{"groups":[null]}`} {
		f.Add(path, []byte(text))
	}
	f.Fuzz(func(t *testing.T, path string, raw []byte) {
		c, _, err := parseChannel(path, raw)
		if err != nil {
			return
		}
		if _, own, err := c.encode(); err != nil || own != path {
			t.Errorf("accepted for %q, is of %q", path, own)
		}
		if len(c.fields()) != c.width() {
			t.Errorf("%d fields, width %d", len(c.fields()), c.width())
		}
	})
}

func TestHandovers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		h, now := f.handovers, f.now()
		h.put("q/1", 7, now)
		if row, ok := h.get("q/1", now.Add(handoverAge)); !ok || row != 7 {
			t.Errorf("%d, %v", row, ok)
		}
		if _, ok := h.get("q/1", now.Add(handoverAge+1)); ok {
			t.Error("too old")
		}
		for range maxHandovers + 10 {
			h.put(string(rune(len(h.at))), 1, now)
		}
		if len(h.at) != maxHandovers {
			t.Errorf("%d are remembered", len(h.at))
		}
		h.put("q/2", 8, now.Add(2*handoverAge))
		if len(h.at) != 1 {
			t.Errorf("%d are remembered after a while", len(h.at))
		}
	})
}
