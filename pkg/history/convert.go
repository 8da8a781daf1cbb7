package history

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// tallies count, for each device, samples that are not shown, and ratios above 1 that are.
type tallies map[deviceKey]*tally

type tally struct {
	garbage, sentinels, above int
	worst                     float64 // raw value of the largest garbage
}

func (t tallies) of(key deviceKey) *tally {
	if t[key] == nil {
		t[key] = &tally{}
	}
	return t[key]
}

func (t *tally) add(other tally) {
	t.garbage += other.garbage
	t.sentinels += other.sentinels
	t.above += other.above
	t.garbled(other.worst)
}

func (t *tally) garbled(raw float64) {
	if math.Abs(raw) > math.Abs(t.worst) {
		t.worst = raw
	}
}

// convert turns raw values into canonical ones in place, which the answer's series allows: values are not shared. What
// must not be shown becomes NaN.
func (t tallies) convert(c *catalog.Catalog, m catalog.Metric, conversion catalog.Conversion, values []float64, key deviceKey) []float64 {
	plain := catalog.Plainly(m, conversion)
	for i := plain.ConvertAll(values); i < len(values); i += 1 + plain.ConvertAll(values[i+1:]) {
		raw := values[i]
		value, verdict := c.Convert(m, conversion, raw)
		switch verdict {
		case catalog.Kept:
			values[i] = value
			if value > 1 && m.ShownUnit() == gpu.Ratio {
				t.of(key).above++
			}
			continue
		case catalog.Sentinel:
			t.of(key).sentinels++
		case catalog.Garbage:
			t.of(key).garbage++
			t.of(key).garbled(raw)
		}
		values[i] = math.NaN()
	}
	return values
}

// notices tell what was dropped on the devices that the answer is about.
func (t tallies) notices(metric string, shown func(deviceKey) bool) []gpu.Notice {
	var all tally
	var garbledDevices, blankDevices, aboveDevices int
	for key, one := range t {
		if !shown(key) {
			continue
		}
		all.add(*one)
		garbledDevices += min(one.garbage, 1)
		blankDevices += min(one.sentinels, 1)
		aboveDevices += min(one.above, 1)
	}
	var notices []gpu.Notice
	say := func(severity gpu.Severity, n int, devices int, what string) {
		if n > 0 {
			notices = append(notices, gpu.Notice{Severity: severity, Text: fmt.Sprintf(
				"%s of %s on %s %s", plural(n, "sample", "samples"), metric, plural(devices, "device", "devices"), what)})
		}
	}
	say(gpu.Warning, all.garbage, garbledDevices, fmt.Sprintf("cannot be true (up to %.10g) and are not shown; PromQL shows the raw values.", all.worst))
	say(gpu.Info, all.sentinels, blankDevices, "mean that there is no value, and are not shown.")
	say(gpu.Info, all.above, aboveDevices, "are above 1, as measured.")
	return notices
}

// target is one exporter, as a server scrapes it. All its series of one name have one unit. The host tells exporters
// apart whose metrics reach the server through one collector, and legacy an exporter from itself after an upgrade.
type target struct {
	instance, job, host, series string
	legacy                      bool
}

func (h *History) targetOf(labels labelSet, series string) target {
	t := target{instance: labels.Get("instance"), job: labels.Get("job"), series: series}
	t.legacy = series != "" && h.catalog.IsLegacy(labels)
	for _, name := range h.catalog.NodeLabels() {
		if t.host = labels.Get(name); t.host != "" {
			break
		}
	}
	return t
}

// evidenceRange is how far back values are looked at to learn a unit, and evidenceTTL how long that is remembered.
const (
	evidenceRange = "6h"
	evidenceTTL   = 10 * time.Minute
)

// pastMaximum is the largest value of the past hours for each target and series. Where a unit is per cent or a ratio what is
// above 100 is garbage, and would pass for per cent.
func (h *History) pastMaximum(ctx context.Context, e *endpoint, sources map[string]catalog.Source) (map[target]float64, error) {
	names := slices.Sorted(maps.Keys(sources))
	key := h.options.Tenant(ctx) + "\xff" + strings.Join(names, ",")
	return e.maxima.get(ctx, key, evidenceTTL, func(ctx context.Context) (map[target]float64, error) {
		words, err := h.words(ctx, e)
		if err != nil {
			return nil, err
		}
		by := []string{"instance", "job"}
		for _, label := range h.catalog.NodeLabels() {
			if label != "instance" && slices.Contains(words.labels, label) {
				by = append(by, label)
			}
		}
		for _, label := range words.labels {
			if h.catalog.IsLegacy(catalog.LabelMap{label: "1"}) {
				by = append(by, label)
			}
		}
		var parts []string
		for _, name := range names {
			values := selectNames([]string{name})
			if isShare(sources[name].Conversion) {
				values = "(" + values + " <= 100)"
			}
			parts = append(parts, fmt.Sprintf(`label_replace(max by (%s) (max_over_time(%s[%s:5m])),%s,%s,"","")`,
				query.QuoteLabels(by), values, evidenceRange, query.Quote(tag), query.Quote(name)))
		}
		a, err := e.query(ctx, instantPath, url.Values{"query": {strings.Join(parts, " or ")}})
		if err != nil {
			return nil, err
		}
		largest := map[target]float64{}
		for _, s := range a.Series {
			if len(s.Values) > 0 {
				largest[h.targetOf(s.Labels, strings.ToLower(s.Labels.Get(tag)))] = s.Values[0]
			}
		}
		return largest, nil
	})
}
