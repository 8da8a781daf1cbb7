package plugin

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/live/agenttest"
)

// instances are the second board of two, split into as many MIG instances, after the first one whole.
func instances(n int) []gpu.Device {
	all := agenttest.Devices("n1", 2)
	whole := all[1]
	all = append(all[:1:1], whole)
	all[1].MIGEnabled = true
	for i := range n {
		d := whole
		d.GPUInstance, d.ComputeInstance = fmt.Sprint(i+1), "0"
		d.MIGProfile, d.MIGEnabled = fmt.Sprintf("%dg", 4/n), true
		all = append(all, d)
	}
	return all
}

// remodelled is an agent whose second GPU is split, split otherwise, and made whole again, with a GPU more and then one less.
func remodelled(t *testing.T, f *fleet) (next func()) {
	t.Helper()
	a := agenttest.New(t, agenttest.Options{Network: f.network, Cluster: "north", Node: "n1"})
	f.use(a)
	stages := [][]gpu.Device{
		agenttest.Devices("n1", 2), instances(2), instances(4), agenttest.Devices("n1", 3), agenttest.Devices("n1", 1),
	}
	current := stages[0]
	watts := func() []gpu.Reading {
		values := make([]gpu.Reading, len(current))
		for i, d := range current {
			switch {
			case d.IsMIG():
				values[i] = gpu.Read(10)
			default:
				values[i] = gpu.Read(100)
			}
		}
		return values
	}
	return func() {
		if len(stages) > 0 {
			current, stages = stages[0], stages[1:]
			a.ChangeDevices(current)
		}
		for range 5 {
			a.Tick(watts()...)
			time.Sleep(time.Second)
		}
	}
}

// stagesOf runs a stream while its node is remodelled, and gives the rows of each of the five stages, the last of each.
func stagesOf(t *testing.T, q string, watch func(t *testing.T, f *fleet, next func())) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		f := newFleet(t)
		next := remodelled(t, f)
		f.frames(t, 5*time.Minute, q) // connects
		next()
		watch(t, f, next)
	})
}

func settled(values []*float64) []float64 {
	var all []float64
	for _, v := range values {
		if v == nil {
			all = append(all, math.NaN())
		} else {
			all = append(all, *v)
		}
	}
	return all
}

// A line for each device: new instances get columns at the end, and those that are gone end in nulls.
func TestLinesOfARemodelledNode(t *testing.T) {
	stagesOf(t, metricQuery(), func(t *testing.T, f *fleet, next func()) {
		answer := f.frames(t, 5*time.Minute, metricQuery())
		path, raw := channelOf(t, answer[0])
		received, stop := f.runStream(t, path, raw)
		var last []string
		for range 4 {
			next()
			all := received.snapshot()
			row := []string{}
			for _, column := range all[len(all)-1].Data.Values[1:] {
				v := "–"
				if end := column[len(column)-1]; end != nil {
					v = fmt.Sprint(*end)
				}
				row = append(row, v)
			}
			last = append(last, fmt.Sprint(row))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		want := []string{"[100 100 10 10]", "[100 100 10 10 10 10]", "[100 100 – – – – 100]", "[100 – – – – – –]"}
		if !slices.Equal(last, want) {
			t.Errorf("got %q, want %q", last, want)
		}
		width := 3
		for _, p := range received.snapshot() {
			if p.Schema != nil {
				width = len(p.Schema.Fields)
			}
			if len(p.Data.Values) != width {
				t.Errorf("%d columns after a schema of %d", len(p.Data.Values), width)
			}
		}
	})
}

// Groups and bands count the devices there are, an instance not beside its board.
func TestGroupsOfARemodelledNode(t *testing.T) {
	for name, test := range map[string]struct {
		query  string
		column int
		want   []float64
	}{
		"sum by node":     {metricQuery(`"aggregateBy":"node"`, `"aggregation":"sum"`), 0, []float64{200, 200, 300, 100}},
		"average by node": {metricQuery(`"aggregateBy":"node"`, `"aggregation":"avg"`), 0, []float64{100, 100, 100, 100}},
		"bands":           {metricQuery(`"reduce":{"mode":"bands"}`), 7, []float64{4, 6, 3, 1}},
	} {
		stagesOf(t, test.query, func(t *testing.T, f *fleet, next func()) {
			path, raw := channelOf(t, f.frames(t, 5*time.Minute, test.query)[0])
			received, stop := f.runStream(t, path, raw)
			var got []float64
			for range 4 {
				next()
				_, values := received.rows(test.column)
				got = append(got, settled(values)[len(values)-1])
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: got %v, want %v", name, got, test.want)
			}
			times, _ := received.rows(test.column)
			for i := 1; i < len(times); i++ {
				if times[i] != times[i-1]+1000 {
					t.Errorf("%s: a row at %d after %d", name, times[i], times[i-1])
				}
			}
		})
	}
}

// A matrix has a cell for each device there ever was, and those that are gone are absent.
func TestMatrixOfARemodelledNode(t *testing.T) {
	stagesOf(t, metricQuery(matrixQuery), func(t *testing.T, f *fleet, next func()) {
		answer := f.frames(t, 5*time.Minute, metricQuery(matrixQuery))
		path, raw := channelOf(t, answer[0])
		got := f.runCells(t, path, raw, func() {
			for range 7 {
				next()
			}
			time.Sleep(30 * time.Second)
		})
		full := false // whether the first board was there with places for the others
		for _, p := range got {
			full = full || len(p.values) == 7 && p.values[0] == 100
			for _, v := range p.values {
				if !math.IsNaN(v) && (v < 9.9 || v > 100.1) {
					t.Errorf("a cell is %v", v)
				}
			}
		}
		if last := got[len(got)-1]; !full || len(last.values) != 7 || last.absent != 7 || last.stale == 0 {
			t.Errorf("at the end %+v; full: %v", last, full)
		}
	})
}

// Tables have a row for each device and instance there is.
func TestInventoryOfARemodelledNode(t *testing.T) {
	q := `{"queryType":"inventory"}`
	stagesOf(t, q, func(t *testing.T, f *fleet, next func()) {
		path, raw := channelOf(t, f.frames(t, time.Hour, q)[0])
		got := &tables{}
		stop := f.runTable(t, path, raw, got)
		var rows []int
		for range 4 {
			next()
			all := got.snapshot()
			rows = append(rows, all[len(all)-1].frame.Rows())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if want := []int{4, 6, 3, 1}; !slices.Equal(rows, want) {
			t.Errorf("got %v rows, want %v", rows, want)
		}
	})
}
