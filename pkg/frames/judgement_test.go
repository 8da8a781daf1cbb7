package frames_test

import (
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"

	"github.com/warpwatch/warpwatch/pkg/frames"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func TestStates(t *testing.T) {
	device := gpu.Device{Identity: gpu.Identity{Cluster: "north", Node: "n1", UUID: "GPU-1"}, Index: 0}
	shown := map[string]frames.State{"idle": {Text: "idle", Colour: "grey"}}
	frame := frames.States("x", []int64{0, 1000, 2000}, []frames.StateLine{
		{Device: device, States: []string{"idle", "", "idle", "too many"}}, {Name: "job j", Labels: map[string]string{"job": "j"}},
	}, shown, frames.Options{Naming: frames.Naming{Clusters: true}, Step: time.Second})
	if frame.Rows() != 3 || len(frame.Fields) != 3 || frame.Meta.Type != data.FrameTypeTable {
		t.Fatalf("%d rows, %d fields, %+v", frame.Rows(), len(frame.Fields), frame.Meta)
	}
	one, job := frame.Fields[1], frame.Fields[2]
	if one.Config.DisplayNameFromDS != "north · n1 · GPU 0" || one.Labels["gpu_uuid"] != "GPU-1" || job.Config.DisplayNameFromDS != "job j" || job.Labels["job"] != "j" {
		t.Errorf("%q %v, %q %v", one.Config.DisplayNameFromDS, one.Labels, job.Config.DisplayNameFromDS, job.Labels)
	}
	for i, want := range []string{"idle", "", "idle"} {
		if got := one.At(i).(*string); (got == nil) != (want == "") || got != nil && *got != want {
			t.Errorf("row %d: %v", i, got)
		}
		if job.At(i).(*string) != nil {
			t.Errorf("row %d of the job is known", i)
		}
	}
	if mapped := one.Config.Mappings[0].(data.ValueMapper)["idle"]; mapped.Color != "grey" {
		t.Errorf("mapped %+v", mapped)
	}
}

func TestSheet(t *testing.T) {
	s := frames.SheetOf([]string{"a", "b"})
	s.Text("name", func(r string) string { return r }).Coloured(map[string]string{"a": "red"}).Linked("Open", "/x/${__value.raw}").Described("who").Hidden()
	s.Number("n", gpu.Ratio, "", func(r string) gpu.Reading {
		if r == "a" {
			return gpu.Absent(gpu.NoData)
		}
		return gpu.Read(0.5)
	})
	table := s.Table("t", frames.Options{})
	config := table.Fields[0].Config
	if table.Rows() != 2 || len(config.Mappings) != 1 || len(config.Links) != 1 || config.Description != "who" || config.Custom["hidden"] != true {
		t.Errorf("%+v", config)
	}
	if table.Fields[1].At(0).(*float64) != nil || *table.Fields[1].At(1).(*float64) != 0.5 {
		t.Error("numbers")
	}
	got := s.Numbers("t", frames.Options{})
	if got.Meta.Type != data.FrameTypeNumericLong || len(got.Fields) != 2 || len(got.Meta.Notices) != 0 {
		t.Fatalf("%+v", got.Meta)
	}
	// What is not known is no number that a rule could compare.
	if got.Rows() != 1 || got.Fields[0].At(0) != "b" || *got.Fields[1].At(0).(*float64) != 0.5 || got.Fields[1].Config.Unit != "percentunit" || table.Rows() != 2 {
		t.Errorf("rules read %v of %d rows", got.Fields[0].At(0), got.Rows())
	}
	none := frames.SheetOf([]string{"a", "b"})
	none.Text("name", func(r string) string { return r })
	none.Number("cost", gpu.Count, "", func(string) gpu.Reading { return gpu.Absent(gpu.NoData) })
	if got := none.Numbers("t", frames.Options{}); len(got.Fields) != 0 || len(got.Meta.Notices) != 1 ||
		got.Meta.Notices[0].Text != "There is no number to read: cost is not known of any of 2 rows." {
		t.Errorf("%d fields, %+v", len(got.Fields), got.Meta.Notices)
	}
	if got := frames.SheetOf([]string(nil)).Numbers("t", frames.Options{}); len(got.Fields) != 0 {
		t.Errorf("%d fields of nothing", len(got.Fields))
	}
}
