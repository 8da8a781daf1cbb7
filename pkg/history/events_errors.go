package history

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// increase is where a counter grew, and by how much.
type increase struct {
	at   int
	by   float64
	from float64 // what it was before; NaN when there was nothing
}

// increases of a counter. One that starts again at less has grown by what it is now. What it is at the first point happened
// before it.
func increases(values []float64) []increase {
	var grown []increase
	last := math.NaN()
	for i, v := range values {
		switch {
		case math.IsNaN(v):
			continue
		case i > 0 && math.IsNaN(last):
			grown = append(grown, increase{i, v, last})
		case v > last:
			grown = append(grown, increase{i, v - last, last})
		case v < last && v > 0:
			grown = append(grown, increase{i, v, 0})
		}
		last = v
	}
	return grown
}

// codes of a gauge that keeps the last code: where it changes to another one. Zeros, where there are any, are the absence of
// a code; a gap alone is not.
func codes(values []float64) []increase {
	var changed []increase
	last := 0.0
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if v != last && v != 0 && i > 0 {
			changed = append(changed, increase{at: i, by: v, from: last})
		}
		last = v
	}
	return changed
}

// sameAfterGap reports whether a code is the same after a gap.
func sameAfterGap(values []float64) bool {
	last, gap := math.NaN(), false
	for _, v := range values {
		switch {
		case math.IsNaN(v):
			gap = !math.IsNaN(last)
		case gap && v == last:
			return true
		default:
			last, gap = v, false
		}
	}
	return false
}

// maxDoubted bounds how many GPUs are looked at again because of gaps.
const maxDoubted = 200

// xids finds XID errors: what counters count, and the changes of gauges that keep the last code. Where both tell of the same
// the counter counts.
func (s *search) xids(ctx context.Context) (findings, error) {
	counter, err := s.metric("gpu_xid_errors_total")
	if err != nil {
		return findings{}, err
	}
	counted, g, out, err := s.tracks(ctx, raw(counter), s.scope, " > 0")
	if err != nil {
		return findings{}, err
	}
	gauge, err := s.metric("gpu_xid_last")
	if err != nil {
		return findings{}, err
	}
	latched, _, more, err := s.tracks(ctx, gauge, s.scope, " > 0")
	if err != nil {
		return findings{}, err
	}
	out.notices, out.asked = append(out.notices, more.notices...), append(out.asked, more.asked...)
	tell := s.teller()
	for _, t := range counted {
		code, err := strconv.ParseUint(t.extra, 10, 64)
		if err != nil {
			continue
		}
		for _, grown := range increases(t.values) {
			if math.IsNaN(grown.from) && !s.known(t.key, grown.at) {
				continue
			}
			detail := ""
			if grown.by >= 2 {
				detail = fmt.Sprintf("%.0f times", grown.by)
			}
			tell.add(gpu.Event{Time: at(g, grown.at), Kind: gpu.KindXID, Device: t.device, XID: code, Detail: detail}, "counter "+string(t.dialect))
		}
	}
	if latched, err = s.again(ctx, latched); err != nil {
		return findings{}, err
	}
	for _, t := range latched {
		for _, changed := range codes(t.values) {
			if changed.from != 0 || s.known(t.key, changed.at) {
				tell.add(gpu.Event{Time: at(g, changed.at), Kind: gpu.KindXID, Device: t.device, XID: uint64(changed.by)}, "gauge "+string(t.dialect))
			}
		}
	}
	out.events = tell.events
	return out, nil
}

// again looks at the zeros of gauges that show the same code after a gap: with zeros between it happened again.
func (s *search) again(ctx context.Context, latched []track) ([]track, error) {
	var doubted []string
	for _, t := range latched {
		if sameAfterGap(t.values) && !slices.Contains(doubted, t.key.uuid()) && len(doubted) < maxDoubted {
			doubted = append(doubted, t.key.uuid())
		}
	}
	if len(doubted) == 0 {
		return latched, nil
	}
	gauge, err := s.metric("gpu_xid_last")
	if err != nil {
		return nil, err
	}
	scope, err := s.scope.OfGPUs(doubted)
	if err != nil {
		return nil, err
	}
	whole, _, _, err := s.tracks(ctx, gauge, scope, "")
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(latched, func(t track) bool { return slices.Contains(doubted, t.key.uuid()) })
	return append(kept, whole...), nil
}

// teller collects events, each once: what several exporters, or a counter and a gauge, tell of one error they tell at most a
// scrape apart. The first to tell counts.
type teller struct {
	within time.Duration
	told   map[tellerKey][]toldAt
	events []gpu.Event
}

type tellerKey struct {
	device deviceKey
	xid    uint64
}

type toldAt struct {
	time time.Time
	by   string
}

func (s *search) teller() *teller {
	return &teller{within: s.w.Step + s.w.ScrapeInterval, told: map[tellerKey][]toldAt{}}
}

func (t *teller) add(e gpu.Event, by string) {
	key := tellerKey{keyOf(e.Device).parent(), e.XID}
	for _, before := range t.told[key] {
		if before.by != by && e.Time.Sub(before.time).Abs() <= t.within {
			return
		}
	}
	t.told[key] = append(t.told[key], toldAt{e.Time, by})
	e.Origin = fromHistory
	t.events = append(t.events, e)
}

// uncorrected finds memory errors that ECC could not correct.
func (s *search) uncorrected(ctx context.Context) (findings, error) {
	m, err := s.metric("gpu_ecc_uncorrected_errors_total")
	if err != nil {
		return findings{}, err
	}
	counted, g, out, err := s.tracks(ctx, raw(m), s.scope, " > 0")
	if err != nil {
		return findings{}, err
	}
	tell := s.teller()
	for _, t := range counted {
		for _, grown := range increases(t.values) {
			if math.IsNaN(grown.from) && !s.known(t.key, grown.at) {
				continue
			}
			tell.add(gpu.Event{
				Time: at(g, grown.at), Kind: gpu.KindECCUncorrected, Device: t.device,
				Detail: fmt.Sprintf("%s, %.0f since the driver was loaded", plural(int(grown.by), "uncorrected memory error", "uncorrected memory errors"), t.values[grown.at]),
			}, string(t.dialect))
		}
	}
	out.events = tell.events
	return out, nil
}
