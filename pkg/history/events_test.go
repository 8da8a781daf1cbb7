package history

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/history/promtest"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// eventsOver finds events of the seconds after t0, with scrapes 30 s apart.
func eventsOver(t *testing.T, h *History, raw string, seconds int64) Events {
	t.Helper()
	q, err := query.Parse([]byte(raw), query.TypeEvents)
	if err != nil {
		t.Fatal(err)
	}
	got := h.Events(context.Background(), q, window(seconds, 30*time.Second))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	return got
}

// told is a line for each event: when, how long, what and where.
func told(events []gpu.Event) []string {
	lines := make([]string, len(events))
	for i, e := range events {
		lines[i] = fmt.Sprintf("%d", e.Time.Unix()-t0)
		if !e.Until.IsZero() {
			lines[i] += fmt.Sprintf("-%d", e.Until.Unix()-t0)
		}
		lines[i] += " " + e.Kind
		if e.XID > 0 {
			lines[i] += fmt.Sprintf(" %d", e.XID)
		}
		lines[i] += " " + e.Device.Name()
		if e.Detail != "" {
			lines[i] += ": " + e.Detail
		}
	}
	return lines
}

func wantEvents(t *testing.T, got Events, want ...string) {
	t.Helper()
	if lines := told(got.List); !slices.Equal(lines, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s\nasked\n%s\nnotices %v", strings.Join(lines, "\n\t"), strings.Join(want, "\n\t"), got.Executed, got.Notices)
	}
}

// scraped makes a point each 30 s from one time to another, both included, with the values of f.
func scraped(from, to int64, f func(at int64) float64) []promtest.Point {
	var points []promtest.Point
	for at := from; at <= to; at += 30 {
		if v := f(at); v != absent {
			points = append(points, promtest.Point{Time: (t0 + at) * 1000, Value: v})
		}
	}
	return points
}

// absent is a scrape that has nothing of a series: Prometheus then ends it.
const absent = -1e300

func always(v float64) func(int64) float64 { return func(int64) float64 { return v } }

// ended ends a series, as Prometheus does when its target goes.
func ended(points []promtest.Point) []promtest.Point {
	last := points[len(points)-1]
	return append(points, promtest.Point{Time: last.Time + 30_000, Value: promtest.Stale()})
}

func dcgmSeries(name string, gpu int, more ...string) map[string]string {
	labels := map[string]string{
		"__name__": name, "gpu": fmt.Sprint(gpu), "UUID": fmt.Sprintf("GPU-5e1f000%d-0a00-4a00-8b00-00000000000%d", gpu, gpu),
		"modelName": "NVIDIA H100 80GB HBM3", "Hostname": "rack1-gpu01", "instance": "10.9.0.11:9400", "job": "dcgm",
	}
	for i := 0; i < len(more); i += 2 {
		labels[more[i]] = more[i+1]
	}
	return labels
}

// A14: a gauge that keeps the last XID is one event at each change, however long it stays; the series of each code is a new one.
func TestAStickyXIDIsOneEvent(t *testing.T) {
	got := eventsOver(t, open(t, recorded(t, "xid_sticky_range.json")), `{}`, 9000)
	wantEvents(t, got,
		"300 xid 31 rack1-gpu01 · GPU 0 · H100 80GB HBM3",
		"9000 xid 94 rack1-gpu01 · GPU 0 · H100 80GB HBM3")
}

// A range that begins after the error does not tell of it again.
func TestAnOldXIDIsNoEvent(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 0), scraped(-600, 1200, always(40))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_XID_ERRORS", 0), scraped(-600, 1200, always(31))...)
	got := eventsOver(t, open(t, s), `{}`, 900)
	wantEvents(t, got)
}

// Neither does an exporter that is seen for the first time: what it shows then had happened before.
func TestWhatAnExporterStartsWithIsNoEvent(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 1), scraped(-600, 1200, always(40))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 0), scraped(300, 1200, always(40))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_XID_ERRORS", 0), scraped(300, 1200, always(31))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0), scraped(300, 1200, always(7))...)
	got := eventsOver(t, open(t, s), `{}`, 900)
	wantEvents(t, got)
}

// The same code again shows only where a zero was between: a failed scrape is no second error.
func TestTheSameXIDAfterAGap(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 0), scraped(-600, 1200, always(40))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 1), scraped(-600, 1200, always(40))...)
	gap := func(at int64) float64 {
		switch {
		case at < 90:
			return 0
		case at == 420:
			return promtest.Stale()
		}
		return 31
	}
	again := func(at int64) float64 {
		if v := gap(at); at != 420 {
			return v
		}
		return 0
	}
	s.Add(dcgmSeries("DCGM_FI_DEV_XID_ERRORS", 0), scraped(-600, 1200, gap)...)
	s.Add(dcgmSeries("DCGM_FI_DEV_XID_ERRORS", 1), scraped(-600, 1200, again)...)
	got := eventsOver(t, open(t, s), `{"kinds":["xid"]}`, 900)
	wantEvents(t, got,
		"90 xid 31 rack1-gpu01 · GPU 0 · H100 80GB HBM3",
		"90 xid 31 rack1-gpu01 · GPU 1 · H100 80GB HBM3",
		"450 xid 31 rack1-gpu01 · GPU 1 · H100 80GB HBM3")
}

// What counters count is told where it grows, also by a series that begins with its first error; the gauge that shows the
// same adds nothing.
func TestCountersOfXIDs(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 0), scraped(-600, 1200, always(40))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_XID_ERRORS", 0), scraped(-600, 1200, func(at int64) float64 {
		if at < 120 {
			return 0
		}
		return 79
	})...)
	s.Add(dcgmSeries("DCGM_EXP_XID_ERRORS_TOTAL", 0, "xid", "79"), scraped(120, 1200, always(1))...)
	s.Add(dcgmSeries("DCGM_EXP_XID_ERRORS_TOTAL", 0, "xid", "31"), scraped(-600, 1200, func(at int64) float64 {
		switch {
		case at < 300:
			return 5
		case at < 600:
			return 8
		}
		return 1 // the exporter was restarted
	})...)
	got := eventsOver(t, open(t, s), `{}`, 900)
	wantEvents(t, got,
		"120 xid 79 rack1-gpu01 · GPU 0 · H100 80GB HBM3",
		"300 xid 31 rack1-gpu01 · GPU 0 · H100 80GB HBM3: 3 times",
		"600 xid 31 rack1-gpu01 · GPU 0 · H100 80GB HBM3")
}

func TestUncorrectedErrors(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 0), scraped(-600, 1200, always(40))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0), scraped(-600, 1200, func(at int64) float64 { return math.Floor(float64(at)/300) + 2 })...)
	got := eventsOver(t, open(t, s), `{"kinds":["ecc_uncorrected"]}`, 650)
	wantEvents(t, got,
		"0 ecc_uncorrected rack1-gpu01 · GPU 0 · H100 80GB HBM3: 1 uncorrected memory error, 2 since the driver was loaded",
		"300 ecc_uncorrected rack1-gpu01 · GPU 0 · H100 80GB HBM3: 1 uncorrected memory error, 3 since the driver was loaded",
		"600 ecc_uncorrected rack1-gpu01 · GPU 0 · H100 80GB HBM3: 1 uncorrected memory error, 4 since the driver was loaded")
}

// Throttling is a region from its first sample to its last; the power cap is none, and what is short may be left out.
func TestThrottling(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 0), scraped(-600, 1200, func(at int64) float64 {
		switch {
		case at >= 120 && at < 240, at >= 300 && at < 360: // two scrapes between
			return 0x40 | 0x8
		case at == 600:
			return 0x80
		case at >= 870:
			return 0x20
		}
		return 0x4
	})...)
	h := open(t, s)
	wantEvents(t, eventsOver(t, h, `{}`, 900),
		"120-360 throttle rack1-gpu01 · GPU 0 · H100 80GB HBM3: heat, slowed down by hardware",
		"600-630 throttle rack1-gpu01 · GPU 0 · H100 80GB HBM3: power brake of the power supply",
		"870-900 throttle rack1-gpu01 · GPU 0 · H100 80GB HBM3: heat, slowed down by the driver, still going on")
	wantEvents(t, eventsOver(t, h, `{"minDuration":"2m"}`, 800),
		"120-360 throttle rack1-gpu01 · GPU 0 · H100 80GB HBM3: heat, slowed down by hardware")
}

// A GPU that goes while its neighbour stays is lost; when all go at once nobody knows more than that the node is not seen.
func TestGPUsThatGo(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 0), scraped(-600, 1500, always(40))...)
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 1), slices.Concat(ended(scraped(-600, 270, always(40))), scraped(600, 1500, always(40)))...)
	for gpu := range 2 {
		points := slices.Concat(ended(scraped(-600, 570, always(40))), scraped(900, 1500, always(40)))
		s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 4+gpu, "Hostname", "rack1-gpu02", "instance", "10.9.0.12:9400"), points...)
	}
	// A scrape that failed is nothing.
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 7, "Hostname", "rack1-gpu03", "instance", "10.9.0.13:9400"),
		slices.Concat(ended(scraped(-600, 570, always(40))), scraped(630, 1500, always(40)))...)
	wantEvents(t, eventsOver(t, open(t, s), `{}`, 1200),
		"300-600 lost rack1-gpu01 · GPU 1 · H100 80GB HBM3: no exporter shows it any more",
		"600 returned rack1-gpu01 · GPU 1 · H100 80GB HBM3: an exporter shows it again after 5m0s",
		"600-900 unavailable rack1-gpu02: nothing shows any of its 2 GPUs: the node, its exporter or its scraping is down")
}

func TestANewMIGLayout(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 0), scraped(-600, 1200, always(40))...)
	mig := func(id, profile string, points []promtest.Point) {
		s.Add(dcgmSeries("DCGM_FI_DEV_FB_USED", 0, "GPU_I_ID", id, "GPU_I_PROFILE", profile), points...)
	}
	mig("1", "3g.40gb", ended(scraped(-600, 270, always(1))))
	mig("2", "3g.40gb", ended(scraped(-600, 300, always(1))))
	mig("7", "1g.10gb", scraped(360, 1200, always(1)))
	mig("8", "1g.10gb", scraped(360, 1200, always(1)))
	wantEvents(t, eventsOver(t, open(t, s), `{}`, 900),
		"300 mig_layout_changed rack1-gpu01 · GPU 0 · H100 80GB HBM3: 2 × 3g.40gb → 2 × 1g.10gb")
}

// A scope of pods is that of the GPUs that they have.
func TestEventsOfAPod(t *testing.T) {
	s := &promtest.Store{}
	for gpu := range 2 {
		owner := []string{"exported_pod", fmt.Sprintf("train-%d", gpu), "exported_namespace", "ml"}
		s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", gpu, owner...), scraped(-600, 1200, always(40))...)
		s.Add(dcgmSeries("DCGM_EXP_XID_ERRORS_TOTAL", gpu, "xid", "31"), scraped(120, 1200, always(1))...)
	}
	h := open(t, s)
	wantEvents(t, eventsOver(t, h, `{"pods":["train-1"]}`, 900), "120 xid 31 rack1-gpu01 · GPU 1 · H100 80GB HBM3")
	wantEvents(t, eventsOver(t, h, `{"pods":["nobody"]}`, 900))
}

// Two exporters count the same errors, a scrape apart: each is told once, and so is each of two errors in a row.
func TestTwoExportersTellOfOneError(t *testing.T) {
	s := &promtest.Store{}
	s.Add(dcgmSeries("DCGM_FI_DEV_GPU_TEMP", 0), scraped(-600, 1200, always(40))...)
	steps := func(late int64) func(int64) float64 {
		return func(at int64) float64 {
			switch {
			case at < 300+late:
				return 1
			case at < 330+late:
				return 2
			}
			return 3
		}
	}
	s.Add(dcgmSeries("DCGM_EXP_XID_ERRORS_TOTAL", 0, "xid", "31"), scraped(-600, 1200, steps(30))...)
	smi := map[string]string{
		"__name__": "nvidia_smi_xid_errors_total", "uuid": "5e1f0000-0a00-4a00-8b00-000000000000", "xid": "31", "instance": "rack1-gpu01:9835", "job": "smi",
	}
	s.Add(smi, scraped(-600, 1200, steps(0))...)
	wantEvents(t, eventsOver(t, open(t, s), `{"kinds":["xid"]}`, 900),
		"330 xid 31 rack1-gpu01 · GPU 0 · H100 80GB HBM3",
		"360 xid 31 rack1-gpu01 · GPU 0 · H100 80GB HBM3")
}
