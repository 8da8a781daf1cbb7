package main

import (
	"strings"
	"testing"
)

const output = `goos: linux
goarch: amd64
pkg: github.com/warpwatch/warpwatch/pkg/history
BenchmarkDecodeRange/ours-2         	      20	  60000000 ns/op	 416.00 MB/s	17600000 B/op	   10300 allocs/op
BenchmarkDecodeRange/ours-2         	      20	  50000000 ns/op	 416.00 MB/s	17600000 B/op	   10300 allocs/op
BenchmarkDecodeRange/ours-2         	      20	  70000000 ns/op	 416.00 MB/s	17600000 B/op	   10300 allocs/op
BenchmarkDecodeRange/client_golang-2	       1	 900000000 ns/op	  27.00 MB/s	241000000 B/op	 2090000 allocs/op
BenchmarkDecodeRange/client_golang-2	       1	 960000000 ns/op	  27.00 MB/s	241000000 B/op	 2090000 allocs/op
BenchmarkDecodeRange/client_golang-2	       1	1000000000 ns/op	  27.00 MB/s	241000000 B/op	 2090000 allocs/op
BenchmarkStreamDelay/gpus-64-2                	     200	         0 ns/op	         0.3100 p99-share	        31.0 p99-ms
PASS
`

func TestReport(t *testing.T) {
	measured, err := parse(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := readEntries()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"history-decode-range":             "bench history-decode-range ours=60ms rival=client_golang 960ms ratio=16 goal=15 ok",
		"history-decode-range-allocations": "bench history-decode-range-allocations ours=10300 rival=client_golang 2090000 ratio=203 goal=100 ok",
		"live-delay":                       "bench live-delay ours=31ms rival=period 100ms ratio=0.31 goal=0.25 SHORT",
	}
	for _, e := range entries {
		w, known := want[e.Name]
		if !known {
			continue // measured by other runs than this one
		}
		got, err := e.report(measured)
		if err != nil {
			t.Error(err)
		}
		if got != w {
			t.Errorf("got  %s\nwant %s", got, w)
		}
		delete(want, e.Name)
	}
	for name := range want {
		t.Errorf("%s is not measured", name)
	}
}

func TestReportOfWhatWasNotMeasured(t *testing.T) {
	e := entry{Name: "history-x", Ours: side{Benchmark: "X", Unit: "sec/op"}, Rival: side{What: "limit", Value: 1}, Ratio: "share", Goal: 1}
	if _, err := e.report(results{}); err == nil || !strings.Contains(err.Error(), "X was not measured in sec/op") {
		t.Errorf("got %v", err)
	}
	if _, err := parse(strings.NewReader("PASS\n")); err == nil {
		t.Error("output without a benchmark was accepted")
	}
}
