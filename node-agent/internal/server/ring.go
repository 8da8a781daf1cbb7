package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

const (
	defaultSince = time.Minute
	maxSince     = time.Hour
	// maxPoints bounds an answer out of the ring.
	maxPoints = 200_000
)

type ringJSON struct {
	Epoch  string        `json:"epoch"`
	Metric string        `json:"metric"`
	Unit   string        `json:"unit"`
	Kind   string        `json:"kind"`
	Series []*seriesJSON `json:"series"`
}

type seriesJSON struct {
	UUID            string `json:"uuid"`
	Index           int    `json:"index"`
	GPUInstance     string `json:"gpuInstance,omitempty"`
	ComputeInstance string `json:"computeInstance,omitempty"`
	Label           string `json:"label,omitempty"`
	LabelValue      string `json:"labelValue,omitempty"`
	// Points are [Unix milliseconds, value], null for a reading that was not taken.
	Points json.RawMessage `json:"points"`
}

// ring answers what one metric was in the newest part of the past that is kept.
func (s *Server) ring(w http.ResponseWriter, r *http.Request) {
	metric := r.URL.Query().Get("metric")
	since, err := sinceOf(r.URL.Query().Get("since"))
	if metric == "" {
		err = fmt.Errorf("metric= must name one of the agent's metrics, like metric=gpu_power_watts")
	}
	if err != nil {
		text(w, http.StatusBadRequest, err.Error())
		return
	}
	answer := ringJSON{Epoch: s.o.Node.Epoch, Metric: metric, Series: []*seriesJSON{}}
	byPlace := map[place]*seriesJSON{}
	var columns []int
	points := 0
	var of *snapshot.Schema
	err = s.o.Store.Each(s.o.Store.Since(uint64(since.Milliseconds())), func(f *snapshot.Frame) bool {
		if of != f.Schema {
			of, columns = f.Schema, columns[:0]
			for j, c := range f.Schema.Columns {
				if c.Row.Name == metric {
					columns = append(columns, j)
					answer.Unit, answer.Kind = string(c.Row.Unit), string(c.Row.Kind)
				}
			}
		}
		if points += len(columns); points > maxPoints {
			return false
		}
		for _, j := range columns {
			c := f.Schema.Columns[j]
			at := placeOf(f.Schema.Devices[c.Device], variantOf(c.Metric))
			if byPlace[at] == nil {
				byPlace[at] = newSeries(f.Schema.Devices[c.Device], c.Metric)
				answer.Series = append(answer.Series, byPlace[at])
			}
			byPlace[at].add(f.Time, f.Readings[j])
		}
		return true
	})
	switch {
	case err != nil:
		text(w, http.StatusInternalServerError, err.Error())
		return
	case points > maxPoints:
		text(w, http.StatusBadRequest, fmt.Sprintf("these are more than %d points: ask for less of the past with since=", maxPoints))
		return
	case len(answer.Series) == 0 && of != nil:
		text(w, http.StatusNotFound, fmt.Sprintf("no metric %.80q was measured: see docs/user/agent-metrics.md for their names", metric))
		return
	}
	for _, of := range answer.Series {
		of.Points = append(of.Points, ']')
	}
	body, err := json.Marshal(answer)
	if err != nil {
		text(w, http.StatusInternalServerError, fmt.Sprintf("write the ring: %v", err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n'))
}

// newSeries is that of a device's metric, without points.
func newSeries(d gpu.Device, m device.Metric) *seriesJSON {
	label, variant := m.Label()
	return &seriesJSON{
		UUID: d.UUID, Index: d.Index, GPUInstance: d.GPUInstance, ComputeInstance: d.ComputeInstance,
		Label: label, LabelValue: variant, Points: json.RawMessage{'['},
	}
}

// add adds a point.
func (s *seriesJSON) add(at time.Time, v gpu.Reading) {
	if len(s.Points) > 1 {
		s.Points = append(s.Points, ',')
	}
	s.Points = strconv.AppendInt(append(s.Points, '['), at.UnixMilli(), 10)
	if v.OK() {
		s.Points = strconv.AppendFloat(append(s.Points, ','), v.Value, 'g', -1, 64)
	} else {
		s.Points = append(s.Points, ",null"...)
	}
	s.Points = append(s.Points, ']')
}

func variantOf(m device.Metric) string {
	_, variant := m.Label()
	return variant
}

// sinceOf is how much of the past is asked for.
func sinceOf(text string) (time.Duration, error) {
	if text == "" {
		return defaultSince, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond || d > maxSince {
		return 0, fmt.Errorf("since=%.40q: must be like 30s or 5m, up to %s", text, maxSince)
	}
	return d, nil
}
