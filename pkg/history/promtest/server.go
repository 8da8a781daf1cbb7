package promtest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
)

// Serve serves the store on loopback until the test ends, and returns the URL.
func Serve(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// ServeHTTP answers /api/v1/query, query_range, label values of __name__, labels, series, metadata and
// the build info.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		refuse(w, err)
		return
	}
	s.note(r.Method + " " + r.URL.Path + " " + r.Form.Get("query"))
	s.mu.RLock()
	defer s.mu.RUnlock()
	var data any
	var err error
	switch r.URL.Path {
	case "/api/v1/query":
		data, err = s.instant(r)
	case "/api/v1/query_range":
		data, err = s.over(r)
	case "/api/v1/label/__name__/values":
		data, err = s.names(r, func(labels map[string]string, add func(string)) { add(labels["__name__"]) })
	case "/api/v1/labels":
		data, err = s.names(r, func(labels map[string]string, add func(string)) {
			for name := range labels {
				add(name)
			}
		})
	case "/api/v1/series":
		data, err = s.between(r)
	case "/api/v1/metadata":
		data = s.meanings()
	case "/api/v1/targets/metadata":
		data = s.declared(r.Form.Get("metric"))
	case "/api/v1/status/buildinfo":
		data = map[string]string{"version": "3.9.1", "revision": "test", "goVersion": "go1.26"}
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data}); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	if err := json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": "bad_data", "error": err.Error()}); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (s *Store) instant(r *http.Request) (any, error) {
	n, err := parse(r.Form.Get("query"))
	if err != nil {
		return nil, err
	}
	t := s.newest()
	if text := r.Form.Get("time"); text != "" {
		if t, err = milliseconds(text); err != nil {
			return nil, err
		}
	}
	samples, err := n.eval(s, t)
	if err != nil {
		return nil, err
	}
	result := make([]any, 0, len(samples))
	for _, one := range sorted(samples) {
		result = append(result, map[string]any{"metric": one.labels, "value": []any{float64(t) / 1000, format(one.value)}})
	}
	return map[string]any{"resultType": "vector", "result": result}, nil
}

// newest is "now" of a store: the time of its last point.
func (s *Store) newest() int64 {
	t := int64(1793400000000)
	for _, one := range s.series {
		if n := len(one.points); n > 0 && !one.constant {
			t = max(t, one.points[n-1].Time)
		}
	}
	return t
}

func (s *Store) over(r *http.Request) (any, error) {
	n, err := parse(r.Form.Get("query"))
	if err != nil {
		return nil, err
	}
	start, err1 := milliseconds(r.Form.Get("start"))
	end, err2 := milliseconds(r.Form.Get("end"))
	step, err3 := milliseconds(r.Form.Get("step"))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	if step <= 0 || end < start || (end-start)/step > 11000 {
		return nil, errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")
	}
	type stream struct {
		Metric map[string]string `json:"metric"`
		Values [][2]any          `json:"values"`
	}
	streams := map[string]*stream{}
	for t := start; t <= end; t += step {
		samples, err := n.eval(s, t)
		if err != nil {
			return nil, err
		}
		for _, one := range samples {
			k := key(one.labels)
			if streams[k] == nil {
				streams[k] = &stream{Metric: one.labels}
			}
			streams[k].Values = append(streams[k].Values, [2]any{float64(t) / 1000, format(one.value)})
		}
	}
	keys := make([]string, 0, len(streams))
	for k := range streams {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	result := make([]any, 0, len(keys))
	for _, k := range keys {
		result = append(result, streams[k])
	}
	return map[string]any{"resultType": "matrix", "result": result}, nil
}

// between are the label sets that match[] selects and that have a sample between start and end.
func (s *Store) between(r *http.Request) (any, error) {
	start, err1 := milliseconds(r.Form.Get("start"))
	end, err2 := milliseconds(r.Form.Get("end"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	found := []map[string]string{}
	for _, text := range r.Form["match[]"] {
		n, err := parse(text)
		if err != nil {
			return nil, err
		}
		sel, ok := n.(selector)
		if !ok {
			return nil, errors.New("match[] must be a selector")
		}
		for _, one := range s.series {
			there := one.constant || slices.ContainsFunc(one.points, func(p Point) bool { return p.Time >= start && p.Time <= end })
			if there && sel.match(one.labels) {
				found = append(found, one.labels)
			}
		}
	}
	return found, nil
}

// names collects what pick finds in the label sets that match[] selects.
func (s *Store) names(r *http.Request, pick func(labels map[string]string, add func(string))) (any, error) {
	var selectors []selector
	for _, text := range r.Form["match[]"] {
		n, err := parse(text)
		if err != nil {
			return nil, err
		}
		sel, ok := n.(selector)
		if !ok {
			return nil, errors.New("match[] must be a selector")
		}
		selectors = append(selectors, sel)
	}
	found := []string{}
	for _, one := range s.series {
		if len(selectors) > 0 && !slices.ContainsFunc(selectors, func(sel selector) bool { return sel.match(one.labels) }) {
			continue
		}
		pick(one.labels, func(name string) { found = append(found, name) })
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func milliseconds(text string) (int64, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	return int64(seconds*1000 + 0.5), err
}

func sorted(samples []sample) []sample {
	slices.SortFunc(samples, func(a, b sample) int {
		switch x, y := key(a.labels), key(b.labels); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return samples
}
