package history

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/warpwatch/warpwatch/pkg/gpu"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// oldAfter is the age from which a sample is not the present, unless scrapes are far apart.
const oldAfter = time.Minute

// origin is a device as one exporter shows it.
type origin struct {
	key  deviceKey
	from target
}

// ages finds which samples of an instant answer were measured some time ago, and when: a server repeats the last sample
// of a series for minutes after its exporter went.
func (h *History) ages(ctx context.Context, e *endpoint, p plan, alternatives []string, w query.Window) (map[origin]int64, error) {
	if len(alternatives) == 0 {
		alternatives = []string{""}
	}
	limit := timestamp(w.To.Add(-max(oldAfter, 3*h.options.ScrapeInterval)))
	var parts []string
	for _, name := range p.names {
		for _, matchers := range alternatives {
			parts = append(parts, fmt.Sprintf(`label_replace(timestamp(%s) < %s,%s,%s,"","")`,
				selectMatching([]string{name}, matchers), limit, query.Quote(tag), query.Quote(name)))
		}
	}
	a, err := e.query(ctx, instantPath, url.Values{"query": {strings.Join(parts, " or ")}, "time": {timestamp(w.To)}})
	if err != nil {
		return nil, err
	}
	old := map[origin]int64{}
	for _, s := range a.Series {
		who := h.bearer(e, s.Labels)
		want, known := p.find(s.Labels)
		if !who.named || !known || len(s.Values) == 0 {
			continue
		}
		key := who.key
		if !p.metric.PerInstance && want.role != substitute {
			key = who.board
		}
		old[origin{key, who.from}] = int64(s.Values[0] * 1000)
	}
	return old, nil
}

// ageNotices name the devices that nothing new is known of.
func (r *reduction) ageNotices(candidates []candidate) []gpu.Notice {
	if !slices.ContainsFunc(candidates, func(c candidate) bool { return c.old != 0 }) {
		return nil
	}
	newest := map[deviceKey]int64{}
	fresh := map[deviceKey]bool{}
	for _, c := range candidates {
		newest[c.key] = max(newest[c.key], c.old)
		fresh[c.key] = fresh[c.key] || c.old == 0
	}
	var names []string
	for _, key := range r.order {
		if !fresh[key] {
			names = append(names, r.device(key).Name()+" at "+clock(newest[key]))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []gpu.Notice{{Severity: gpu.Warning, Text: fmt.Sprintf(
		"The last samples in Prometheus are not of now: %s. Where an exporter vanished without a word Prometheus repeats its last value for up to 5 minutes.",
		listed(names))}}
}
