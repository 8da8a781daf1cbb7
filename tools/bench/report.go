package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// results are the values that were measured, by benchmark (without the number of processors) and unit.
type results map[string]map[string][]float64

// parse reads the output of `go test -bench`.
func parse(output io.Reader) (results, error) {
	all := results{}
	reader := benchfmt.NewReader(output, "go test")
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.Result:
			name := withoutProcs(record.Name)
			if all[name] == nil {
				all[name] = map[string][]float64{}
			}
			for _, v := range record.Values {
				all[name][v.Unit] = append(all[name][v.Unit], v.Value)
			}
		case *benchfmt.SyntaxError:
			return nil, record
		}
	}
	if err := reader.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("go test printed no benchmark")
	}
	return all, nil
}

// withoutProcs drops the "-8" that go test adds on machines with more than one processor.
func withoutProcs(name benchfmt.Name) string {
	full := string(name.Full())
	if at := strings.LastIndexByte(full, '-'); at > 0 {
		if _, err := strconv.Atoi(full[at+1:]); err == nil {
			return full[:at]
		}
	}
	return full
}

// median is the middle of what was measured for a side.
func (r results) median(benchmark, unit string) (float64, error) {
	values := slices.Sorted(slices.Values(r[benchmark][unit]))
	if len(values) == 0 {
		return 0, fmt.Errorf("%s was not measured in %s", benchmark, unit)
	}
	return values[len(values)/2], nil
}

// report is the entry's line.
func (e entry) report(r results) (string, error) {
	ours, err := r.median(e.Ours.Benchmark, e.Ours.Unit)
	if err != nil {
		return "", err
	}
	rival := e.Rival.Value
	if e.Rival.Benchmark != "" {
		if rival, err = r.median(e.Rival.Benchmark, e.Ours.Unit); err != nil {
			return "", err
		}
	}
	ratio := ours / rival
	met := ratio <= e.Goal
	if e.Ratio == "faster" {
		ratio = rival / ours
		met = ratio >= e.Goal
	}
	verdict := "SHORT"
	if met {
		verdict = "ok"
	}
	return fmt.Sprintf("bench %s ours=%s rival=%s %s ratio=%.3g goal=%g %s", e.Name, show(ours, e.Ours.Unit), e.Rival.What,
		show(rival, e.Ours.Unit), ratio, e.Goal, verdict), nil
}

// show writes a value with its unit, without blanks.
func show(v float64, unit string) string {
	switch {
	case unit == "sec/op" && v < 1e-6:
		return fmt.Sprintf("%.3gns", v*1e9)
	case unit == "sec/op" && v < 1e-3:
		return fmt.Sprintf("%.3gµs", v*1e6)
	case unit == "sec/op" && v < 1:
		return fmt.Sprintf("%.3gms", v*1e3)
	case unit == "sec/op":
		return fmt.Sprintf("%.3gs", v)
	case strings.HasSuffix(unit, "-ms"):
		return fmt.Sprintf("%.3gms", v)
	default:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
}
